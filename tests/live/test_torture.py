"""The short form of `make torture` that needs root and nobody else who records: kills and full disks from fixed seeds."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("live")

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("part", "most"),
    [
        pytest.param("kills", 12, marks=pytest.mark.alone, id="kills"),  # it counts all BPF links
        ("disks", 3),
        ("agent", 4),
    ],
)
def test_whatever_happens_the_recording_is_readable_and_nothing_is_left(
    part: str, most: int
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.torture", part, "--seed", "7", "--most", str(most), "--minutes", "60"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failures" in done.stdout and f"{most} " in done.stdout
