"""What a process serves is waited for in page faults and where files are closed, too: there it sleeps so that a signal may wake it, as it does for
much else."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.relations import Relations
from iowhy.sources.live import RECORDER, program
from iowhy.whys.verdict import judge
from machine import python, record, served_by_python

pytestmark = pytest.mark.usefixtures("live")

DELAY_MS = 4
#: Pages of a mapped file that are touched one by one, and files that are opened and closed.
PAGES, FILES = 60, 50

MAPPED = """
import mmap, os, sys
source = os.open(sys.argv[1] + "/mapped", os.O_RDONLY)
memory = mmap.mmap(source, 0, prot=mmap.PROT_READ)
if sys.argv[3] == "alone": memory.madvise(mmap.MADV_RANDOM)
os.close(source)
print(sum(memory[page * 4096] for page in range(int(sys.argv[2]))))
os._exit(0)
"""


def waits_of(recording: Recording) -> dict[tuple[str | None, str], tuple[int, int]]:
    """How often and how long it waited, by call and reason."""
    with Relations(recording) as relations:
        rows = relations.rows(
            "SELECT syscall, reason, count(*), sum(dur_ns) FROM waits GROUP BY ALL"
        )
    return {(call, reason): (waits, ns) for call, reason, waits, ns in rows}


def idle_ns(recording: Recording, reason: str) -> int:
    """Of the budget, what is idle for that reason."""
    with Relations(recording) as relations:
        ((ns,),) = relations.rows(
            f"SELECT coalesce(sum(thread_ns), 0) FROM budget_pieces WHERE reason = '{reason}' AND class = 'idle'"
        )
    return int(ns)


def names_the_process(recording: Recording, server: int) -> None:
    found = judge(recording).findings[0]
    assert found.cause == "fuse-daemon"
    assert found.share > 0.5
    assert f"process {server}" in found.summary


def test_page_faults_wait_for_the_process_that_serves_the_file(tmp_path: Path) -> None:
    """Each page is asked for as it is touched, and waited for in the question (a sleep that a signal may end)."""
    with served_by_python(tmp_path, DELAY_MS, "cached") as (mount, server):
        argv = python(MAPPED, mount, str(PAGES), "alone")
        recording = record(argv, tmp_path / "a.iowhy")
    waits, ns = waits_of(recording)[None, "fuse"]
    # The kernel may ask for a page ahead of its touch, and wait for it by its lock as well.
    assert PAGES <= waits <= 2 * PAGES
    assert ns >= PAGES * DELAY_MS * 1e6
    with Relations(recording) as relations:
        ((reading,),) = relations.rows(
            "SELECT sum(thread_ns) FROM budget_pieces WHERE syscall IS NULL AND reason = 'fuse' AND class LIKE '%read%'"
        )
    assert reading >= 0.9 * PAGES * DELAY_MS * 1e6
    names_the_process(recording, server)


def test_page_faults_wait_for_what_was_asked_ahead(tmp_path: Path) -> None:
    """As most filesystems of FUSE do it: the page is waited for, not the answer."""
    with served_by_python(tmp_path, 10 * DELAY_MS, "ahead") as (mount, server):
        argv = python(MAPPED, mount, "256", "ahead")
        recording = record(argv, tmp_path / "a.iowhy")
    with Relations(recording) as relations:
        ((ns,),) = relations.rows(
            "SELECT sum(total_ns) FROM served_waits WHERE syscall IS NULL AND served_by = 'process'"
        )
    assert ns >= 10 * DELAY_MS * 1e6
    names_the_process(recording, server)


CLOSING = """
import os, sys
kept = [os.open(f"{sys.argv[1]}/{number}", os.O_RDONLY) for number in range(int(sys.argv[2]))]
for number in kept[2:]: os.close(number)
os.dup2(0, kept[0])
os._exit(0)
"""


def test_who_closes_files_waits_for_the_process_that_serves_them(tmp_path: Path) -> None:
    with served_by_python(tmp_path, DELAY_MS) as (mount, server):
        recording = record(python(CLOSING, mount, str(FILES + 2)), tmp_path / "a.iowhy")
    waits = waits_of(recording)
    closes, ns = waits["close", "fuse"]
    assert FILES <= closes <= 2 * FILES
    assert ns >= FILES * DELAY_MS * 1e6
    assert waits["dup2", "fuse"][1] >= DELAY_MS * 1e6
    assert waits["exit_group", "fuse"][1] >= DELAY_MS * 1e6
    with Relations(recording) as relations:
        classes = relations.rows(
            "SELECT DISTINCT class FROM wait_classes WHERE syscall IN ('close', 'dup2', 'exit_group') AND reason = 'fuse'"
        )
    assert classes == [("write",)]
    names_the_process(recording, server)


#: What a socket has still to send, whose peer reads nothing.
LINGERING = """
import socket, struct
listening = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listening.getsockname())
there, _ = listening.accept()
sender.setblocking(False)
try:
    while True: sender.send(bytes(65536))
