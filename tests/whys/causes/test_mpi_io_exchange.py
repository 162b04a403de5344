"""mpi-io-exchange: MPI-IO takes longer than the filesystem."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, fixes_of, judge_with_rows, leads
from ..made import KIB, MIB, Row, job


def calls(filesystem_s: float, kind: str = "collective_count") -> dict[str, list[Row]]:
    """64 processes are in MPI-IO for 80 s, to write 512 KiB at a time."""
    bytes_ = 512 * KIB * 64_000
    posix: Row = {
        "write_count": 32_000,
        "sized_writes": 32_000,
        "sequential_writes": 32_000,
        "written_bytes": bytes_,
        "write_s": 16 * filesystem_s,
        "slowest_s": filesystem_s,
        "unaligned_count": 16_000,
        "alignment_bytes": MIB,
    }
    mpi: Row = {
        "write_count": 64_000,
        kind: 64_000,
        "written_bytes": bytes_,
        "write_s": 64 * 80,
        "slowest_s": 80,
    }
    return {"POSIX": [posix], "MPI-IO": [mpi]}  # fmt: skip


def test_collective_calls_of_small_pieces(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", calls(20))), "mpi-io-exchange", 0.59, 0.61)
    assert tells(chain(found), "64,000", "512 KiB") and tells(chain(found), "50 %", "1 MiB")
    assert 0.29 < found.gain < 0.31
    assert fixes_of(found)[0] == "mpi-io-exchange.larger-calls"


def test_independent_calls(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", calls(20, "independent_count"))), "mpi-io-exchange", 0.59, 0.61)  # fmt: skip
    assert "collective calls" in found.fixes[0].do and "Make fewer" not in found.fixes[0].do


def test_not_where_the_filesystem_takes_it(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", calls(77))), "mpi-io-exchange")
