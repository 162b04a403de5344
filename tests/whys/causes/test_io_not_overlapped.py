"""io-not-overlapped: a job that computes and writes in turns."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, judge_with_rows, leads
from ..made import MIB, Row, job


def writes(seconds: float, **more: float) -> dict[str, list[Row]]:
    """64 processes write 8 MiB at a time, all for as long."""
    row: Row = {
        "write_count": 6_400,
        "sized_writes": 6_400,
        "sequential_writes": 6_400,
        "written_bytes": 8 * MIB * 6_400,
        "write_s": 64 * seconds,
        "slowest_s": seconds,
    }
    return {"POSIX": [row], "MPI-IO": [{**row, "collective_count": 6_400, **more}]}  # fmt: skip


def test_large_writes_that_wait(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", writes(75))), "io-not-overlapped", 0.74, 0.76)
    assert tells(chain(found), "75 %", "25 %") and tells(chain(found), "6,400", "8 MiB")
    assert 0.24 < found.gain < 0.26 and "MPI_File_iwrite_at_all" in found.fixes[0].do


def test_not_who_does_not_wait_or_has_nothing_else_to_do(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", writes(75, nonblocking_count=9))), "io-not-overlapped")  # fmt: skip
    absent(judge_with_rows(job(tmp_path / "b", writes(97))), "io-not-overlapped")
    absent(judge_with_rows(job(tmp_path / "c", writes(4))), "io-not-overlapped")
