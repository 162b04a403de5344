"""read-again: processes that all read the same file."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, judge_with_rows, leads
from ..made import MIB, Row, job


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
