"""stripes-few: a shared file on one server."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, finding, judge_with_rows, leads
from ..made import GIB, Row, job


def written(bytes_: float = 40 * GIB) -> dict[str, list[Row]]:
    """64 processes are in a collective write for 80 s; one of them writes for 60 of these."""
    posix: Row = {
        "write_count": 40_000,
        "sized_writes": 40_000,
        "written_bytes": bytes_,
        "write_s": 66,
        "slowest_s": 60,
        "sequential_writes": 40_000,
    }
    mpi: Row = {
        "write_count": 6_400,
        "collective_count": 6_400,
        "written_bytes": bytes_,
        "write_s": 64 * 80,
        "slowest_s": 80,
    }
    return {"POSIX": [posix], "MPI-IO": [mpi]}  # fmt: skip


def test_one_stripe_and_one_writer(tmp_path: Path) -> None:
    verdict = judge_with_rows(job(tmp_path / "a", written(), servers={1: [7]}))
    found = leads(verdict, "stripes-few", 0.79, 0.81)
    assert tells(chain(found), "1", "64") and tells(chain(found), "80 s", "40 GiB")
    assert "lfs migrate -c 8 /scratch/run" in found.fixes[0].do and found.gain < 0.41
    assert finding(verdict, "ranks-uneven") is None


def test_not_many_stripes_small_files_or_files_of_one_process(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", written(), servers={1: [7, 8, 9]})), "stripes-few")
    absent(judge_with_rows(job(tmp_path / "b", written(1e6), servers={1: [7]})), "stripes-few")
    own = {name: [{**row, "rank": 3} for row in rows] for name, rows in written().items()}
    absent(judge_with_rows(job(tmp_path / "c", own, servers={1: [7]})), "stripes-few")
    absent(judge_with_rows(job(tmp_path / "d", written(), servers={1: [7]}, processes=3)), "stripes-few")  # fmt: skip
