"""Exact mixes: forty small mixes of calls that keep their own log, recorded and traced again and again.

The comparisons are those of `tests/live/test_exact_mixes.py`; the seed says how often each mix runs in one recording.
"""

import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.torture.report import Tally

ROOT = Path(__file__).parents[2]
#: Times that each mix runs in one recording.
FEWEST, MOST = 1, 12


def run(seed: int, end: float, most: int | None = None) -> Tally:
    """Recordings of all mixes until `end`, or `most` of them."""
    tally = Tally("mixes", seed)
    if os.geteuid() != 0:
        tally.counts["mixes (not root)"] = 0
        return tally
    number = seed
    while time.monotonic() < end and (most is None or number < seed + most):
        _one(tally, number)
        number += 1
    return tally


def _one(tally: Tally, seed: int) -> None:
    times = random.Random(seed).randint(FEWEST, MOST)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "tests/live/test_exact_mixes.py"],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "IOWHY_MIXES": str(times)},
    )  # fmt: skip
    counted = re.search(r"(\d+) passed", done.stdout)
    tally.counts["recordings"] += 1
    tally.counts["runs of each mix"] += times
    tally.counts["comparisons"] += int(counted[1]) if counted else 0
    if done.returncode != 0 or counted is None:
        wrong = [line for line in done.stdout.splitlines() if line.startswith(("E ", "FAILED"))]
        tally.fail(seed, " ".join(wrong)[:300] or done.stdout.strip()[-300:] or done.stderr[-300:])
