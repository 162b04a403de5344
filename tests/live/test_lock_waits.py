"""Each wait for a lock on a file is recorded, with who holds it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.whys.verdict import judge
from machine import ask, python, record

pytestmark = pytest.mark.usefixtures("live")

#: Takes a lock so often as it is asked to; F_OFD_SETLKW is 38 on Linux (include/uapi/asm-generic/fcntl.h).
TAKES = """
import fcntl, os, struct, sys, time
how, path, seconds, times = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
file = os.open(path, os.O_RDWR | os.O_CREAT)
def whole(kind):
    return struct.pack("hhqqi", kind, os.SEEK_SET, 0, 0, 0)
for _ in range(times):
    if how == "flock":
        fcntl.flock(file, fcntl.LOCK_EX)
    elif how == "fcntl":
        fcntl.lockf(file, fcntl.LOCK_EX)
    else:
        fcntl.fcntl(file, 38, whole(fcntl.F_WRLCK))
    print("has it", flush=True)
    time.sleep(seconds)
    fcntl.flock(file, fcntl.LOCK_UN) if how == "flock" else fcntl.fcntl(file, 37, whole(fcntl.F_UNLCK))
    time.sleep(0.05)
"""


@contextmanager
def holder(how: str, path: Path, seconds: float) -> Iterator[int]:
    """A process that holds the lock for a time; its number."""
    words = [sys.executable, "-c", TAKES, how, str(path), str(seconds), "1"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as running:
        assert running.stdout is not None and running.stdout.readline() == b"has it\n"
        try:
            yield running.pid
        finally:
            os.kill(running.pid, signal.SIGKILL)


@pytest.mark.parametrize("how", ["flock", "fcntl", "open-file"])
def test_a_wait_has_the_file_and_who_holds_the_lock(how: str, tmp_path: Path) -> None:
    path = tmp_path / "jobs.lock"
    with holder(how, path, 2.0) as pid:
        recording = record(python(TAKES, how, str(path), "0", "3"), tmp_path / "r.iowhy")
    waits = ask(recording, "SELECT DISTINCT dev, ino, holder_tgid FROM lock_waits")
    ((_, ino, by),) = waits
    assert ino == path.stat().st_ino
    assert by == pid
    names = ask(recording, "SELECT DISTINCT tgid, comm FROM neighbours")
    assert (pid, "python") in [(tgid, comm[:6]) for tgid, comm in names]
    found = judge(recording).findings[0]
    assert found.cause == "not-io"
    assert found.summary.id == "lock-file.held"


def test_behind_another_that_waits_it_is_who_holds_it(tmp_path: Path) -> None:
    """Three at once: each waits for the one before, and the first of them for the holder."""
    path = tmp_path / "jobs.lock"
    three = f"for i in 1 2 3; do flock {path} sleep 0.05 & done; wait"
    with holder("flock", path, 1.5) as pid:
        recording = record(["sh", "-c", three], tmp_path / "r.iowhy")
    first = ask(
        recording,
        "SELECT holder_tgid FROM lock_waits QUALIFY row_number() OVER (PARTITION BY tid ORDER BY ts_ns) = 1",
    )
    assert first == [(pid,)] * 3


def test_who_need_not_wait_has_no_row(tmp_path: Path) -> None:
    path = tmp_path / "jobs.lock"
    recording = record(python(TAKES, "flock", str(path), "0", "20"), tmp_path / "r.iowhy")
    assert ask(recording, "SELECT count(*) FROM lock_waits") == [(0,)]
