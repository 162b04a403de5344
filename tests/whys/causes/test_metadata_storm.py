"""metadata-storm: a job that opens files for much of its time."""

from pathlib import Path

from tests.numbers_told import tells

from ..conftest import absent, chain, fixes_of, judge_with_rows, leads
from ..made import Row, job


def opens(seconds: float, count: int, **more: float) -> dict[str, list[Row]]:
    """64 processes that open a file together, the slowest one of them for so long."""
    row: Row = {
        "open_count": count,
        "stat_count": 10,
        "metadata_s": 64 * seconds,
        "slowest_s": seconds,
    }
    return {"POSIX": [{**row, **more}]}  # fmt: skip


def test_all_processes_open_one_file(tmp_path: Path) -> None:
    found = leads(
        judge_with_rows(job(tmp_path / "a", opens(40, 640))), "metadata-storm", 0.39, 0.41
    )
    assert tells(chain(found), "64", "1", "640", "10")
    assert fixes_of(found)[0] == "metadata-storm.open-once" and found.gain > 0.39  # fmt: skip


def test_many_files_are_opened_once(tmp_path: Path) -> None:
    rows: list[Row] = [
        {"id": at, "rank": 0, "open_count": 1, "metadata_s": 0.01} for at in range(3000)
    ]
    found = leads(
        judge_with_rows(job(tmp_path / "a", {"POSIX": rows})), "metadata-storm", 0.29, 0.31
    )
    assert found.gain < 0.2 and fixes_of(found)[0] == "metadata-storm.one-file"  # fmt: skip


def test_not_for_a_few_seconds_nor_a_pipe(tmp_path: Path) -> None:
    absent(judge_with_rows(job(tmp_path / "a", opens(4, 640))), "metadata-storm")
    pipe: list[Row] = [{"rank": 0, "open_count": 1, "metadata_s": 90}]
    absent(judge_with_rows(job(tmp_path / "b", {"POSIX": pipe})), "metadata-storm")
