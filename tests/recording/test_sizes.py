"""What is too large is one message before it is read; what is large is read in bounded memory."""

import os
import struct
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.large import SHAPES, Shape, generate_large
from iowhy.errors import Problem
from iowhy.recordings import open_recording, open_tables, sizes
from iowhy.recordings.check import check_recording
from iowhy.recordings.manifest import Manifest
from iowhy.recordings.schema import tables
from iowhy.recordings.sizes import FileSize, footers_must_be_bounded, must_be_bounded
from iowhy.relations import Relations, opened
from iowhy.relations import relations as defined
from iowhy.reports import find, run
from tests.problems import wrong

WHOLE = 1 << 30


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "a.iowhy"
    (path / "stacks").mkdir(parents=True)
    (path / "manifest.json").write_text(Manifest.made().as_json())
    return path


def stacks(path: Path, frame: str, rows: int) -> Path:
    frames = pa.array([[frame]], pa.list_(pa.string())).take(pa.array([0] * rows))
    columns = [pa.array(range(rows)), frames, pa.array([1] * rows)]
    file = path / "stacks" / "000001.parquet"
    rows_of = pa.table(columns, names=["stack_id", "frames", "count"])
    pq.write_table(rows_of, file, compression="zstd")  # type: ignore[no-untyped-call]
    return file


def size(**given: int) -> FileSize:
    usual = {
        "file_bytes": 1 << 20,
        "rows": 100_000,
        "columns": 15,
        "row_groups": 1,
        "unpacked_bytes": 4 << 20,
        "chunk_bytes": 1 << 20,
        "value_bytes": 64,
    }
    return FileSize(file="a", **(usual | given))


