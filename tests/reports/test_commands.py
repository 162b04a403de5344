"""`iowhy report` and `iowhy sql`: formats, messages, and that nothing can be changed."""

import io
import json
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from iowhy.errors import Problem
from iowhy.messages import without_controls
from iowhy.recordings import Recording
from iowhy.reports import reports
from tests.command_line import invoke
from tests.numbers_told import tells
from tests.problems import wrong
from tests.reports.conftest import MS, Make, call, file
from tests.reports.in_files import make

__all__ = ["make"]


def iowhy(*words: object, stdin: str | None = None) -> str:
    result = invoke([str(word) for word in words], input=stdin, env={"NO_COLOR": "1"})
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture
def rec(make: Make) -> Recording:
    evil = "/srv/\x1b]0;owned\x07\x1b[31mred\u202e.db"
    return make(
        {
            "files": [file(2, "/srv/" + "long/" * 40 + "a.db"), file(3, evil)],
            "syscalls": [
                call(i * MS, 1000 + i, "read", ino=2 + i % 2, ret=4096) for i in range(100)
            ],
        }
    )


def test_list(rec: Recording) -> None:
    for listed in (iowhy("report"), iowhy("report", rec.path)):
        for name, known in reports().items():
            assert name in listed
            assert known.question in listed
    assert {row["name"] for row in json.loads(iowhy("report", "--json"))["rows"]} == set(reports())


def test_tables_fit_and_are_safe(rec: Recording) -> None:
    for name in reports():
        out = iowhy("report", name, rec.path)
        assert "\x1b" not in out
        assert "\u202e" not in out
        table = [line for line in out.splitlines() if line.startswith("  ")]
        assert table
        assert all(len(line) <= 100 for line in table if "columns" not in line), name
    assert "60 more rows: --limit 0 shows all" in iowhy("report", "events", rec.path)
    every = iowhy("report", "events", rec.path, "--limit", "0").splitlines()
    assert sum(line.startswith("  ") for line in every) >= 100


def test_formats_carry_the_same_rows(rec: Recording, tmp_path: Path) -> None:
    as_json = json.loads(iowhy("report", "files", rec.path, "--json"))
    assert (as_json["version"], as_json["report"]) == (1, "files")
    assert {
        "name": "time_ns",
        "type": "int64",
        "unit": "ns",
        "meaning": "their durations",
    } in as_json["columns"]
    out = tmp_path / "files.parquet"
    iowhy("report", "files", rec.path, "--format", "parquet", "-o", out)
    table = pq.read_table(out)
    assert table.to_pylist() == as_json["rows"]
    told = json.loads(table.schema.metadata[b"columns"])
    assert told["time_ns"] == {"unit": "ns", "meaning": "their durations"}
    assert table.schema.metadata[b"report"] == b"files"
    text = iowhy("report", "files", rec.path, "--format", "csv")
    read = pyarrow.csv.read_csv(io.BytesIO(text.encode())).to_pylist()
    assert [row["time_ns"] for row in read] == [row["time_ns"] for row in as_json["rows"]]
    # A terminal that shows the file obeys no name.
    assert [row["path"] for row in read] == [
        without_controls(row["path"]) for row in as_json["rows"]
    ]
    assert text.replace("\n", "").isprintable()


@pytest.mark.parametrize("name", ["syscalls", "sync", "budget", "layout"])
def test_the_sql_shown_is_the_sql_run(rec: Recording, name: str) -> None:
    chosen = ["--file", "*a.db"] if name == "layout" else ["--since", "3ms"]
    statement = iowhy("report", name, rec.path, "--sql", *chosen)
    shown = json.loads(iowhy("sql", rec.path, "-", "--json", stdin=statement))
    assert shown["rows"] == json.loads(iowhy("report", name, rec.path, "--json", *chosen))["rows"]


def test_sql(rec: Recording) -> None:
    query = "SELECT kind, count(*) AS n FROM syscalls JOIN call_kinds USING (name) GROUP BY kind"
    assert iowhy("sql", rec.path, query, "--format", "csv") == "kind,n\nread,100\n"
    assert "dur_ns" in iowhy("sql", rec.path, "DESCRIBE syscalls")
    odd = iowhy("sql", rec.path, "SELECT [1, NULL] AS a, CAST('inf' AS DOUBLE) AS b", "--json")
    assert json.loads(odd)["rows"] == [{"a": [1, None], "b": None}]


