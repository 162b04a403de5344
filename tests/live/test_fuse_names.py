"""Calls on names of a filesystem that a process serves, and calls that copy its files: they sleep so that a signal may wake them, and wait for that
process all the same."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy.relations import Relations
from iowhy.whys.verdict import judge
from machine import python, record, run, served_by_python

pytestmark = pytest.mark.usefixtures("live")

LOOKED_AT, REMOVED, DELAY_MS = 150, 40, 4
WORK = """
import os, sys
for number in range(int(sys.argv[2])):
    os.stat(f"{sys.argv[1]}/looked-at-{number}")
for number in range(int(sys.argv[3])):
    os.unlink(f"{sys.argv[1]}/removed-{number}")
"""


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[Path, int]]:
    """Where it is mounted, and the process that serves it."""
    with served_by_python(tmp_path, DELAY_MS) as served:
        yield served


def test_names_are_waited_for_at_the_process_that_serves_them(
    tmp_path: Path, served: tuple[Path, int]
) -> None:
    mount, server = served
    argv = python(WORK, mount, str(LOOKED_AT), str(REMOVED))
    recording = record(argv, tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        waits = relations.rows(
            "SELECT syscall LIKE '%stat%' AS looks, count(*), sum(dur_ns) FROM waits"
            " WHERE reason = 'fuse' AND (syscall LIKE '%stat%' OR syscall LIKE 'unlink%') GROUP BY 1 ORDER BY 1"
        )
        sums = "SELECT sum(total_ns) FROM wait_totals g JOIN wait_classes c USING (reason, syscall) WHERE c.class = '{}'"
        ((filesystems,),) = relations.rows("SELECT count(*) FROM served_filesystems")
        ((writing,),) = relations.rows(sums.format("write"))
    (_, removed, removed_ns), (_, looked_at, looked_at_ns) = waits
    # A request for the name, and one for what it is: nothing may be kept.
    assert looked_at >= LOOKED_AT and removed >= REMOVED
    assert looked_at_ns >= LOOKED_AT * DELAY_MS * 1e6
    assert removed_ns >= REMOVED * DELAY_MS * 1e6
    assert writing >= REMOVED * DELAY_MS * 1e6
    found = judge(recording).findings[0]
    assert found.cause == "fuse-daemon"
    assert found.share > 0.5
    # A path is no file that is open: which filesystem it means is known where there is only one.
    named = filesystems == 1
    assert (f"process {server}" in found.summary and str(mount) in found.summary) == named


def cpu_ns(tgid: int) -> int:
    """By /proc/PID/stat, as top counts it."""
    words = Path(f"/proc/{tgid}/stat").read_text().rpartition(")")[2].split()
    return (int(words[11]) + int(words[12])) * 10**9 // os.sysconf("SC_CLK_TCK")


def test_what_the_process_computes_is_known_without_recording_it(
    tmp_path: Path, served: tuple[Path, int]
) -> None:
    mount, server = served
    before = cpu_ns(server)
    recording = record(python(WORK, mount, str(LOOKED_AT), "0"), tmp_path / "a.iowhy")
    took = cpu_ns(server) - before
    with Relations(recording) as relations:
        sql = f"SELECT daemon_cpu_ns, daemon_peer FROM served_filesystems WHERE daemon_tgid = {server}"
        ((known, peer),) = relations.rows(sql)
        threads = relations.rows(f"SELECT count(*) FROM threads WHERE tgid = {server}")
    assert threads == [(0,)] and peer is None
    # In ticks; the recorder asks it as well, before the first reading and after the last.
    assert took - 50_000_000 <= known <= took


#: How often each call on attributes is made.
CHANGED = 20
ATTRIBUTES = """
import os, sys
served, times = sys.argv[1] + "/attributes", int(sys.argv[2])
for number in range(times):
    os.chmod(served, 0o640 + number % 2)
    os.utime(served, (number, number))
    os.statvfs(sys.argv[1])
    os.setxattr(served, "user.iowhy", b"x")
    os.getxattr(served, "user.iowhy")
"""


def test_attributes_are_waited_for_at_the_process_that_serves_them(
    tmp_path: Path, served: tuple[Path, int]
) -> None:
    mount, _ = served
    recording = record(python(ATTRIBUTES, mount, str(CHANGED)), tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        waits = relations.rows(
            "SELECT regexp_extract(syscall, 'chmod|utime|statfs|setxattr|getxattr') AS call, count(*), sum(dur_ns), max(class)"
            " FROM waits w JOIN wait_classes c USING (reason, syscall, io) WHERE reason = 'fuse' GROUP BY 1"
        )
    found = {call: (waits, ns, kind) for call, waits, ns, kind in waits}
    for call, kind in (
        ("chmod", "write"),
        ("utime", "write"),
        ("setxattr", "write"),
        ("statfs", "read"),
        ("getxattr", "read"),
    ):
        waits, ns, its = found[call]
        assert (waits >= CHANGED, ns >= CHANGED * DELAY_MS * 1e6, its) == (True, True, kind), call


#: How often each call on an open file is made.
ASKED = 20
ON_FILES = """
import fcntl, os, sys
fd, times = os.open(sys.argv[1] + "/locked", os.O_RDWR), int(sys.argv[2])
for number in range(times):
    fcntl.flock(fd, fcntl.LOCK_SH if number % 2 else fcntl.LOCK_EX)
    fcntl.lockf(fd, fcntl.LOCK_EX, 1, number)
    fcntl.ioctl(fd, 0x6900 + number)
    os.lseek(fd, 4096 * (number + 1), os.SEEK_DATA)
