"""A recording goes out and comes back whole; a damaged or hostile one is one clear error."""

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.errors import Problem
from iowhy.recordings import open_recording
from iowhy.recordings.check import check_recording
from iowhy.recordings.document import document
from iowhy.recordings.manifest import Kept, Manifest, Sensor, read_manifest
from iowhy.recordings.schema import Column, tables
from iowhy.recordings.writer import write_recording
from iowhy.watching.asked import Asked
from iowhy.watching.looking import Looking
from tests.examples import costly
from tests.numbers_told import tells
from tests.problems import wrong

CALL = {"ts_ns": 5, "dur_ns": 2, "tgid": 1, "tid": 1, "name": "read"}
DOCS = Path(__file__).parents[2] / "docs"


def made(path: Path, **rows: object) -> Path:
    write_recording(path, Manifest.made(argv=["x"], start_ns=0, end_ns=10**9), rows)  # type: ignore[arg-type]
    return path


def value(column: Column) -> st.SearchStrategy[object]:
    integer = st.integers(-(2**63), 2**63 - 1)
    by_type = {
        "int": integer,
        "float": st.floats(allow_nan=False),
        "bool": st.booleans(),
        "text": st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
        "ints": st.lists(integer, max_size=3),
        "texts": st.lists(
            st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=3
        ),
    }[column.type]
    return st.none() | by_type if column.null else by_type


@costly(8)
@given(st.data())
def test_every_table_comes_back_as_it_was_written(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    table = data.draw(st.sampled_from(list(tables().values())))
    row = st.fixed_dictionaries({c.name: value(c) for c in table.columns})
    rows = data.draw(st.lists(row, min_size=1, max_size=5))
    path = tmp_path_factory.mktemp("r") / "a.iowhy"
    recording = write_recording(path, Manifest.made(), {table.name: rows})
    with recording.connected() as connection:
        back = connection.sql(f"SELECT * FROM {table.name}").to_arrow_table().to_pylist()
    assert back == rows
    assert recording.manifest.tables[table.name] == Kept(len(rows), 0)


def test_a_table_without_files_is_empty_and_typed(tmp_path: Path) -> None:
    with open_recording(made(tmp_path / "a.iowhy")).connected() as connection:
        for table in tables().values():
            found = connection.execute(f"DESCRIBE {table.name}").fetchall()
            assert [(row[0], row[1]) for row in found] == [
                (c.name, c.sql_type) for c in table.columns
            ]


@pytest.mark.parametrize(
    ("table", "rows", "id_", "values"),
    [
        ("nonsense", [], "no-such-table", {}),
        ("syscalls", [{**CALL, "colour": 1}], "no-such-column", {"unknown": "colour"}),
        ("syscalls", [{"ts_ns": 1}], "value-missing", {"column": "dur_ns"}),
        ("syscalls", [{**CALL, "dur_ns": "long"}], "column-value-wrong", {"column": "dur_ns"}),
        ("syscalls", [{**CALL, "dur_ns": 2**70}], "column-value-wrong", {"column": "dur_ns"}),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(
    tmp_path: Path,
    table: str,
    rows: list[dict[str, object]],
    id_: str,
    values: dict[str, object],
) -> None:
    with wrong(id_, name=table, **values):
        write_recording(tmp_path / "a.iowhy", Manifest.made(), {table: rows})
    assert list(tmp_path.iterdir()) == []


def test_a_recording_is_never_written_over(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL])
    with wrong("recording-exists", path=path):
        made(path)


@pytest.mark.parametrize(
    ("text", "id_", "why"),
    [
        ("", "not-json", None),
        ("[1]", "path-error", "Expected `object`"),
        ("{}", "other-schema", None),
        ('{"schema": 7}', "other-schema", "7"),
        ('{"schema": 1, "host": 3}', "path-error", "`object`, got `int` - at `$.host`"),
        ('{"schema": 1, "command": {"start_ns": "now"}}', "path-error", "`int | null`, got `str`"),
        ('{"schema": 1, "command": {"start_ns": 1e3}}', "path-error", "got `float`"),
        (
            '{"schema": 1, "command": {"argv": [1]}}',
            "path-error",
            "`str`, got `int` - at `$.command.argv[0]`",
        ),
        ('{"schema": 1, "sensors": [{"ran": true}]}', "path-error", "required field `name`"),
        (
            '{"schema": 1, "tables": {"waits": {"kept": 99999999999999999999}}}',
            "path-error",
            "9223372036854775807",
        ),
        ("[" * 100_000, "path-error", "Expected `object`"),
        ('{"schema": 1, "host": ' + "[" * 100_000, "not-json", None),
    ],
)
def test_a_damaged_manifest_is_one_clear_error(
    tmp_path: Path, text: str, id_: str, why: str | None
) -> None:
    path = made(tmp_path / "a.iowhy")
    (path / "manifest.json").write_text(text)
    with wrong(id_, path=path / "manifest.json") as caught:
        open_recording(path)
    values = caught.value.sentence.values
    assert why is None or why in str(values.get("error", values.get("version")))


@costly(8)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(),
        lambda c: (
            st.lists(c, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    ["schema", "host", "command", "argv", "tables", "sensors", "kept", "name"]
                ),
                c,
                max_size=4,
            )
        ),
        max_leaves=12,
    )
)
def test_no_manifest_raises_anything_but_a_problem(
    tmp_path_factory: pytest.TempPathFactory, loaded: object
) -> None:
    path = tmp_path_factory.mktemp("m") / "manifest.json"
    if isinstance(loaded, dict):
        loaded = {**loaded, "schema": 1}
    path.write_text(json.dumps(loaded))
    try:
        read_manifest(path)
    except Problem as problem:
        assert str(path) in str(problem)


