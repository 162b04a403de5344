"""The report files: headers, a user's own, units, the page that is made from them."""

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.recordings import open_recording
from iowhy.reports import find, reports, run
from iowhy.reports.document import document, pictures_in
from iowhy.reports.engine import query
from iowhy.reports.report import built_in, parse
from tests.problems import wrong
from tests.reports.conftest import MS, Make, call
from tests.reports.in_files import make

__all__ = ["make"]

HEADER = "-- title: T\n-- question: Q?\n"


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    folder = tmp_path / "config" / "iowhy" / "reports"
    folder.mkdir(parents=True)
    return folder


@pytest.mark.parametrize("name", sorted(built_in()))
def test_headers_describe_exactly_the_columns(name: str, make: Make) -> None:
    report = built_in()[name]
    assert run(make({}), report).column_names == [column.name for column in report.columns]
    assert report.question.rstrip(")").endswith(("?", "too"))
    assert report.stands_in_for
    for column in report.columns:
        suffix = re.search(r"_(ns|bytes|bytes_per_s|per_s|share|pages|s)$", column.name)
        if suffix:
            unit = {"bytes_per_s": "bytes/s", "per_s": "1/s"}.get(suffix[1], suffix[1])
            assert column.unit == unit, column.name


def test_the_page_is_current() -> None:
    page = Path(__file__).parents[2] / "docs" / "reports.md"
    assert page.read_text("utf-8") == document(pictures_in(page.parent)), "make docs"


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("SELECT 1", "header-key-missing", {"key": "title"}),
        ("-- title: T\nSELECT 1", "header-key-missing", {"key": "question"}),
        (HEADER, "report-without-sql", {}),
        (
            HEADER + "-- title: again\nSELECT 1",
            "header-key-twice",
            {"here": "x.sql:3", "key": "title"},
        ),
        ("-- title:\nSELECT 1", "header-key-empty", {"here": "x.sql:1", "key": "title"}),
        (
            HEADER + "-- column a: how long\nSELECT 1 AS a",
            "header-column-wrong",
            {"where": "x.sql:3"},
        ),
        (
            HEADER + "-- column a: how long, furlongs\nSELECT 1 AS a",
            "unit-unknown",
            {"unit": "furlongs"},
        ),
        (
            HEADER + "-- column a: x, ns\n-- column a: y, ns\nSELECT 1",
            "column-described-twice",
            {"here": "x.sql:4", "name": "a"},
        ),
        (HEADER + "-- filters: since colour\nSELECT 1", "filter-unknown", {"word": "colour"}),
    ],
)
def test_bad_headers(text: str, id_: str, values: dict[str, object]) -> None:
    with wrong(id_, **values):
        parse("x", text, "x.sql")


def test_a_column_without_a_colon_is_a_note() -> None:
    assert parse("x", HEADER + "-- column a, ns\nSELECT 1 AS a", "x.sql").sql == "SELECT 1 AS a"


@given(st.text(max_size=200))
def test_any_text_is_a_report_or_a_problem(text: str) -> None:
    try:
        parse("x", HEADER + text, "x.sql")
    except Problem as problem:
        assert str(problem).startswith("x.sql")


def test_a_users_own_report(own: Path, make: Make) -> None:
    (own / "slow-reads.sql").write_text(
        HEADER + "-- column dur_ns: duration, ns\n\nSELECT dur_ns FROM syscalls\n"
        "WHERE name IN (SELECT name FROM call_kinds WHERE kind = 'read') ORDER BY 1;\n"
    )
    (own / "recursive.sql").write_text(
        HEADER + "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3)\n"
        "SELECT i, elapsed_ns FROM n CROSS JOIN recording ORDER BY i\n"
    )
    rec = make({"syscalls": [call(0, 5, "read"), call(9, 3, "pread64"), call(20, 9, "write")]})
    assert run(rec, "slow-reads").column("dur_ns") == [3, 5]
    assert run(rec, "recursive").column("i") == [1, 2, 3]
    assert run(rec, "recursive").column("elapsed_ns") == [1000 * MS] * 3
    assert find("slow-reads").unit("dur_ns") == "ns"


@pytest.mark.parametrize(
    ("name", "text", "id_"),
    [
        ("bad name.sql", HEADER + "SELECT 1", "report-name-wrong"),
        ("notes.sql", "hello", "header-key-missing"),
        ("latin.sql", b"-- title: \xe4", "report-not-text"),
        ("big.sql", b"-" * (1 << 20) + b"-", "report-too-large"),
    ],
)
def test_bad_report_files(own: Path, name: str, text: str | bytes, id_: str) -> None:
    (own / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    with wrong(id_) as raised:
        reports()
    assert os.fspath(own / name) in str(raised.value)


@pytest.mark.parametrize(
    ("sql", "id_", "error"),
    [
        ("SELEC 1", "sql-wrong", "syntax error"),
        ("SELECT nope FROM syscalls", "sql-wrong", "nope"),
        ("SELECT 1; SELECT 2", "not-one-select", ""),
        ("DROP VIEW syscalls", "not-one-select", ""),
        ("SELECT * FROM read_text('/etc/hostname')", "sql-wrong", "/etc/hostname"),
    ],
)
def test_a_report_that_does_not_run(own: Path, make: Make, sql: str, id_: str, error: str) -> None:
    (own / "mine.sql").write_text(HEADER + sql)
    with wrong(id_, where=own / "mine.sql") as raised:
        run(make({}), "mine")
    assert error in str(raised.value.sentence.values.get("error", ""))


def test_no_such_report(make: Make) -> None:
    with wrong("no-such-report-known", name="nope"):
        run(make({}), "nope")


def test_an_interrupted_recording_ends_with_its_last_event(make: Make) -> None:
    """Killed recorder: the manifest has no end; rates are over the time that was seen."""
    rec = make({"syscalls": [call(0, 5, "read"), call(2000 * MS, 5, "read")]})
    command = replace(rec.manifest.command, end_ns=None)
    manifest = replace(rec.manifest, complete=False, command=command)
    (rec.path / "manifest.json").write_text(manifest.as_json())
    row = query(open_recording(rec.path), "SELECT elapsed_ns FROM recording").to_pylist()
    assert row == [{"elapsed_ns": 2000 * MS + 5}]
