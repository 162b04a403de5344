"""System calls are counted and timed exactly, for workloads whose answer is known."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from machine import ask, filesystem, one, python, record, run

pytestmark = pytest.mark.usefixtures("live")

WRITES, SYNCS, PAGE = 4_099, 23, 4_096

SYNCED = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
page = b"x" * {PAGE}
every = {WRITES} // {SYNCS}
syncs = 0
for number in range({WRITES}):
    os.write(fd, page)
    if number % every == every - 1 and syncs < {SYNCS - 1}:
        os.fsync(fd)
        syncs += 1
os.fsync(fd)
print(os.fstat(fd).st_ino)
"""


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_4099_writes_and_23_syncs_are_found_again_in_the_requests(
    tmp_path: Path, kind: str
) -> None:
    with filesystem(kind, tmp_path) as scratch:
        file = scratch.mount / "file"
        recording = record(python(SYNCED, file), tmp_path / "a.iowhy")
        ino = file.stat().st_ino
        found = ask(
            recording,
            "SELECT name, count(*), sum(bytes), sum(ret) FROM syscalls"
            " WHERE dev = ? AND ino = ? AND name IN ('write', 'fsync') GROUP BY name ORDER BY name",
            scratch.dev,
            ino,
        )
        assert found == [("fsync", SYNCS, None, 0), ("write", WRITES, WRITES * PAGE, WRITES * PAGE)]
        # Every page was dirtied once and synced: the device got it once, but for a page that lay
        # in a block that was being written when it was dirtied again; none does here.
        assert (
            one(
                recording,
                "SELECT sum(bytes) FROM block_requests"
                " WHERE owner_dev = ? AND owner_ino = ? AND op = 'write' AND owner_kind = 'data'",
                scratch.dev,
                ino,
            )
            == WRITES * PAGE
        )
        assert one(
            recording, "SELECT path FROM files WHERE dev = ? AND ino = ?", scratch.dev, ino
        ) == str(file)


def test_the_parts_of_every_call_sum_to_its_duration(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(SYNCED, scratch.mount / "file"), tmp_path / "a.iowhy")
        assert (
            one(
                recording,
                "SELECT count(*) FROM syscalls WHERE ret IS NOT NULL"
                " AND cpu_ns + runnable_ns + blocked_ns + sleeping_ns <> dur_ns",
            )
            == 0
        )
        assert (
            one(recording, "SELECT count(*) FROM syscalls WHERE name = 'fsync' AND blocked_ns > 0")
            == SYNCS
        )


COUNTED = """
import os, sys
# perf pairs entries and exits wrongly when a thread moves to another CPU inside a call.
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
r, w = os.pipe()
for _ in range(1009): os.getppid()
for _ in range(307): os.write(w, b"x"); os.readv(r, [bytearray(1)])
for _ in range(211): os.access("/no/such/file", os.R_OK)
"""
# The calls that it makes on purpose; what the interpreter does at start varies by a call or two.
MADE = ("access", "getppid", "readv", "write")


def test_totals_agree_with_strace_and_perf_trace(tmp_path: Path) -> None:
    command = [str(part) for part in python(COUNTED)]
    recording = record(command, tmp_path / "a.iowhy")
    ours = {
        name: (calls, errors)
        for name, calls, errors in ask(
            recording,
            "SELECT name, sum(calls)::BIGINT, sum(errors)::BIGINT FROM syscall_totals GROUP BY name",
        )
    }
    assert ours["getppid"] == (1009, 0)

    table = tmp_path / "strace.txt"
    run("strace", "-f", "-c", "-o", str(table), *command)
    strace = {}
    for line in table.read_text().splitlines():
        fields = line.split()
        if len(fields) in (5, 6) and fields[3].isdigit():
            strace[fields[-1]] = (int(fields[3]), int(fields[4]) if len(fields) == 6 else 0)
    assert (ours["write"], ours["readv"]) == ((307, 0), (307, 0))
    assert ours["access"][1] >= 211
    for name in MADE:
        assert strace[name] == ours[name], name

    wanted = {name: ours[name][0] for name in MADE}
    # Counted in the kernel: nothing on the way to it can be lost.
    counters = [f"syscalls:sys_enter_{name}" for name in MADE]
    printed = run("perf", "stat", "-x,", "-o", "/dev/stdout", "-e", ",".join(counters), *command)
    counted = (line.split(",") for line in printed.splitlines() if "sys_enter_" in line)
    assert {row[2].removeprefix("syscalls:sys_enter_"): int(row[0]) for row in counted} == wanted

    # perf trace misses a call now and then (1,008 of 1,009), and says nothing of it.
    printed = subprocess.run(
        ["perf", "trace", "-m", "4096", "-s", *command],
        input="",
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    ).stderr
    rows = re.finditer(r"^\s+(\w+)\s+(\d+)\s+\d+\s+[\d.]+", printed, re.M)
    perf = {m[1]: int(m[2]) for m in rows if m[1] in wanted}
    assert set(perf) == set(wanted), printed[-2000:]
    for name, calls in wanted.items():
        assert 0.5 * calls <= perf[name] <= calls, (name, perf[name], calls)


def test_a_call_that_the_end_of_its_thread_breaks_off_is_kept(tmp_path: Path) -> None:
    # Its program never sees a result; the kernel has -ERESTARTSYS (512) for the signal that ended it.
    script = """
import os, signal, time
r, w = os.pipe()
ready, started = os.pipe()
child = os.fork()
if not child: os.write(started, b"x"); os.read(r, 1); os._exit(0)
os.read(ready, 1)
while open(f"/proc/{child}/stat").read().rsplit(")")[1].split()[0] != "S": time.sleep(0.01)
time.sleep(0.3); os.kill(child, signal.SIGKILL); os.wait()
"""
    recording = record(python(script), tmp_path / "a.iowhy")
    rows = ask(recording, "SELECT dur_ns FROM syscalls WHERE name = 'read' AND ret = -512")
    assert len(rows) == 1 and rows[0][0] > 200_000_000


def test_io_uring_and_libaio_are_the_commands(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        for engine in ("io_uring", "libaio"):
            job = [
                "fio", "--name=j", f"--ioengine={engine}", "--rw=randread", "--bs=4k", "--direct=1",
                "--iodepth=8", "--size=16m", "--io_size=4m", "--output-format=json",
                "--directory", str(scratch.mount), "--output", str(tmp_path / f"{engine}.json"),
            ]  # fmt: skip
            recording = record(job, tmp_path / f"{engine}.iowhy")
            read = json.loads((tmp_path / f"{engine}.json").read_text())["jobs"][0]["read"]
            assert read["total_ios"] == 1024
            file = scratch.mount / "j.0.0"
            counted = ask(
                recording,
                "SELECT count(*), sum(bytes), bool_and(in_scope) FROM block_requests"
                " WHERE owner_dev = ? AND owner_ino = ? AND op = 'read' AND bytes = 4096",
                scratch.dev,
                file.stat().st_ino,
            )
            assert counted == [(1024, 4 * 2**20, True)], engine


def test_programs_that_are_run_have_names(tmp_path: Path) -> None:
    recording = record(["sh", "-c", "cat /etc/passwd > /dev/null; true"], tmp_path / "a.iowhy")
    named = {Path(str(p)).name for (p,) in ask(recording, "SELECT path FROM files")}
    shell, cat = (Path(str(shutil.which(name))).resolve().name for name in ("sh", "cat"))
    assert {shell, cat} <= named