@pytest.mark.parametrize(
    ("given", "id_", "values"),
    [
        ({"value_bytes": sizes.MOST_VALUE_BYTES}, None, {}),
        ({"value_bytes": sizes.MOST_VALUE_BYTES + 1}, "value-too-large", {}),
        ({"chunk_bytes": sizes.MOST_CHUNK_BYTES}, None, {}),
        ({"chunk_bytes": sizes.MOST_CHUNK_BYTES + (1 << 20)}, "column-too-large", {"mib": 513}),
        # Expansion counts from a GiB on only, by what is unpacked or by rows.
        ({"file_bytes": 100, "unpacked_bytes": WHOLE}, None, {}),
        ({"file_bytes": 100, "unpacked_bytes": WHOLE + 1}, "unpacks-to-too-much", {"times": 4096}),
        ({"file_bytes": 1 << 19, "unpacked_bytes": 4096 << 19}, None, {}),
        ({"file_bytes": 100, "rows": WHOLE // 8 // 15 + 1}, "unpacks-to-too-much", {"times": 4096}),
        ({"file_bytes": 100, "rows": WHOLE // 8 // 15}, None, {}),
        (
            {"rows": sizes.MOST_ROWS + 1, "file_bytes": 1 << 40},
            "recording-too-large",
            {"subject": "rows"},
        ),
        (
            {"row_groups": sizes.MOST_ROW_GROUPS + 1},
            "recording-too-large",
            {"subject": "row groups"},
        ),
    ],
)
def test_bounds_have_two_sides(
    given: dict[str, int], id_: str | None, values: dict[str, object]
) -> None:
    if id_ is None:
        must_be_bounded([size(**given)])
    else:
        with wrong(id_, file="a", **values):
            must_be_bounded([size(**given)])


def test_rows_count_over_all_files() -> None:
    half = size(rows=sizes.MOST_ROWS // 2 + 1, file_bytes=1 << 40)
    with wrong("recording-too-large", size=4_294_967_298, subject="rows"):
        must_be_bounded([half, half])


def test_a_small_file_of_a_long_value_is_a_message(made: Path) -> None:
    file = stacks(made, "x" * (sizes.MOST_CHUNK_BYTES // 128), 10)
    assert file.stat().st_size < 100_000
    # Statistics of lists leave long values out: the column is bounded all the same.
    recording = open_recording(made)
    with recording.connected() as connection:
        assert connection.execute("SELECT count(*) FROM stacks").fetchall() == [(10,)]


def is_refused(recorded: Path, file: Path, id_: str) -> None:
    """By whoever reads its tables, and named by who checks it."""
    recording = open_recording(recorded)
    for attempt in (lambda: run(recording, "addresses"), recording.connection):
        with wrong(id_) as refused:
            attempt()
        assert str(refused.value).startswith(f"{file}: ")
    assert [c.found for c in check_recording(recording) if not c.ok and file.name in c.subject]


def test_zeros_packed_a_thousandfold_are_a_message(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = stacks(made, "x", 200_000)
    monkeypatch.setattr(sizes, "UNASKED_BYTES", 1_000)
    monkeypatch.setattr(sizes, "MOST_EXPANSION", 2)
    is_refused(made, file, "unpacks-to-too-much")


def test_footers_are_bounded_before_they_are_parsed(
    made: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row group for each row: DuckDB, whose bound does not count footers, took gigabytes for one of 170 MiB."""
    file = stacks(made, "x", 200)
    table = pq.read_table(file)
    footers = []
    for rows in (200, 1):
        pq.write_table(table, file, row_group_size=rows)
        (length,) = struct.unpack("<I", file.read_bytes()[-8:-4])
        footers.append(length)
    monkeypatch.setattr(sizes, "FOOTERS_OF", 1 << 40)
    for module in (sizes, open_tables):
        monkeypatch.setattr(module, "MOST_FOOTER_BYTES", footers[1])
    assert run(open_recording(made), "addresses").num_rows == 0
    for module in (sizes, open_tables):
        monkeypatch.setattr(module, "MOST_FOOTER_BYTES", footers[1] - 1)
    is_refused(made, file, "footers-too-large")


def test_a_footer_is_no_longer_than_its_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "a.parquet"
    says = struct.pack("<I", sizes.MOST_FOOTER_BYTES + 1) + b"PAR1"
    file.write_bytes(b"PAR1" + says)
    footers_must_be_bounded([str(file), str(tmp_path / "none")])  # damaged: for DuckDB to say
    with file.open("r+b") as opened:
        opened.truncate(sizes.MOST_FOOTER_BYTES + 1)
        opened.seek(0, 2)
        opened.write(says)
    with wrong("footers-too-large", all=12, most_footer_bytes=12):
        footers_must_be_bounded([str(file)])
    # Of files that have as much more than that it is no more than usual.
    data = tmp_path / "b.parquet"
    data.write_bytes(b"PAR1" + bytes(4096) + struct.pack("<I", 1) + b"PAR1")
    monkeypatch.setattr(sizes, "MOST_FOOTER_BYTES", 0)
    footers_must_be_bounded([str(data)])
    monkeypatch.setattr(sizes, "FOOTERS_OF", 1 << 40)
    with wrong("footers-too-large"):
        footers_must_be_bounded([str(data)])


@pytest.mark.parametrize("name", [b"ca\xff\xfeabcd", b"frames\x00\x00", b"stack_id"])
def test_the_file_with_a_name_that_is_none_is_named(made: Path, name: bytes) -> None:
    file = stacks(made, "a", 1)
    other_name = "X" * len(name)
    table = pq.read_table(file).append_column(other_name, pa.array([1]))
    pq.write_table(table, file)
    file.write_bytes(file.read_bytes().replace(other_name.encode(), name))
    try:
        assert run(open_recording(made), "addresses").num_rows >= 0
    except Problem as problem:
        assert str(made) in str(problem)


def peak_bytes(*words: object) -> int:
    """The most memory that a command of iowhy had, and it succeeds."""
    measured = (
        "import resource, subprocess, sys; "
        "subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL); "
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    command = [sys.executable, "-m", "iowhy.cli.main", *map(str, words)]
    ran = subprocess.run(
        [sys.executable, "-c", measured, *command],
        env={**os.environ, "IOWHY_MEMORY": "256MiB", "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return int(ran.stdout) * 1024


def test_memory_does_not_grow_with_the_recording(tmp_path: Path) -> None:
    """A million rows with less than half of the usual memory, which does not hold them all at once."""
    recording = generate_large(tmp_path / "large.iowhy", Shape(parts=6, calls=100_000))
    assert sum(kept.kept for kept in recording.manifest.tables.values()) > 1_000_000
    assert peak_bytes("why", recording.path) < 512 << 20
    exported = tmp_path / "events.parquet"
    written = ("report", "events", recording.path, "--format", "parquet", "-o", exported)
    assert peak_bytes(*written) < 640 << 20
    metadata = pq.read_metadata(exported)
    assert metadata.num_rows > 900_000 and metadata.num_row_groups < 100
    # In order, all the way through its row groups.
    times = pq.read_table(exported, columns=["at_s"])["at_s"].to_numpy()
    assert (times[1:] >= times[:-1]).all()


def test_the_shapes_are_what_they_say(tmp_path: Path) -> None:
    assert set(SHAPES) == {"20m-rows", "5m-rows", "200k-files", "5k-parquets"}
    shape = Shape(parts=3, calls=400, files=20, own_files=True)
    recording = generate_large(tmp_path / "a.iowhy", shape)
    assert all(check.ok for check in check_recording(recording))
    with recording.connected() as connection:
        ((files, named),) = connection.execute(
            "SELECT (SELECT count(DISTINCT ino) FROM page_cache), (SELECT count(*) FROM files)"
        ).fetchall()
    assert (files, named) == (60, 60)


def test_many_small_files_are_read_once_and_tell_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recording = generate_large(tmp_path / "scattered.iowhy", Shape(parts=20, calls=80))
    monkeypatch.setattr(opened, "FEW_ROWS", 0)
    asked = {name: find(name).sql for name in ("syscalls", "events", "files", "budget", "devices")}

    def answers(few_files: int) -> tuple[dict[str, object], set[str]]:
        monkeypatch.setattr(open_tables, "FEW_FILES", few_files)
        with Relations(recording) as relations:
            found = {name: relations.rows(sql) for name, sql in asked.items()}
            loaded = relations.rows("SELECT table_name FROM duckdb_tables()")
            # Sums that were not recorded are relations.
            return found, {str(row[0]) for row in loaded} & (tables().keys() - defined().keys())

    (apart, none), (together, loaded) = answers(20), answers(19)
    assert apart == together
    assert not none and loaded >= {"syscalls", "waits", "block_requests", "page_cache"}
    assert "devices" not in loaded
