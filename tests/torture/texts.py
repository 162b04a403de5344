"""Parsers of other tools' texts: those in Python (`tests.sources.fuzz`), and those in Rust (`logs/tests/hostile.rs`)."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

from tests.torture.report import Tally

ROOT = Path(__file__).parents[2]
#: Seeds of one call of the Rust tests, which take some ten seconds for them on an idle machine.
ROUNDS = 60


def run_python(seed: int, end: float) -> Tally:
    """Damaged texts through the readers in Python."""
    tally = Tally("texts", seed)
    seconds = max(1, round(end - time.monotonic()))
    done = subprocess.run(
        [sys.executable, "-m", "tests.sources.fuzz", str(seconds), "all", str(seed)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    *failed, last = done.stdout.strip().splitlines() or [""]
    counted = re.match(r"([\d,]+) texts", last)
    tally.counts["texts"] = int(counted[1].replace(",", "")) if counted else 0
    if done.returncode != 0:
        for line in failed or [done.stderr.strip()[-300:]]:
            tally.fail(seed, line)
    return tally


def run_rust(seed: int, end: float, most: int | None = None) -> Tally:
    """Damaged logs through the readers in Rust; only where cargo is."""
    tally = Tally("logs", seed)
    if shutil.which("cargo") is None:
        tally.counts["logs (no cargo)"] = 0
        return tally
    number = seed
    while time.monotonic() < end and (most is None or number < seed + most * ROUNDS):
        done = subprocess.run(
            ["cargo", "test", "--release", "--workspace", "--quiet", "--test", "hostile"],
            cwd=ROOT, capture_output=True, text=True, check=False,
            env={**os.environ, "IOWHY_FUZZ_SEED": str(number), "IOWHY_FUZZ_ROUNDS": str(ROUNDS)},
        )  # fmt: skip
        tally.counts["seeds"] += ROUNDS
        if done.returncode != 0:
            why = next(
                (line for line in done.stdout.splitlines() if "seed" in line), done.stderr[-300:]
            )
            tally.fail(number, why)
        number += ROUNDS
    return tally