except BlockingIOError: pass
sender.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 1))
sender.close()
"""


def test_a_socket_that_lingers_waits_for_no_storage(tmp_path: Path) -> None:
    recording = record(python(LINGERING), tmp_path / "a.iowhy")
    waits = waits_of(recording)
    assert ("close", "fuse") not in waits
    assert waits["close", "interruptible_sleep"][1] >= 0.8e9
    assert idle_ns(recording, "interruptible_sleep") >= 0.8e9


#: Another process supplies a page after a while (include/uapi/linux/userfaultfd.h).
SUPPLIED = """
import ctypes, fcntl, mmap, os, platform, struct, time
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.syscall(323 if platform.machine() == "x86_64" else 282, 0)
assert fd >= 0, ctypes.get_errno()
memory = mmap.mmap(-1, 4096, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
fcntl.ioctl(fd, 0xC018AA3F, struct.pack("QQQ", 0xAA, 0, 0))
fcntl.ioctl(fd, 0xC020AA00, struct.pack("QQQQ", at, 4096, 1, 0))
if os.fork() == 0:
    time.sleep(0.5)
    fcntl.ioctl(fd, 0xC020AA04, struct.pack("QQQq", at, 4096, 0, 0))
    os._exit(0)
assert memory[0] == 0
"""


def test_a_page_that_another_process_supplies_is_no_storage(tmp_path: Path) -> None:
    recording = record(python(SUPPLIED), tmp_path / "a.iowhy")
    waits = waits_of(recording)
    assert waits[None, "userfault"][1] >= 0.4e9
    assert (None, "fuse") not in waits
    assert idle_ns(recording, "userfault") >= 0.4e9


#: Waits in epoll from before it is recorded until after that, as one thread; another touches a mapped file.
ATTACHED = """
import mmap, os, select, sys, threading
threading.Thread(target=select.epoll().poll, daemon=True).start()
source = os.open(sys.argv[1] + "/mapped", os.O_RDONLY)
memory = mmap.mmap(source, 0, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
print(flush=True)
while True:
    for page in range(256): memory[page * 4096]
    memory.madvise(mmap.MADV_DONTNEED)
    os.posix_fadvise(source, 0, 0, os.POSIX_FADV_DONTNEED)
"""


@contextmanager
def attached_to(work: "subprocess.Popen[bytes]", out: Path) -> Iterator[Recording]:
    """A recording of a second of a process that is ended after it."""
    try:
        assert work.stdout is not None
        work.stdout.readline()
        argv = [program(RECORDER), "attach", "-o", out, "--pid", str(work.pid), "--duration", "1"]
        done = subprocess.run(argv, timeout=60, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
        yield open_recording(out)
    finally:
        work.kill()
        work.wait()


def test_of_a_process_that_runs_already_faults_are_told_from_calls_whose_beginning_was_not_seen(
    tmp_path: Path,
) -> None:
    with served_by_python(tmp_path, DELAY_MS, "cached") as (mount, _):
        work = subprocess.Popen(python(ATTACHED, mount), stdout=subprocess.PIPE)
        with (
            attached_to(work, tmp_path / "a.iowhy") as recording,
            Relations(recording) as relations,
        ):
            rows = relations.rows(
                f"SELECT tid = {work.pid}, reason, sum(dur_ns) FROM waits WHERE syscall IS NULL GROUP BY ALL"
            )
    ((is_first, reason, ns),) = [row for row in rows if row[2] > 1e6]
    assert (is_first, reason) == (True, "fuse")
    assert ns >= 0.7e9
