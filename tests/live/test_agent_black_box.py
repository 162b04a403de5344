"""The flight recorder: what a known workload did before a trigger is in the trigger's recording, and memory keeps within its bound."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.agent import retention
from iowhy.agent.black_box import folder_of
from iowhy.recordings import open_recording
from machine import one
from running_agent import agent, counts, within

pytestmark = pytest.mark.usefixtures("live")

SYNCS = 23
WORK = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for number in range({SYNCS}):
    os.pwrite(fd, bytes(4096), number * 4096)
    os.fdatasync(fd)
"""
#: As many calls as it can, for some seconds.
BUSY = """
import os, sys, time
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.pwrite(fd, bytes(4096), 0)
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    for offset in range(0, 4096, 8): os.pread(fd, 8, offset)
"""


def taken(root: Path) -> int:
    return sum(one.stat().st_blocks * 512 for one in folder_of(root).rglob("*") if one.is_file())


def young(root: Path) -> bool:
    """Whether a recording in memory has begun."""
    try:
        texts = [path.read_text() for path in folder_of(root).glob("ring.*/manifest.json")]
    except OSError:  # it has just gone
        return False
    return any(json.loads(text)["command"]["start_ns"] is not None for text in texts)


@contextmanager
def deaf_to_ctrl_c() -> Iterator[None]:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def test_what_came_before_a_trigger_is_in_its_recording(tmp_path: Path) -> None:
    """Also where SIGINT is ignored, as by what a shell starts in the background, so that recorders do not hear it."""
    root = tmp_path / "agent"
    more = 'black-box = "2 s"\nblack-box-size = "300MiB"'
    with deaf_to_ctrl_c(), agent(root, more=more, triggers="") as (running, log):
        within(60, lambda: counts(root) and young(root))
        done = subprocess.Popen([sys.executable, "-c", WORK, tmp_path / "file"])
        assert done.wait() == 0
        ended_ns = time.monotonic_ns()
        running.send_signal(signal.SIGUSR1)
        within(240, lambda: "kept in" in log.read_text())
        # It goes on with another.
        within(60, lambda: young(root))
    assert running.returncode == 0, log.read_text()
    (path,) = root.glob("date=*/host=*/*-trigger-*.iowhy")
    recording = open_recording(path)
    assert recording.manifest.complete
    syncs = "SELECT count(*) FROM syscalls WHERE name = 'fdatasync' AND tgid = ?"
    assert one(recording, syncs, done.pid) == SYNCS
    (note,) = [note for note in recording.manifest.notes if note.startswith("trigger by-hand")]
    assert "after the begin of the recording: asked for by hand" in note
    start_ns, end_ns = recording.manifest.command.start_ns, recording.manifest.command.end_ns
    assert start_ns is not None and end_ns is not None and start_ns < ended_ns < end_ns
    assert not folder_of(root).exists()


def test_memory_is_bounded_where_much_happens(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    most = 6 << 20
    more = 'black-box = "60 s"\nblack-box-size = "6MiB"'
    with agent(root, more=more, triggers="") as (running, log):
        within(60, lambda: counts(root) and young(root))
        busy = subprocess.Popen([sys.executable, "-c", BUSY, tmp_path / "file", "60"])
        sizes: list[int] = []

        def replaced() -> bool:
            sizes.append(taken(root))
            assert len(list(folder_of(root).glob("ring.*.iowhy"))) <= 2
            return not (folder_of(root) / "ring.1.iowhy").exists()

        within(60, replaced)
        busy.kill()
        busy.wait()
        assert 0 < max(sizes) <= most
        within(60, lambda: young(root))
        running.send_signal(signal.SIGUSR1)
        within(240, lambda: "kept in" in log.read_text())
    assert running.returncode == 0, log.read_text()
    # Where the last has just filled, and the next has not begun, there is nothing.
    said = (
        r"only [0-9.]+ s before this trigger are recorded|nothing before this trigger is recorded"
    )
    assert re.search(said, log.read_text())


def test_a_triggers_recording_outlives_an_agent_that_is_killed(tmp_path: Path) -> None:
    root = tmp_path / "agent"
    more = 'black-box = "2 s"\nblack-box-size = "300MiB"'
    with agent(root, more=more, triggers="") as (running, log):
        within(60, lambda: counts(root) and young(root))
        running.send_signal(signal.SIGUSR1)
        within(60, lambda: list(folder_of(root).glob("trigger-by-hand.*")))
        os.kill(running.pid, signal.SIGKILL)
    # Also by one that has no black box any more.
    with agent(root, triggers="") as (running, log):
        within(90, lambda: "kept what an earlier agent left" in log.read_text() and counts(root))
    assert running.returncode == 0, log.read_text()
    (path,) = root.glob("date=*/host=*/*-trigger-by-hand.iowhy")
    assert open_recording(path).manifest.tables["syscalls"].kept > 0
    assert not folder_of(root).exists() and not any((root / retention.OPEN).iterdir())
