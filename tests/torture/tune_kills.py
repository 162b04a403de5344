"""kill -9, a closed terminal or Ctrl-C of `iowhy tune` at random moments: the disk's settings and mount options are as they were.

Needs root and loop devices.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from iowhy.experiments.device import mount_of
from iowhy.experiments.setting import Profile, Setting
from iowhy.lab.stage import Choice, stage
from iowhy.tuning.knob import queue_file
from iowhy.undo import Undo
from tests.torture.report import Tally

#: Until the kill, at most: the profile and the first trials of settings take so long.
LATEST_S = 9.0
PATIENCE_S = 20.0
ENDS = (signal.SIGKILL, signal.SIGKILL, signal.SIGHUP, signal.SIGINT)
QUEUE = ("read_ahead_kb", "scheduler", "nr_requests", "wbt_lat_usec")


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Kills until `end`, or `most` of them."""
    tally = Tally("tune", seed)
    if os.geteuid() != 0 or not Path("/dev/loop-control").exists():
        tally.counts["kills (not root, or no loop devices)"] = 0
        return tally
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-") as folder:
        os.environ["IOWHY_STATE"] = f"{folder}/state"
        with (
            stage(Choice(fs="ext4", device="hdd"), Path(folder)) as on,
            Undo.session("test") as undo,
        ):
            disk = on.scratch_filesystem(64).path
            (disk / "data").write_bytes(os.urandom(4 << 20))
            setting = Setting(("true",), disk, undo, Profile(1.0, 1.0))
            before = state(setting)
            while time.monotonic() < end and (most is None or tally.counts["kills"] < most):
                _kill(tally, seed + tally.counts["kills"], setting, before)
    return tally


def _kill(tally: Tally, seed: int, setting: Setting, before: object) -> None:
    chance = random.Random(seed)
    how = chance.choice(ENDS)
    words = ["tune", "-q", "--cache", "cold", "--", "dd", "if=data", "of=/dev/null", "bs=4k"]
    process = subprocess.Popen(
        [sys.executable, "-m", "iowhy", *words], cwd=setting.directory, start_new_session=True,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    at = time.monotonic() + chance.uniform(0.2, LATEST_S)
    changed = False
    while time.monotonic() < at and process.poll() is None:
        changed = state(setting) != before
        time.sleep(0.02)
    process.send_signal(how)
    process.wait()
    # The session's guard undoes it.
    until = time.monotonic() + PATIENCE_S
    while state(setting) != before and time.monotonic() < until:
        time.sleep(0.05)
    tally.counts["kills"] += 1
    tally.counts["of them with a setting changed"] += changed
    if state(setting) != before:
        tally.fail(seed, f"{how.name}: {state(setting)} instead of {before}")


def state(setting: Setting) -> tuple[list[str], str]:
    """What settings of the disk change: its queue and its mount options."""
    paths = [path for one in QUEUE if (path := queue_file(setting, one)) is not None]
    return [path.read_text() for path in paths], mount_of(setting.directory).options
