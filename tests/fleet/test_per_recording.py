"""A report over many recordings is the rows of each of them alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlglot

from iowhy.fleet.asking import Question, fleet_result
from iowhy.fleet.members import LeftOut
from iowhy.fleet.per_recording import per_recording
from iowhy.recordings import Recording
from iowhy.reports import Filters, reports, run
from iowhy.reports.spark import apart_from_tables
from tests.problems import wrong
from tests.reports.test_spark import key, same

Row = dict[str, Any]


def rows(
    name: str, paths: Sequence[Path], filters: Filters | None = None
) -> tuple[list[Row], LeftOut]:
    """The rows of a report over a fleet, and what was left out."""
    left_out = LeftOut()
    with fleet_result(Question(name, filters or Filters()), paths, left_out) as result:
        return result.table().to_pylist(), left_out


def alone(recording: Recording, name: str, filters: Filters | None = None) -> list[tuple[Any, ...]]:
    """The rows of one recording, by the way that `iowhy report` takes."""
    return [tuple(row.values()) for row in run(recording, name, filters).to_pylist()]


def of(
    found: list[Row], recording: Recording, packed: Mapping[Path, Path] | None = None
) -> list[tuple[Any, ...]]:
    """The rows of one recording, or of that in a pack, among those of a fleet, without what stands in front."""
    path = str(packed[recording.path] if packed else recording.path)
    return [tuple(row.values())[3:] for row in found if row["recording"] == path]


def agree(mine: list[tuple[Any, ...]], expected: list[tuple[Any, ...]]) -> None:
    assert len(mine) == len(expected)
    for row, other in zip(sorted(mine, key=key), sorted(expected, key=key), strict=True):
        assert all(map(same, row, other)), (row, other)


#: Whose relations are computed in other ways where other things were recorded, or are made of no rows at all.
MIXED = ("files", "syscalls", "devices", "cache", "sync", "waits", "threads", "journal")


@pytest.mark.parametrize("name", sorted(reports().keys() - {"phases", "stalls", "memory-sizes"}))
def test_the_rows_are_those_of_each_recording_alone(
    name: str, fleet: list[Recording], packed: dict[Path, Path]
) -> None:
    """Of recordings that lie by themselves, and of the same in a pack."""
    fleet = fleet if name in MIXED else fleet[:2]
    paths = [one.path for one in fleet]
    found, left_out = rows(name, [*paths, *(packed[path] for path in paths)])
    assert not left_out.reasons
    assert found, "the fleet gives this report nothing to show"
    assert list(found[0])[:3] == ["host", "recording", "started"]
    for recording in fleet:
        expected = alone(recording, name)
        agree(of(found, recording), expected)
        agree(of(found, recording, packed), expected)


@pytest.mark.parametrize("name", ["phases", "memory-sizes"])
def test_what_is_computed_of_its_rows_is_of_one_recording(
    name: str, fleet: list[Recording]
) -> None:
    with wrong("phases-of-one-recording", name=name):
        rows(name, [fleet[0].path])


@pytest.mark.parametrize("name", ["events", "syscalls", "waits", "files"])
@pytest.mark.parametrize(
    "filters",
    [Filters(since="0.005", until="12ms"), Filters(pids=(1000,)), Filters(file="*-0000?.db")],
)
def test_filters_are_those_of_each_recording(
    name: str, filters: Filters, fleet: list[Recording], packed: dict[Path, Path]
) -> None:
    found, left_out = rows(name, [fleet[0].path, packed[fleet[1].path]], filters)
    assert found and not left_out.reasons
    agree(of(found, fleet[0]), alone(fleet[0], name, filters))
    agree(of(found, fleet[1], packed), alone(fleet[1], name, filters))


def test_rows_are_in_the_order_of_the_report(fleet: list[Recording]) -> None:
    found, _ = rows("files", [one.path for one in fleet])
    assert [row["recording"] for row in found] == sorted(row["recording"] for row in found)
    paths = [row["path"] for row in found if row["recording"] == str(fleet[0].path)]
    assert paths == [row["path"] for row in run(fleet[0], "files").to_pylist()]


def test_without_main_a_filtered_table_does_not_stand_for_the_recorded_one() -> None:
    sql = """WITH t AS (SELECT a FROM main.t WHERE a > 0),
        u AS (WITH t AS (SELECT a FROM main.t), v AS (SELECT a FROM t) SELECT a FROM v)
        SELECT (SELECT count(*) FROM t), (SELECT count(*) FROM u)"""
    asked = sqlglot.parse_one(sql, read="duckdb")
    apart_from_tables(asked)
    assert "main" not in asked.sql("duckdb")
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t AS FROM range(2) AS r(a)")
        assert connection.execute(asked.sql("duckdb")).fetchall() == [(1, 2)]


@pytest.mark.parametrize(
    ("sql", "what"),
    [
        ("SELECT a FROM t LIMIT 1", "LIMIT and OFFSET"),
        (
            "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.a = t.a)",
            "a subquery about rows outside it",
        ),
        ("SELECT t.a FROM t JOIN u USING (a)", "this kind of join"),
        ("SELECT a FROM elsewhere", "a table that no recording has"),
        ("SELECT * FROM read_csv('/etc/passwd')", "a function in FROM"),
    ],
)
def test_what_cannot_be_lifted_is_refused(sql: str, what: str) -> None:
    with wrong("sql-not-of-many", what=what):
        per_recording(sqlglot.parse_one(sql, read="duckdb"), {"t": True, "u": True})
