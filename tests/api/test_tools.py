"""What an agent may ask by `iowhy mcp`: the same answers, no more rows than are said."""

import json
import sys
from pathlib import Path

import pytest

import iowhy
from iowhy.mcp import tools, truncate
from tests.command_line import invoke
from tests.expect.test_expectations import syncing
from tests.numbers_told import tells
from tests.problems import asks, wrong


@pytest.fixture
def rec(tmp_path: Path) -> str:
    return str(syncing(300).write(tmp_path / "made.iowhy").path)


def test_rows_are_capped_and_said_to_be(rec: str) -> None:
    text = "SELECT ts_ns, name FROM syscalls ORDER BY ts_ns"
    found = tools.sql(rec, text)
    assert (len(found["rows"]), found["more"]) == (50, True)
    assert len(tools.sql(rec, text, limit=10_000)["rows"]) == tools.MOST_ROWS
    assert tools.sql(rec, "SELECT 1 AS one;") == {
        "columns": ["one"],
        "rows": [{"one": 1}],
        "more": False,
    }
    events = tools.report(rec, "events", limit=3)
    assert len(events["rows"]) == 3 and events["rows_in_all"] >= 300
    assert {row["column_name"] for row in tools.sql(rec, "DESCRIBE syscalls")["rows"]} >= {"name"}


def test_answers_are_bounded_in_bytes_and_say_so(rec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    long = f"SELECT repeat('é', {truncate.CELL_CHARACTERS}) AS text FROM range(200)"
    found = tools.sql(rec, long, limit=200)
    kept = len(found["rows"])
    assert 0 < kept < 200 and found["more"] is False
    assert tells(found["cut"], f"{kept}", "200", "256 KiB")
    assert len(json.dumps(found["rows"], ensure_ascii=False).encode()) <= truncate.MOST_BYTES
    assert found["rows"][0]["text"] == "é" * truncate.CELL_CHARACTERS
    # Also what does not begin with SELECT.
    listed = tools.sql(rec, "-- all of them\n(FROM range(1000))", limit=3)
    assert (len(listed["rows"]), listed["more"]) == (3, True)
    monkeypatch.setattr(truncate, "CELL_CHARACTERS", 3)
    texts = [row["name"] for row in tools.report(rec, "syscalls")["rows"]]
    assert texts and all(text.endswith(" characters)") for text in texts)
    monkeypatch.setattr(truncate, "MOST_BYTES", 1 << 10)
    with wrong("answer-too-large", most_bytes=1):
        tools.verdict(rec)


@pytest.mark.parametrize("limit", [-1, 0])
def test_a_limit_that_gives_no_row_is_refused(rec: str, limit: int) -> None:
    for ask in (
        lambda: tools.sql(rec, "SELECT 1", limit),
        lambda: tools.report(rec, "events", limit=limit),
    ):
        with wrong("limit-out-of-range", limit=limit, most_rows=200):
            ask()


def test_answers_are_those_of_the_command_line(rec: str) -> None:
    assert json.loads(invoke(["why", rec, "--json"]).stdout) == json.loads(
        json.dumps(tools.verdict(rec))
    )
    listed = json.loads(invoke(["report", "--list", "--json"]).stdout)["rows"]
    assert [one["name"] for one in tools.reports()] == [one["name"] for one in listed]
    assert tools.compare(rec, rec)[0]["slower"]["value"] == 1.0


def test_each_tool_says_what_it_does_and_none_writes(rec: str) -> None:
    assert len(tools.TOOLS) == 6 and all(tool.__doc__ for tool in tools.TOOLS)
    for text in (
        "COPY syscalls TO 'x'",
        "SELECT * FROM '/etc/passwd'",
        "SELECT 1) ; DROP TABLE x; --",
    ):
        with pytest.raises(iowhy.Problem):
            tools.sql(rec, text)


def test_without_the_sdk_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    # What of it was imported by another test would be found without it.
    for name in [one for one in sys.modules if one == "mcp" or one.startswith("mcp.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "mcp", None)
    asks(invoke(["mcp"]).exception, "mcp-sdk-missing")
