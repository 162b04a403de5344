"""The short form of `make torture` that each test run has: the same mutants every time. Kills are in tests/live."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_mutants_end_with_an_answer_or_one_clear_error() -> None:
    """In a process of its own: it forks, and this one may have threads."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", "mutants", "--seed", "7", "--most", "12", "--minutes", "60"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "seed 7: 12 mutants" in done.stdout and "0 failures" in done.stdout
