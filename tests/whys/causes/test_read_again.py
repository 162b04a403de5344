"""read-again: processes that all read the same file, and one that reads it over and over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, fixes_of, judge_with_rows, leads, links_of
from ..made import KIB, MIB, Row, Story, job


def reads(times: float) -> dict[str, list[Row]]:
    """A file of 64 MiB, read in whole so many times, for 30 s; and another one once, for 10 s."""
    row: Row = {
        "read_count": 64 * times,
        "read_bytes": 64 * MIB * times,
        "last_read": 64 * MIB - 1,
        "sized_reads": 1,
    }
    once: Row = {
        "id": 2,
        "read_count": 64,
        "read_bytes": 64 * MIB,
        "last_read": 64 * MIB - 1,
        "read_s": 640,
        "slowest_s": 10,
    }
    return {"POSIX": [{**row, "read_s": 64 * 30, "slowest_s": 30}, once]}  # fmt: skip


def test_each_process_reads_it(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", reads(64))), "read-again", 0.29, 0.3)
    assert tells(chain(found), "4 GiB", "64 MiB") and "MPI_Bcast" in found.fixes[0].do


def test_not_half_again(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", reads(1.5))), "read-again")


def from_memory(
    size: int = 16 * MIB, bytes_: int = MIB, processes: int = 1, reason: str | None = None
) -> Story:
    """A process, or several, that is 90 % of the time in 320 calls, which return 320 MiB of a file."""
    story = Story(2.0).caller(
        "pread64", 320, cpu=5_600_000, blocked=300_000 if reason else 0, reason=reason, bytes_=bytes_,
        gap_share=0.1, ino=200,
    )  # fmt: skip
    for number, row in enumerate(story.tables["syscalls"]):
        row["tgid"] = 10 + number % processes
    return story.file(200, "/data/rows.h5", size)


def test_from_memory_it_computes(judged: Judge) -> None:
    """A column after the other of a file that is stored by rows: 20 times the same."""
    found = leads(judged(from_memory()), "read-again", 0.8, 0.9)
    said = links_of(found)
    of = said["read-again.from-memory"]
    assert tells(of, "320 MiB", "16 MiB") and "/data/rows.h5" in of
    assert fixes_of(found) == ["read-again.keep-in-memory"]
    assert found.gain == pytest.approx(found.share, abs=0.01)


def test_the_first_time_is_none_of_it(judged: Judge) -> None:
    leads(judged(from_memory(80 * MIB)), "read-again", 0.62, 0.7)


@pytest.mark.parametrize(
    "story",
    [
        lambda: from_memory(200 * MIB),
        # Each of 20 reads it once.
        lambda: from_memory(processes=20),
        # What the calls themselves take.
        lambda: from_memory(16 * KIB, bytes_=512),
        # Past the page cache.
        lambda: from_memory(reason="direct_io"),
        # Its size is not known.
        lambda: from_memory(0),
    ],
)
def test_not(judged: Judge, story: Callable[[], Story]) -> None:
    absent(judged(story()), "read-again")
