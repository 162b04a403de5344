"""Triggers about a disk: at a ceiling, and slower than in its own week."""

import json
import math
import re
import subprocess
import time
from pathlib import Path

import pytest

import iowhy
from iowhy.agent.devices import HOURS
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Choice, stage
from running_agent import agent, within

pytestmark = [
    pytest.mark.usefixtures("live"),
    pytest.mark.alone,
    pytest.mark.disturbed_by("cpu"),
]

US = 1000.0
TRIGGERS = """
held = "device {disk} capped"
aged = "device {disk} slower than its week > 3 times"
"""


def test_a_disk_at_a_ceiling_and_one_that_is_slower_than_its_week(tmp_path: Path) -> None:
    """Half a millisecond in its week; now 300 requests/s, eight at once."""
    root = tmp_path / "agent"
    root.mkdir(mode=0o700)
    caps = ("--access-us=500", "--channels=64", "--cap-requests=300:20")
    with stage(Choice(fs="ext4", device="ssd"), tmp_path) as on:
        made = on.filesystem(on.disk(256, changes=caps))
        file, disk = make_file(made.path / "data", 64 << 20, 1), made.disk.name
        usual = [400, math.log2(500 * US), math.log2(900 * US)]
        week = {"read 0": {str(hour): usual for hour in range(HOURS)}}
        state = {disk: {"quiet": [500 * US] * 8, "week": week}}
        (root / ".devices.json").write_text(json.dumps(state))
        reads = work("randread", file=file, threads=8, block=4096, seed=1, for_seconds=60)
        on.start_clock()
        # Either trigger may be first, a second after the readers begin: what is recorded then must have enough of the ceiling.
        with agent(
            root, more='black-box = "4 s"', triggers=TRIGGERS.format(disk=disk), record="4 s"
        ) as (running, log):
            within(60, lambda: list(root.glob(".open/*/agent_counts")))
            with subprocess.Popen(reads, stdout=subprocess.DEVNULL) as reader:
                try:
                    for name in ("held", "aged"):
                        within(30, lambda name=name: f"trigger {name}: device" in log.read_text())
                    within(60, lambda: "kept in" in log.read_text())
                finally:
                    reader.kill()
        on.stop_clock()
    text = log.read_text()
    assert running.returncode == 0, text
    rate = re.search(
        rf"trigger held: .*: ([0-9]+) requests/s with [78] in flight, .* of {disk}", text
    )
    assert rate is not None and abs(int(rate[1]) - 300) <= 9, text
    times = re.search(rf"trigger aged: .*: ([0-9.]+) times of {disk}", text)
    # 8 of 300 a second take 26.7 ms each.
    assert times is not None and float(times[1]) > 20, text
    # The stretch that the log speaks of may begin after the burst that shows the ceiling: all of the recording has it.
    assert "device-capped" in text, text
    kept = re.search(r"; kept in (\S+)", text)
    assert kept is not None, text
    assert "device-capped" in {one.cause for one in iowhy.open(kept[1]).verdict.findings}, text


def test_a_disk_that_answers_nobody_for_three_seconds(tmp_path: Path) -> None:
    """The trigger sees it while it lasts, and the verdict on what was kept says when it was and who waited."""
    root = tmp_path / "agent"
    root.mkdir(mode=0o700)
    with stage(Choice(fs="ext4", device="ssd"), tmp_path) as on:
        made = on.filesystem(on.disk(256, changes=("--access-us=500", "--channels=64")))
        file, disk = make_file(made.path / "data", 64 << 20, 1), made.disk.name
        assert made.disk.folder is not None
        reads = work("randread", file=file, threads=2, block=4096, seed=1, for_seconds=90)
        on.start_clock()
        triggers = f'silent = "device {disk} stalled > 1 s"'
        # The trigger fires in the stall, and the recording goes on until it is over.
        with agent(root, more='black-box = "6 s"', triggers=triggers, record="4 s") as (
            running,
            log,
        ):
            within(60, lambda: list(root.glob(".open/*/agent_counts")))
            with subprocess.Popen(reads, stdout=subprocess.DEVNULL) as reader:
                try:
                    time.sleep(4)
                    (made.disk.folder / "control").write_text("stall 3")
                    within(30, lambda: "trigger silent: device" in log.read_text())
                    within(60, lambda: "kept in" in log.read_text())
                finally:
                    reader.kill()
        on.stop_clock()
    text = log.read_text()
    assert running.returncode == 0 and "device-slow" in text, text
    kept = re.search(r"; kept in (\S+)", text)
    assert kept is not None, text
    found = {one.cause: one for one in iowhy.open(kept[1]).verdict.findings}
    (silence, *_) = (
        one for one in found["device-slow"].chain if one.statement.id == "slow-device.silence"
    )
    assert 1.5e9 <= silence.value <= 3.5e9
