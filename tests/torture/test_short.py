"""The short form of `make torture` that each test run has: the same mutants every time. Kills are in tests/live."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_mutants_end_with_an_answer_or_one_clear_error() -> None:
    assert "seed 7: 12 mutants" in tried("mutants", 12)


def test_what_fails_is_one_clear_error() -> None:
    """An allocation, a read or a write: of readers."""
    assert "seed 7: 6 tries" in tried("failures", 6)


def tried(part: str, most: int) -> str:
    """What a part prints that fails nowhere. In a process of its own: it forks, and this one may have threads."""
    words = (part, "--seed", "7", "--most", str(most), "--minutes", "60")
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", *words],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout
    return done.stdout
