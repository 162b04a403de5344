"""Each promise of docs/promises.md names a test or a benchmark that exists."""

import re
from pathlib import Path

from benchmarks.__main__ import PARTS

ROOT = Path(__file__).parents[2]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in (ROOT / "docs" / "promises.md").read_text().splitlines()
    if re.match(r"\| (?!promise )", line)
]


def missing(held_by: str) -> list[str]:
    """What it names that does not exist; something is named."""
    named = re.findall(r"`([^`]+)`", held_by)
    assert named, held_by
    return [one for one in named if not _exists(one)]


def _exists(one: str) -> bool:
    if one.startswith("bench "):
        return one.removeprefix("bench ") in PARTS
    file, _, test = one.partition("::")
    path = ROOT / file
    return path.exists() and re.search(rf"^ *(def|fn) {test}\(", path.read_text(), re.M) is not None


def test_each_is_held_by_something_that_exists() -> None:
    assert len(ROWS) >= 20
    assert {row[0]: lacking for row in ROWS if (lacking := missing(row[2]))} == {}


def test_one_that_is_gone_is_noticed() -> None:
    gone = "`tests/docs/test_promises.py::test_gone`, `bench gone`"
    assert missing(f"{gone}, `bench losses`") == ["tests/docs/test_promises.py::test_gone", "bench gone"]  # fmt: skip
