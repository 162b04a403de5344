"""How the tables of a recording are opened: columns told by one question, a connection made ahead."""

from pathlib import Path

import pytest

from benchmarks.generated import generate
from iowhy.recording import Recording, database
from iowhy.recording.open_tables import OpenTables, _outermost


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return generate(tmp_path_factory.mktemp("generated") / "small.iowhy", 50)


def test_one_question_tells_what_describe_tells_of_each_table(recording: Recording) -> None:
    opened = recording.open_tables()
    try:
        asked = 0
        for name, files in opened._files.items():
            if files:
                asked += 1
                described = opened._described(name, f"read_parquet(['{files[0]}'])")
                assert opened._columns[files[0]] == described
        assert asked > 20
    finally:
        opened.close()


def test_no_table_is_described_by_itself(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenTables, "_described", lambda *_: pytest.fail("was described"))
    opened = recording.open_tables()
    try:
        opened.need([name for name, files in opened._files.items() if files], loaded=True)
    finally:
        opened.close()


def test_columns_are_those_at_the_top() -> None:
    elements = [
        ("schema", "", 4),
        ("a", "BIGINT", 0),
        ("flags", "VARCHAR[]", 1),
        ("list", "VARCHAR[]", 1),
        ("element", "VARCHAR", 0),
        ("pair", "STRUCT", 2),
        ("x", "BIGINT", 0),
        ("y", "BIGINT", 0),
        ("b", "DOUBLE", 0),
    ]
    assert _outermost(elements) == {
        "a": "BIGINT",
        "flags": "VARCHAR[]",
        "pair": "STRUCT",
        "b": "DOUBLE",
    }


def test_a_connection_that_was_made_ahead_is_taken_once() -> None:
    database.connect_ahead()
    (ahead,) = database._made
    database.connect_ahead()
    assert database._made == [ahead]
    first, second = database.connect(), database.connect()
    assert first is ahead
    assert second is not ahead
    second.execute("CREATE TABLE t AS SELECT 1")
    assert first.execute("FROM duckdb_tables()").fetchall() == []


def test_a_recording_is_asked_at_once_where_nothing_is_kept_since_it_was_made(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from iowhy.cli.why import _is_first

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert _is_first(recording.path)
    assert not _is_first(recording.path / "nothing")
    (tmp_path / "iowhy").mkdir(mode=0o700)
    (tmp_path / "iowhy" / "kept.json").write_text("{}")
    assert not _is_first(recording.path)