@pytest.mark.parametrize(
    "statement",
    [
        "COPY (SELECT 1 AS a) TO '{own}'",
        "EXPLAIN ANALYZE COPY (SELECT 1 AS a) TO '{own}'",
        "COPY syscalls TO '{other}'",
        "ATTACH '{other}'",
        "CREATE TABLE t AS SELECT 1",
        "SET enable_external_access = true",
        "INSTALL httpfs",
        "PRAGMA version",
        "SELECT 1; COPY (SELECT 1) TO '{own}'",
        "SELECT * FROM read_text('/etc/hostname')",
        "SELECT * FROM glob('/etc/*')",
        "SELECT * FROM '{other}'",
        "SELECT * FROM read_parquet('{other}')",
        "SELECT getenv('HOME')",
        "SELEC 1",
        "",
    ],
)
def test_sql_reads_this_recording_only(rec: Recording, tmp_path: Path, statement: str) -> None:
    own = rec.files("syscalls")[0]
    other = tmp_path / "other.parquet"
    pq.write_table(pq.read_table(own), other)
    before = (own.read_bytes(), other.read_bytes(), sorted(tmp_path.rglob("*")))
    with pytest.raises(Problem) as raised:
        iowhy("sql", rec.path, statement.format(own=own, other=other))
    assert "\n" not in str(raised.value)
    assert (own.read_bytes(), other.read_bytes(), sorted(tmp_path.rglob("*"))) == before


@pytest.mark.parametrize(
    ("words", "id_", "values"),
    [
        (["report", "syscalls"], "report-of-what", {"name": "syscalls"}),
        (["report", "nope", "REC"], "no-such-report-known", {"name": "nope"}),
        (["report", "/nope.iowhy"], "recording-not-found", {"path": "/nope.iowhy"}),
        (
            ["report", "syscalls", "REC", "--format", "yaml"],
            "not-a-choice",
            {"called": "--format", "given": "yaml"},
        ),
        (
            ["report", "syscalls", "REC", "--limit", "-1"],
            "below-least",
            {"called": "--limit", "given": -1, "least": 0},
        ),
        (
            ["report", "syscalls", "REC", "-o", "/nope/x.csv", "--format", "csv"],
            "no-directory",
            {"path": "/nope/x.csv"},
        ),
        (["report", "syscalls", "REC", "-o", "/nope/x.csv"], "table-is-for-terminals", {}),
        (
            ["sql", "REC", "SELECT 1", "--format", "xml"],
            "not-a-choice",
            {"called": "--format", "given": "xml"},
        ),
    ],
)
def test_messages(rec: Recording, words: list[str], id_: str, values: dict[str, object]) -> None:
    with wrong(id_, **values):
        iowhy(*[rec.path if word == "REC" else word for word in words])


def test_times_with_a_zone_are_texts_and_the_object_is_whole(rec: Recording) -> None:
    asked = "SELECT now() AS t, [now()] AS l, now() AS t, 7 AS n -- at night"
    found = json.loads(iowhy("sql", rec.path, asked, "--json"))
    (row,) = found["rows"]
    assert [one["type"] for one in found["columns"]] == ["string"] * 3 + ["int32"]
    assert row["n"] == 7 and row["t"] == row["t_1"] and row["t"] in row["l"]


def test_what_cannot_be_read_leaves_no_half_of_an_object(rec: Recording) -> None:
    for form in ("json", "csv"):
        done = invoke(["sql", str(rec.path), "SELECT CAST(path AS INT) FROM files", "-f", form])
        assert isinstance(done.exception, Problem) and (form == "csv" or done.stdout == "")


def test_a_report_says_what_its_tables_lost_and_no_other(rec: Recording) -> None:
    path = rec.path / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["tables"]["syscalls"]["lost"] = 3_300_000
    manifest["tables"]["journal_commits"] = {"kept": 0, "lost": 5}
    path.write_text(json.dumps(manifest))
    place = str(rec.path)
    for words in (
        ["report", "syscalls", place],
        ["report", "syscalls", place, "--json"],
        ["sql", place, "SELECT count(*) FROM syscalls"],
    ):
        said = invoke(words).stderr
        assert tells(said, "3,300,000", "syscalls") and "journal_commits" not in said, words
    assert "lost" not in invoke(["report", "devices", place]).stderr
