"""One run, seen by iowhy's recorder, by strace and by perf at once: the same calls and requests."""

import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from conftest import cannot_run
from disturbances import TRIES
from iowhy.recordings import Recording, open_recording
from iowhy.sources.diagnose import diagnose
from iowhy.sources.live import RECORDER, program
from iowhy.whys.verdict import judge
from machine import ask, disk_number, filesystem, one, python, record

#: perf loses events when it gets no CPU, and the cause that is found may then be that.
pytestmark = [
    pytest.mark.usefixtures("live", "before_others"),
    pytest.mark.alone,
    pytest.mark.disturbed_by("cpu", "disk"),
]

WRITES, SYNCS, READS = 40, 10, 25
WRITE, READ = 20_480, 12_288
WORK = f"""
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_TRUNC)
for number in range({WRITES}):
    os.write(fd, b"x" * {WRITE})
    if number % {WRITES // SYNCS} == 0:
        os.fsync(fd)
os.fsync(fd)
os.close(fd)
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, {READ})
for number in range({READS}):
    os.preadv(fd, [page], number * {READ})
"""
BLOCK = ("block_rq_insert", "block_rq_issue", "block_rq_complete")


def calls(recording: Recording) -> list[tuple[object, ...]]:
    """The workload's calls, by lengths that nobody else uses."""
    return ask(
        recording,
        "SELECT replace(name, 'preadv2', 'preadv') AS name, count(*), sum(ret) FROM syscalls WHERE (name = 'write' AND bytes = ?)"
        " OR name = 'fsync' OR (starts_with(name, 'preadv') AND ret = ?) GROUP BY ALL ORDER BY ALL",
        WRITE,
        READ,
    )


def requests(recording: Recording, dev: int) -> Counter[tuple[object, ...]]:
    """Data that went to or came from the scratch disk, request by request."""
    return Counter(
        ask(
            recording,
            "SELECT op, sector, bytes FROM block_requests WHERE dev = ? AND bytes > 0"
            " AND op IN ('read', 'write') AND NOT list_contains(flags, 'metadata')",
            dev,
        )
    )


