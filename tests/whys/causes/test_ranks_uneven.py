"""ranks-uneven: one process reads and writes for all, or one is late."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, fixes_of, judge_with_rows, leads
from ..made import MIB, Row, job


def files(late_s: float, bytes_: float = 256 * MIB) -> dict[str, list[Row]]:
    """Each process writes a file of 256 MiB for 10 s, one of them another amount for longer."""
    row: Row = {
        "write_count": 64,
        "sized_writes": 64,
        "sequential_writes": 64,
        "written_bytes": 256 * MIB,
        "write_s": 10,
    }
    rows: list[Row] = [{**row, "id": rank + 10, "rank": rank} for rank in range(64)]
    rows[7] |= {"write_s": late_s, "written_bytes": bytes_}
    return {"POSIX": rows}  # fmt: skip


def test_a_slow_server(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", files(80), servers={17: [14]})), "ranks-uneven", 0.69, 0.71)  # fmt: skip
    assert "OST 14" in found.summary and "process 7" in found.summary
    assert tells(chain(found), "7", "80 s", "10 s") and found.gain > 0.69


def test_a_process_with_more_to_write(tmp_path: Path) -> None:
    found = leads(judge_with_rows(job(tmp_path / "a", files(80, 2048 * MIB))), "ranks-uneven", 0.69, 0.71)  # fmt: skip
    assert fixes_of(found)[0] == "ranks-uneven.even-shares"


def test_one_process_for_all(tmp_path: Path) -> None:
    one = {"POSIX": files(80)["POSIX"][7:8]}
    found = leads(judge_with_rows(job(tmp_path / "a", one)), "ranks-uneven", 0.79, 0.81)
    assert tells(chain(found), "1", "64") and 0.39 < found.gain < 0.41


def test_not_where_all_take_part(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", files(19))), "ranks-uneven")
    one = {"POSIX": files(80)["POSIX"][7:8]}
    absent(judge_with_rows(job(tmp_path / "b", one, processes=3)), "ranks-uneven")