def test_a_manifest_comes_back_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest.made(
        argv=["a b", "\\xff"],
        start_ns=1,
        end_ns=2,
        sensors=["syscalls", Sensor("waits", False, "no")],
    )
    (tmp_path / "manifest.json").write_text(manifest.as_json())
    assert read_manifest(tmp_path / "manifest.json") == manifest


def test_damage_is_named_by_file(tmp_path: Path) -> None:
    thread = {"ts_ns": 1, "interval_ns": 1, "tgid": 1, "tid": 1}
    spent = {f"{name}_ns": 0 for name in ("cpu_user", "cpu_kernel", "blocked", "sleeping")}
    whole = {"thread_time": [{**thread, **spent, "runnable_ns": 0}]}
    path = made(tmp_path / "a.iowhy", syscalls=[CALL], **whole)
    file = path / "syscalls" / "000001.parquet"
    file.write_bytes(file.read_bytes()[:100])
    with wrong("file-damaged", path=file):
        open_recording(path).connection()
    bad = [c for c in check_recording(open_recording(path)) if not c.ok]
    assert [c.subject for c in bad] == ["syscalls/000001.parquet"]


def test_a_column_of_another_type_is_refused(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL])
    table = pa.table({**{k: [v] for k, v in CALL.items()}, "ts_ns": ["x"]})
    pq.write_table(table, path / "syscalls" / "000001.parquet")
    with wrong("column-of-another-type", name="ts_ns", have="VARCHAR"):
        open_recording(path).connection()


def test_check_tells_a_wrong_count_and_a_wrong_clock(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL, {**CALL, "ts_ns": 10**15}])
    (path / "syscalls" / "000002.parquet").write_bytes(
        (path / "syscalls" / "000001.parquet").read_bytes()
    )
    count, clock = sorted(c.found for c in check_recording(open_recording(path)) if not c.ok)[::-1]
    assert tells(count, "4 rows", "2") and tells(clock, "2 rows")


def test_sql_reaches_this_recording_and_nothing_else(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL])
    other = tmp_path / "secret.csv"
    other.write_text("a\n1\n")
    (path / "waits").mkdir()
    (path / "waits" / "000001.parquet").symlink_to(other)
    with open_recording(path).connected() as connection:
        assert connection.execute("SELECT count(*) FROM waits").fetchone() == (0,)
        for statement in (
            f"SELECT * FROM read_csv('{other}')",
            f"COPY (SELECT 1) TO '{tmp_path}/out.csv'",
            f"COPY (SELECT 1) TO '{path}/out.csv'",
            f"ATTACH '{tmp_path}/x.db'",
            "SET enable_external_access = true",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(statement)


def test_the_page_of_the_schema_is_current() -> None:
    assert (DOCS / "recording.md").read_text() == document(), "run make docs"


def test_a_recording_that_goes_while_it_is_read_is_said_to_have_gone(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL])
    looks = Looking(path).look(Asked(), None)
    assert next(looks).moment is not None
    path.rename(tmp_path / "b.iowhy")
    *_, last = looks
    assert last.problem.startswith(f"{path}: ")


def test_a_file_that_goes_while_its_recording_is_read_is_named(tmp_path: Path) -> None:
    path = made(tmp_path / "a.iowhy", syscalls=[CALL])
    recording = open_recording(path)
    file = recording.files("syscalls")[0]
    with wrong("removed-while-read", what=file), recording.opened() as opened:
        file.unlink()
        _ = opened.sizes