def observed(folder: Path) -> tuple[int, Path, str]:
    """Runs the work under all of them; the disk, the file, and what perf could not read of its own."""
    unread = ""
    with filesystem("ext4", folder) as scratch:
        dev = disk_number(scratch.disk)
        events = [
            word for name in BLOCK for word in ("-e", f"block:{name}", "--filter", f"dev == {dev}")
        ]
        perf = ("perf", "record", "-q", "-m", "2048", "--no-bpf-event", "-o")
        done = subprocess.run(
            [
                *(*perf, folder / "block.data", "-a", *events, "--"),
                *(program(RECORDER), "run", "-o", folder / "live.iowhy", "--"),
                *(*perf, folder / "calls.data", "-e", "raw_syscalls:sys_enter"),
                *("-e", "raw_syscalls:sys_exit", "--"),
                *("strace", "-f", "-ttt", "-T", "-y", "-o", folder / "strace.txt"),
                *python(WORK, scratch.mount / "file"),
            ],
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    for name in ("block", "calls"):
        with (folder / f"{name}.txt").open("w") as text:
            replayed = subprocess.run(
                ["perf", "script", "--ns", "-i", folder / f"{name}.data"],
                stdout=text,
                stderr=subprocess.PIPE,
                text=True,
                timeout=120,
                check=False,
            )
        unread += replayed.stderr if replayed.returncode != 0 else ""
    return dev, scratch.mount / "file", unread


def need(request: pytest.FixtureRequest, *tools: str) -> None:
    for tool in tools:
        if shutil.which(tool) is None:
            cannot_run(request, f"{tool} is not installed: tools/setup test brings it")


def test_recorder_strace_and_perf_tell_the_same_run(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    need(request, "strace", "perf")
    # perf cannot read its own notes of BPF programs that come and go while it records: those of the
    # recorder it does not keep, but another's may come between. Then all is done again.
    for attempt in range(TRIES):
        folder = tmp_path / str(attempt)
        folder.mkdir()
        dev, file, unread = observed(folder)
        if "failed to process type: 17" not in unread:
            break
    assert unread == ""

    live = open_recording(folder / "live.iowhy")
    found = calls(live)
    assert found == [
        ("fsync", SYNCS + 1, 0),
        ("preadv", READS, READS * READ),
        ("write", WRITES, WRITES * WRITE),
    ]
    straced = diagnose([str(folder / "strace.txt")], folder / "strace.iowhy").recording
    assert calls(straced) == found
    perf = diagnose([str(folder / "calls.txt")], folder / "calls.iowhy").recording
    # raw_syscalls tells no lengths of vectors, and the recorder and strace run under perf too.
    process = one(
        perf, "SELECT tgid FROM syscalls WHERE name = 'write' AND bytes = ? LIMIT 1", WRITE
    )
    recorded = ask(
        perf,
        "SELECT replace(name, 'preadv2', 'preadv') AS name, count(*), sum(ret) FROM syscalls WHERE tgid = ? AND (bytes = ? OR name = 'fsync'"
        " OR (starts_with(name, 'preadv') AND ret = ?)) GROUP BY ALL ORDER BY ALL",
        process,
        WRITE,
        READ,
    )
    assert recorded == found

    # The file is found under its name in the log and under its inode in the live recording.
    named = "SELECT count(*) FROM syscalls JOIN files USING (dev, ino) WHERE path = ? AND name = 'fsync'"
    assert one(straced, named, str(file)) == SYNCS + 1

    seen = requests(live, dev)
    assert (
        sum(count * int(str(r[2])) for r, count in seen.items() if r[0] == "read") == READS * READ
    )
    traced = diagnose([str(folder / "block.txt")], folder / "block.iowhy").recording
    assert requests(traced, dev) == seen


STORM = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR | os.O_TRUNC)
for number in range(600):
    os.write(fd, b"x" * 4097)
    os.fsync(fd)
"""
#: Which of them a storm of syncs is called depends on what the disk's flushes cost.
STORM_IS = {"sync-storm", "flush-cost", "journal-entangled"}


def test_recorder_and_perf_find_the_same_cause(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """perf watches the whole machine; the process is chosen in its text as a user would (--pid)."""
    need(request, "perf")
    code, causes, count = STORM, STORM_IS, 600
    events = ",".join(
        [f"syscalls:sys_{edge}_{name}" for edge in ("enter", "exit") for name in ("write", "fsync")]
        + ["sched:sched_switch", *(f"block:{name}" for name in BLOCK)]
    )
    calls_of = (
        "SELECT tgid, count(*) FROM syscalls WHERE name = 'write' AND bytes = 4097 GROUP BY 1"
    )
    with filesystem("ext4", tmp_path) as scratch:
        live = record(python(code, scratch.mount / "file"), tmp_path / "live.iowhy")
        for _attempt in range(TRIES):
            ran = subprocess.run(
                [
                    *("perf", "record", "-q", "-a", "-m", "4096", "--no-bpf-event"),
                    *("-o", tmp_path / "perf.data", "-e", events, "--"),
                    *python(code, scratch.mount / "file"),
                ],
                capture_output=True,
                text=True,
                timeout=240,
                check=False,
            )
            assert ran.returncode == 0, ran.stderr
            with (tmp_path / "perf.txt").open("w") as text:
                done = subprocess.run(
                    ["perf", "script", "--ns", "-i", tmp_path / "perf.data"],
                    stdout=text,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=120,
                    check=False,
                )
            if done.returncode == 0:
                break
            # perf cannot read its own notes of other people's BPF programs.
            assert "failed to process type: 17" in done.stderr, done.stderr
    (alone,) = ask(live, calls_of)
    assert alone[1] == count
    text_file = str(tmp_path / "perf.txt")
    ((pid, seen),) = ask(diagnose([text_file], tmp_path / "all.iowhy").recording, calls_of)
    assert seen == count
    perf = diagnose([text_file], tmp_path / "one.iowhy", pids=[int(str(pid))]).recording
    assert ask(perf, "SELECT DISTINCT tgid FROM syscalls") == [(pid,)]
    answers = {}
    for recording in (live, perf):
        verdict = judge(recording)
        assert verdict.findings, verdict.answer
        answers[verdict.findings[0].cause] = verdict.answer
    assert set(answers) <= causes, answers
