"""How the tables of a recording are opened: the columns of all by one question."""

import pytest

from benchmarks.generated import generate
from iowhy.recordings import Recording
from iowhy.recordings.open_tables import OpenTables, _outermost


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
