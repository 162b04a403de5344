"""Kills at random moments: of iowhy, its recorder, its command, or all; the recording stays readable, and nothing is left.

Needs root and eBPF tracepoints; nobody else may record meanwhile, as all BPF links are counted.
"""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq

from iowhy.errors import Problem
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.check import check_recording
from iowhy.sources.live import RECORDER, program
from tests.torture.report import Tally
from tests.torture.traces import MARK, is_recorder, marked, none_left, on_machine

#: At the same time: most of a kill is waiting.
AT_ONCE = 6
#: Until the kill, at most: from the start of Python to after the end of the command.
LATEST_S = 3.0
#: Writes, renames and forks for half a second.
COMMAND = ["sh", "-c", "for i in 1 2 3 4 5; do dd if=/dev/zero of=$0 bs=4k count=20 conv=fsync 2>&-; mv $0 $0.b; sleep .1; done"]  # fmt: skip
PATIENCE_S = 60.0
#: The first is not there without a front end; the command, which is there for the shortest time, is aimed at most.
VICTIMS = ("iowhy", "recorder", "command", "command", "all")
#: Each recording is read; every so many, it is checked in full, which takes a hundred times as long.
CHECKED_EVERY = 20


@dataclass
class Killed:
    """One run that was killed: who of it, when, and what came of it."""

    victim: str
    sent: signal.Signals
    alone: bool
    status: int
    said: str
    reached: bool
    left: list[int]


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Kills until `end`, or `most` of them."""
    tally = Tally("kills", seed)
    if os.geteuid() != 0:
        tally.counts["kills (not root)"] = 0
        return tally
    before = on_machine()
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-torture-") as folder,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        number = seed

        def one(number: int) -> None:
            if time.monotonic() < end:
                _one(tally, Path(folder) / str(number), number)

        while time.monotonic() < end and (most is None or number < seed + most):
            upto = min(number + AT_ONCE, seed + most if most is not None else number + AT_ONCE)
            list(pool.map(one, range(number, upto)))
            number = upto
        files = sorted(path.name for path in Path(folder).glob("*/tmp/*"))
        if files:
            tally.fail(seed, f"temporary files are left: {files[:5]}")
    left = on_machine() - before
    if left:
        tally.fail(seed, f"left on the machine: {dict(left)}")
    return tally


def _one(tally: Tally, folder: Path, seed: int) -> None:
    dice = random.Random(seed)
    (folder / "tmp").mkdir(parents=True)
    killed = _kill(folder, dice)
    tally.counts["runs"] += 1
    if killed.reached:
        tally.counts["kills"] += 1
        tally.counts[f"of {killed.victim}"] += 1
    why = _wrong(killed, folder / "a.iowhy", thorough=seed % CHECKED_EVERY == 0)
    if why is not None:
        what = f"{killed.sent.name} to {killed.victim}{', without a front end' * killed.alone}"
        tally.fail(seed, f"{what}: {why}; status {killed.status}; {killed.said[-300:]!r}")
    shutil.rmtree(folder / "a.iowhy", ignore_errors=True)


def _kill(folder: Path, dice: random.Random) -> Killed:
    alone = dice.random() < 0.6
    victim = dice.choice(VICTIMS[alone:])
    sent = dice.choice([signal.SIGKILL] * 4 + [signal.SIGTERM, signal.SIGINT])
    mark = f"{os.getpid()}-{folder.name}"
    front = [str(program(RECORDER)), "run"] if alone else [sys.executable, "-m", "iowhy", "run", "-q"]  # fmt: skip
    child = subprocess.Popen(
        [*front, "-o", str(folder / "a.iowhy"), "--", *COMMAND, str(folder / "data")],
        env={**os.environ, MARK: mark, "TMPDIR": str(folder / "tmp"), "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    time.sleep(dice.uniform(0.0, LATEST_S * (0.5 if alone else 1.0)))
    pids = _pids(child.pid, victim, mark)
    reached = False
    for pid in pids:
        try:
            os.kill(pid, sent)
            reached = True
        except ProcessLookupError:
            pass
    left = none_left(mark, PATIENCE_S)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    said, _ = child.communicate()
    return Killed(victim, sent, alone, child.returncode, said, reached, left)


def _pids(first: int, victim: str, mark: str) -> list[int]:
    """The processes that are killed; none where the victim has not begun or has ended."""
    parents = marked(mark)
    recorder = next((pid for pid in parents if is_recorder(pid) and not is_recorder(parents[pid])), None)  # fmt: skip
    if victim == "all":
        return list(parents)
    if victim == "iowhy":
        return [first] if first in parents else []
    if recorder is None:
        return []
    if victim == "recorder":
        return [recorder]
    return [pid for pid, parent in parents.items() if parent == recorder]


def _wrong(killed: Killed, path: Path, *, thorough: bool) -> str | None:
    if killed.left:
        return f"{len(killed.left)} processes did not end"
    if ("Traceback" in killed.said and not _before_iowhy(killed)) or "panicked" in killed.said:
        return "a traceback"
    if not (path / "manifest.json").exists():
        # It had not begun; what had begun leaves a manifest, whoever is killed.
        return None if not list(path.glob("*/*.parquet")) else "tables without a manifest"
    try:
        recording = open_recording(path)
        for file in path.glob("*/*.parquet"):
            pq.read_table(file)
        if thorough:
            bad = [check for check in check_recording(recording) if not check.ok]
            if bad:
                return f"damaged: {bad[0].subject}: {bad[0].found}"
    except Problem as problem:
        return str(problem)
    except Exception as error:
        return f"cannot be read: {error!r}"
    return _ended_wrong(killed, recording)


def _before_iowhy(killed: Killed) -> bool:
    """Whether Ctrl-C came while Python itself began: what it then says is not iowhy's to change."""
    return killed.said.rstrip().endswith("KeyboardInterrupt") and not re.search(
        "iowhy/(cli|__main__)", killed.said
    )


def _ended_wrong(killed: Killed, recording: Recording) -> str | None:
    """What is wrong with the end that the manifest tells; a recorder that was killed tells of none."""
    manifest = recording.manifest
    hit = killed.reached and killed.sent is signal.SIGKILL
    if hit and killed.victim in ("recorder", "all"):
        return None
    if not manifest.complete:
        return "not complete, though nobody killed the recorder"
    expected: Callable[[], bool] = lambda: manifest.command.exit_status == 0  # noqa: E731
    if not killed.reached or (killed.victim == "iowhy" and hit):
        return None if expected() else f"the command ended otherwise: {manifest.command}"
    return None
