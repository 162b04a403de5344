"""Slow syncs of one service while another writes in bulk: the event is the service's, and so is its verdict."""

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.lab.stage import Choice, stage
from iowhy.recordings import open_recording
from running_agent import agent, within
from test_agent_containers import root

pytestmark = pytest.mark.usefixtures("live")

JOIN = "import os, sys\nopen(sys.argv[1] + '/cgroup.procs', 'w').write(str(os.getpid()))\n"
SYNCS = """
fd = os.open(sys.argv[2] + "/log", os.O_CREAT | os.O_RDWR)
while True:
    os.pwrite(fd, bytes(4096), 0)
    os.fsync(fd)
"""
BULK = """
fd = os.open(sys.argv[2] + "/bulk", os.O_CREAT | os.O_RDWR)
while True:
    for at in range(64):
        os.pwrite(fd, bytes(1 << 20), at << 20)
    os.fsync(fd)
"""


@contextmanager
def service(name: str, code: str, place: Path) -> Iterator[int]:
    """A program that runs in a group of that name."""
    group = root() / name
    group.mkdir()
    work = subprocess.Popen(
        [sys.executable, "-c", JOIN + code, group, place], start_new_session=True
    )
    try:
        yield work.pid
    finally:
        subprocess.run(["kill", "-9", "--", f"-{work.pid}"], check=True)
        work.wait()
        within(60, lambda: not (group / "cgroup.procs").read_text())
        group.rmdir()


def test_an_event_is_answered_for_the_service_that_it_is_of(tmp_path: Path) -> None:
    folder = tmp_path / "agent"
    triggers = """
any = "fsync p50 > 5 ms for 2 s"
[triggers.slow-db]
when = "fsync p50 > 5 ms for 2 s"
service = "iowhy-db"
per-hour = 1
"""
    with stage(Choice(fs="ext4", device="flush-slow"), tmp_path) as on:
        made = on.scratch_filesystem(256)
        on.start_clock()
        with (
            service("iowhy-db.service", SYNCS, made.path) as db,
            service("iowhy-bulk.service", BULK, made.path),
            agent(folder, triggers=triggers) as (running, log),
        ):
            said = r"trigger slow-db: (?!fsync p50)(.*); kept in (\S+)"
            within(240, lambda: re.search(said, log.read_text()))
        on.stop_clock()
    assert running.returncode == 0, log.read_text()
    text = log.read_text()
    answer = re.search(said, text)
    fired = re.search(r"trigger slow-db: (fsync .*); recording", text)
    assert answer is not None and fired is not None
    assert fired[1].startswith("fsync p50 > 5 ms for 2 s of iowhy-db: ")
    first = rf"\({db}\) of iowhy-db\.service had [0-9,]+ fsync calls on {made.path}: "
    assert re.search(first, answer[1]), answer[1]
    assert "cpu-saturated" not in answer[1]
    assert open_recording(Path(answer[2])).manifest.complete