"""


def test_locks_and_commands_are_waited_for_at_the_process_that_serves_the_file(
    tmp_path: Path,
) -> None:
    with served_by_python(tmp_path, DELAY_MS, "locks") as (mount, server):
        recording = record(python(ON_FILES, mount, str(ASKED)), tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        waits = relations.rows(
            "SELECT syscall, count(*), sum(dur_ns), count(DISTINCT dev) FROM waits WHERE reason = 'fuse' GROUP BY 1"
        )
        ((idle_ns,),) = relations.rows(
            "SELECT coalesce(sum(thread_ns), 0) FROM budget_pieces WHERE class = 'idle'"
        )
    found = {call: rest for call, *rest in waits}
    for call in ("flock", "fcntl", "ioctl", "lseek"):
        number, ns, filesystems = found[call]
        assert (number >= ASKED, ns >= ASKED * DELAY_MS * 1e6, filesystems) == (True, True, 1), call
    assert idle_ns < ASKED * DELAY_MS * 1e6
    first = judge(recording).findings[0]
    assert first.cause == "fuse-daemon" and first.share > 0.5
    # The descriptor tells which filesystem it is, however many there are.
    assert f"process {server}" in first.summary and str(mount) in first.summary


#: Another process holds the lock for a while.
HELD_MS = 500
HELD = """
import fcntl, os, sys, time
def locked(): 
    fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
    fcntl.flock(fd, fcntl.LOCK_EX)
there, here = os.pipe()
if os.fork() == 0:
    locked()
    os.write(here, b"x")
    time.sleep(int(sys.argv[2]) / 1000)
    os._exit(0)
os.read(there, 1)
locked()
os.wait()
"""


@pytest.mark.parametrize("on_fuse", [False, True])
def test_a_lock_that_another_holds_is_no_wait_for_who_serves_files(
    tmp_path: Path, served: tuple[Path, int], on_fuse: bool
) -> None:
    """The near miss: on a file of a disk, and on one of FUSE of which the kernel keeps the locks."""
    path = (served[0] if on_fuse else tmp_path) / "locked"
    recording = record(python(HELD, path, str(HELD_MS)), tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        ((served_ns,),) = relations.rows(
            "SELECT coalesce(sum(dur_ns), 0) FROM waits WHERE syscall = 'flock' AND reason = 'fuse'"
        )
        ((idle_ns,),) = relations.rows(
            "SELECT coalesce(sum(thread_ns), 0) FROM budget_pieces WHERE class = 'idle'"
        )
    assert served_ns == 0
    # Both sleep: the one in the lock, the other for the time.
    assert idle_ns >= 1.8 * HELD_MS * 1e6


#: Copies of 64 KiB each, from file to file, and to a pipe whose reader takes nothing for a while.
COPIES, SLOW_PEER_MS = 20, 600
COPYING = """
import os, sys, threading, time
served, folder, copies, slow_ms = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
source = os.open(served + "/copied", os.O_RDONLY)
kept = os.open(folder + "/kept", os.O_CREAT | os.O_WRONLY)
beside = os.open(served + "/beside", os.O_WRONLY)
for number in range(copies):
    if number % 2: os.sendfile(kept, source, 0, 65536)
    else: os.copy_file_range(source, beside, 65536, 0, 0)
there, here = os.pipe()
os.write(here, bytes(65536))
def take():
    time.sleep(slow_ms / 1000)
    while os.read(there, 65536): pass
threading.Thread(target=take, daemon=True).start()
os.splice(source, here, 65536, 0)
"""


def test_copies_wait_for_the_process_that_serves_the_file_and_not_for_a_slow_reader(
    tmp_path: Path, served: tuple[Path, int]
) -> None:
    mount, _ = served
    argv = python(COPYING, mount, tmp_path, str(COPIES), str(SLOW_PEER_MS))
    recording = record(argv, tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        waits = relations.rows(
            "SELECT syscall, reason, count(*), sum(dur_ns) FROM waits"
            " WHERE syscall IN ('sendfile', 'copy_file_range', 'splice') AND reason IN ('fuse', 'peer') GROUP BY ALL"
        )
        asleep = "SELECT coalesce(sum(sleeping_ns), 0) FROM syscalls WHERE name IN ('sendfile', 'copy_file_range')"
        ((sleeping_ns,),) = relations.rows(asleep)
        ((idle_ns,),) = relations.rows(
            "SELECT sum(thread_ns) FROM budget_pieces WHERE reason = 'peer' AND class = 'idle'"
        )
    found = {(syscall, reason): (waits, ns) for syscall, reason, waits, ns in waits}
    asked, asked_ns = found["copy_file_range", "fuse"]
    assert asked >= COPIES / 2 and asked_ns >= COPIES / 2 * DELAY_MS * 1e6
    # The kernel reads ahead of sendfile: fewer, but what it waits for is that process too.
    assert found["sendfile", "fuse"][1] >= DELAY_MS * 1e6
    assert sleeping_ns == 0
    assert min(found["splice", "peer"][1], idle_ns) >= 0.8 * SLOW_PEER_MS * 1e6


def test_who_waits_for_a_peer_in_other_calls_waits_for_no_storage(tmp_path: Path) -> None:
    """The near miss: opening a FIFO, and sleeping for the time."""
    fifo = tmp_path / "fifo"
    run("mkfifo", str(fifo))
    work = f"""
import os, time
if os.fork() == 0:
    time.sleep(0.4)
    os.open({str(fifo)!r}, os.O_WRONLY)
    os._exit(0)
os.open({str(fifo)!r}, os.O_RDONLY)
os.wait()
"""
    recording = record(python(work), tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        ((blocked,),) = relations.rows(
            "SELECT coalesce(sum(dur_ns), 0) FROM waits WHERE syscall = 'openat'"
        )
    assert blocked < 100_000_000
