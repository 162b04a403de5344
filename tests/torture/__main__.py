"""`python -m tests.torture [PART]... [--minutes M] [--seed S] [--recording DIR]...`, or `make torture`.

Each part prints what it did and its seed, with which it can be repeated; 1 when anything failed.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path


def main() -> int:
    """Tortures for so many minutes, which the parts share; 1 when something failed."""
    words = _words()
    from tests.torture import (
        agent_kills,
        disks,
        failures,
        kills,
        mixes,
        mutants,
        texts,
        thinnings,
        tune_kills,
    )
    from tests.torture.report import Part, Tally

    parts: dict[str, Part] = {
        "mutants": lambda seed, end: mutants.run(seed, end, words.recording, words.most),
        "thinnings": lambda seed, end: thinnings.run(seed, end, words.most),
        "doubts": lambda seed, end: thinnings.doubts(seed, end, words.most),
        "failures": lambda seed, end: failures.run(seed, end, words.most),
        "recorders": lambda seed, end: failures.run_recorders(seed, end, words.most),
        "texts": texts.run_python,
        "logs": lambda seed, end: texts.run_rust(seed, end, words.most),
        "disks": lambda seed, end: disks.run(seed, end, words.most),
        "mixes": lambda seed, end: mixes.run(seed, end, words.most),
        "kills": lambda seed, end: kills.run(seed, end, words.most),
        "agent": lambda seed, end: agent_kills.run(seed, end, words.most),
        "tune": lambda seed, end: tune_kills.run(seed, end, words.most),
    }
    chosen = words.part or list(parts)
    tallies: list[Tally] = []
    for name in chosen:
        end = time.monotonic() + words.minutes * 60 / len(chosen)
        tallies.append(parts[name](words.seed, end))
        print(tallies[-1].line(), flush=True)
    return 1 if any(tally.failures for tally in tallies) else 0


def _words() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.torture", description=__doc__)
    parser.add_argument("part", nargs="*")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 1_000_000 * 1000)
    parser.add_argument(
        "--most", type=int, help="so many of each part at most: 1 repeats a failure by its seed"
    )
    parser.add_argument("--recording", type=Path, action="append", default=[])
    return parser.parse_args()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="iowhy-torture-cache-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        sys.exit(main())
