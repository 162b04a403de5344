"""Phases of real runs whose changes are known: the work notes when it changes, and a disk stands still for two seconds."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.phases import NEAR_S, near, prepared, recorded
from iowhy.commands.overview import overview, overview_of
from iowhy.recordings import open_recording
from iowhy.whys import classes
from machine import emulated, run
from running_agent import agent, within

# Others' work on the CPUs or the disk is a change, too; a sync of anybody waits for a disk that stands still.
pytestmark = [
    pytest.mark.usefixtures("live"),
    pytest.mark.alone,
    pytest.mark.disturbed_by("cpu"),
]

READER = """
import mmap, os, sys, time
file, buffer, at = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT), mmap.mmap(-1, 4096), 0
end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    os.preadv(file, [buffer], at % 2000 * 4096)
    at += 7
"""


@pytest.mark.parametrize(
    ("steps", "changes"),
    [("read_anywhere:2 compute:2 sync:2", 2), ("sync:4", 0), ("bursts:6", 0)],
)
def test_phases_are_where_the_work_changes(tmp_path: Path, steps: str, changes: int) -> None:
    prepared(tmp_path)
    known, found = recorded(steps, tmp_path, tmp_path / "made.iowhy")
    assert len(known) == changes
    assert near(known, found), (known, found)


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Path, str, "subprocess.Popen[bytes]"]]:
    """A file on an emulated disk, the disk's name, and who serves it."""
    with emulated(tmp_path) as made:
        (made.mount / "file").write_bytes(bytes(8 << 20))
        run("sync", "-f", str(made.mount))
        yield made.mount / "file", Path(made.disk).name, made.server


def stands_still(server: "subprocess.Popen[bytes]", seconds: float) -> tuple[int, int]:
    """From when to when, on the clock of recordings."""
    server.send_signal(signal.SIGSTOP)
    begin = time.monotonic_ns()
    time.sleep(seconds)
    server.send_signal(signal.SIGCONT)
    return begin, time.monotonic_ns()


def test_a_stall_is_a_phase_and_is_judged_alone(
    tmp_path: Path, disk: tuple[Path, str, "subprocess.Popen[bytes]"]
) -> None:
    file, name, server = disk
    to = tmp_path / "stall.iowhy"
    words = ["iowhy.cli.main", "run", "-q", "-o", str(to), "--"]
    read = [sys.executable, "-c", READER, str(file), "8"]
    with subprocess.Popen([sys.executable, "-m", *words, *read]) as recorder:
        time.sleep(4)
        begin_ns, end_ns = stands_still(server, 2)
        recorder.wait(60)
    recording = open_recording(to)
    verdict = overview(recording).verdict
    start_ns = recording.manifest.command.start_ns or 0
    known = [(begin_ns - start_ns) / 1e9, (end_ns - start_ns) / 1e9]
    assert [one.begin_s for one in verdict.phases[1:]] == pytest.approx(known, abs=NEAR_S)
    stall = verdict.phases[1]
    assert stall.device == name and (stall.silent_share or 0) > 0.5
    assert stall.waited_ns > 1.5e9
    alone = overview_of(recording, at=f"{(known[0] + known[1]) / 2:.2f}s").verdict
    assert alone.budget.elapsed(classes.READ) > 0.9


def test_a_trigger_knows_a_disk_that_stands_still(
    tmp_path: Path, disk: tuple[Path, str, "subprocess.Popen[bytes]"]
) -> None:
    file, name, server = disk
    triggers = f'still = "device {name} stalled > 2 s"'
    read = [sys.executable, "-c", READER, str(file), "60"]
    with (
        subprocess.Popen(read) as work,
        agent(tmp_path / "agent", triggers=triggers) as (running, log),
    ):
        try:
            within(60, lambda: list((tmp_path / "agent").glob(".open/*/agent_counts")))
            time.sleep(2)
            assert "trigger still: device" not in log.read_text()
            stands_still(server, 4)
            said = rf"trigger still: device {name} stalled > 2 s: at least [0-9.]+ s of {name}"
            within(30, lambda: re.search(said, log.read_text()))
        finally:
            work.kill()
    assert running.returncode == 0, log.read_text()
