"""Calls of which most fail, and that take time all the same, are said; calls that fail now and then are not."""

from pathlib import Path

import pytest

from iowhy.whys.verdict import judge
from tests.numbers_told import tells

from .made import FILE, KIB, MS, START, Story


@pytest.mark.parametrize(
    ("failed", "each_ns", "said"),
    [(200, 4 * MS, True), (90, 4 * MS, False), (200, MS // 100, False)],
)
def test_calls_that_fail(failed: int, each_ns: int, said: bool, tmp_path: Path) -> None:
    """Direct writes that are not aligned flush what was written before, and fail (pwritev2 of 4,000 bytes)."""
    story = Story(2.0).thread(10, user=0.5, kernel=0.1)
    parts = {"cpu_ns": 1_000, "runnable_ns": 0, "blocked_ns": each_ns - 1_000, "sleeping_ns": 0}
    for number in range(200):
        story.call(
            START + number * 8 * MS,
            "pwritev2",
            parts,
            tid=10,
            ino=FILE,
            offset=number * 4000,
            bytes_=4 * KIB,
        )
        if number < failed:
            story.tables["syscalls"][-1]["ret"] = -22
    notes = [note for note in judge(story.made(tmp_path / "x")).notes if "fail" in note]
    assert bool(notes) == said
    if said:
        assert tells(notes[0], "200", "200", "pwritev2", "800 ms")
