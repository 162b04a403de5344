"""A recording may come from anybody: what is in it hangs, fills or takes down nothing."""

import json
import os
import shutil
import socket
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from iowhy.commands.overview import overview
from iowhy.errors import Problem
from iowhy.experiments.result import save_beside
from iowhy.recordings import experiments, open_recording
from iowhy.recordings.check import check_recording
from iowhy.recordings.manifest import Manifest
from iowhy.recordings.query_limits import (
    LEAST_MEMORY_BYTES,
    LOCK,
    MEMORY_VARIABLE,
    memory_bytes,
    private_folder,
)
from iowhy.recordings.writer import write_recording
from tests.examples import EXAMPLES
from tests.problems import wrong


@pytest.fixture
def made(tmp_path: Path) -> Path:
    path = tmp_path / "a.iowhy"
    (path / "experiments").mkdir(parents=True)
    (path / "manifest.json").write_text(Manifest.made().as_json())
    return path


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def unix_socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)  # the name of a socket is short
    try:
        socket.socket(socket.AF_UNIX).bind(path.name)
    finally:
        os.chdir(here)


def large(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


OTHERS = {
    fifo: "not-a-plain-file",
    link: "recording-holds-other-files",
    device: "recording-holds-other-files",
    unix_socket: "recording-holds-other-files",
    large: "recording-file-too-large",
    Path.mkdir: "not-a-plain-file",
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", OTHERS)
def test_a_manifest_is_a_plain_file_of_some_size(made: Path, kind: object) -> None:
    assert callable(kind)
    (made / "manifest.json").unlink()
    kind(made / "manifest.json")
    with wrong(OTHERS[kind], path=made / "manifest.json"):
        open_recording(made)


def test_a_manifest_of_tables_without_number_is_one_message(made: Path) -> None:
    manifest = json.loads((made / "manifest.json").read_text())
    manifest["tables"] = {f"t{number}": {"kept": 1, "lost": 0} for number in range(300_000)}
    (made / "manifest.json").write_text(json.dumps(manifest))
    with wrong("path-error", path=made / "manifest.json") as found:
        open_recording(made)
    assert "length <= 1000 - at `$.tables`" in str(found.value.sentence.values["error"])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("kind", OTHERS)
def test_experiments_that_are_no_plain_files_are_passed_over(made: Path, kind: object) -> None:
    assert callable(kind)
    kind(made / "experiments" / "000001.json")
    finding = {"cause": "sync-storm", "outcome": "confirmed", "confidence_after": 1, "because": "x"}
    good = json.dumps({"iowhy": {"findings": [finding]}})
    (made / "experiments" / "000002.json").write_text(good)
    assert set(experiments.tested(open_recording(made))) == {"sync-storm"}


@pytest.mark.parametrize("name", ["²2.json", "٣.json", "99999999999.json", "x.json"])
def test_a_result_is_kept_whatever_lies_there(
    made: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (made / "experiments" / name).write_text("{}")
    monkeypatch.setattr("iowhy.experiments.result.as_json", lambda _: {})
    kept = save_beside(made, None)  # type: ignore[arg-type]
    assert kept.name == "000001.json" and kept.read_text() == "{}\n"


def stacks(path: Path, *names: str) -> Path:
    columns = [pa.array([1]), pa.array([["a"]], pa.list_(pa.string())), pa.array([1])]
    (path / "stacks").mkdir(exist_ok=True)
    file = path / "stacks" / "000001.parquet"
    pq.write_table(pa.table(columns, names=list(names)), file)
    return file


@pytest.mark.parametrize("name", [b"stack_id", b"ca\xff\xfeabcd", b"frames\x00\x00", b"';--\x1b[2"])
def test_columns_of_any_name_are_no_traceback(made: Path, name: bytes) -> None:
    placeholder = "X" * len(name)
    file = stacks(made, "stack_id", "frames", placeholder)
    file.write_bytes(file.read_bytes().replace(placeholder.encode(), name))
    recording = open_recording(made)
    check_recording(recording)
    try:
        with recording.connected() as connection:
            rows = connection.execute("SELECT stack_id, frames FROM stacks").fetchall()
    except Problem as problem:
        assert str(made) in str(problem)
    else:
        assert rows == [(1, ["a"])]


def test_memory_threads_and_temporary_files_have_bounds(
    made: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(MEMORY_VARIABLE, "200MiB")
    # It is made in all cases: what DuckDB itself makes when it spills, others could read.
    (tmp_path / "spill").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "spill"))
    private_folder.cache_clear()
    recording = open_recording(made)
    assert memory_bytes() == 200 << 20
    with recording.connected() as connection:
        limit, threads = connection.execute(
            "SELECT current_setting('memory_limit'), current_setting('threads')"
        ).fetchall()[0]
        assert limit == "200.0 MiB" and 1 <= threads <= 8
        with pytest.raises(duckdb.Error, match="locked"):
            connection.execute("SET memory_limit = '1TB'")
        (spilled,) = (tmp_path / "spill").iterdir()
        assert spilled.stat().st_mode & 0o777 == 0o700
        connection.execute(
            "CREATE TEMP TABLE x AS SELECT md5(range::TEXT) AS b FROM range(9_000_000)"
        )
        assert set(spilled.rglob("*")) > {spilled / LOCK}, "the test spills nothing"
    assert list((tmp_path / "spill").iterdir()) == [spilled]
    assert list(spilled.iterdir()) == [spilled / LOCK], "what is spilled goes with the connection"
    monkeypatch.setenv(MEMORY_VARIABLE, "1")
    assert memory_bytes() == LEAST_MEMORY_BYTES
    monkeypatch.setenv(MEMORY_VARIABLE, "much")
    with wrong("not-a-size", option=MEMORY_VARIABLE, text="much"):
        memory_bytes()


def test_what_needs_more_memory_is_one_message(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list of ten million numbers is one value: it can be neither spilled nor streamed."""
    monkeypatch.setenv(MEMORY_VARIABLE, "128MiB")
    with (
        wrong("too-little-memory", memory_bytes=128),
        open_recording(made).connected() as connection,
    ):
        connection.execute("SELECT list(range) FROM range(100_000_000)").fetchall()


def test_links_among_the_files_are_not_followed(made: Path, tmp_path: Path) -> None:
    shutil.move(stacks(made, "stack_id", "frames", "x"), tmp_path / "elsewhere.parquet")
    (made / "stacks" / "000001.parquet").symlink_to(tmp_path / "elsewhere.parquet")
    with open_recording(made).connected() as connection:
        assert connection.execute("SELECT count(*) FROM stacks").fetchall() == [(0,)]


@pytest.mark.more
def test_a_damaged_footer_is_one_clear_error(made: Path) -> None:
    """What DuckDB raises for some of it has no class of its own (seeds 6, 1005 and 1031 of `make torture`)."""
    file = stacks(made, "stack_id", "frames", "x")
    whole = file.read_bytes()
    footer = int.from_bytes(whole[-8:-4], "little")
    refused, step = 0, max(1, 20 * 15 // EXAMPLES)
    for at in range(len(whole) - 8 - footer, len(whole), step):
        file.write_bytes(whole[:at] + b"\xff" + whole[at + 1 :])
        recording = open_recording(made)
        try:
            with recording.opened() as opened:
                opened.need(["stacks"])
                opened.connection.execute("SELECT count(*), max(frames) FROM stacks").fetchall()
        except Problem as problem:
            refused += 1
            assert str(made) in str(problem) and "\n" not in str(problem)
    assert refused > footer // step // 10


def test_a_value_that_may_not_be_null_is_no_traceback(tmp_path: Path) -> None:
    """Seeds 100102 and 100114 of `make torture`: a paste's measurement without its tool."""
    path = tmp_path / "a.iowhy"
    row = {"tool": "x", "subject": "machine", "metric": "load_1min", "value": 1.0}
    write_recording(path, Manifest.made(source="diagnose", mode="paste"), {"measurements": [row]})
    file = next(path.glob("measurements/*.parquet"))
    table = pq.read_table(file)
    for name in ("tool", "value"):
        at = table.schema.get_field_index(name)
        empty = pa.nulls(table.num_rows, table.schema.types[at])
        pq.write_table(table.set_column(at, name, empty), file)
        with wrong("recording-damaged", path=path):
            overview(open_recording(path))


def test_what_is_made_of_a_text_is_its_users_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        write_recording(
            tmp_path / "a.iowhy", Manifest.made(), {"stacks": [{"stack_id": 1, "frames": []}]}
        )
    finally:
        os.umask(before)
    modes = {
        path.stat().st_mode & 0o777 for path in (tmp_path / "a.iowhy").rglob("*") if path.is_file()
    }
    folders = {
        path.stat().st_mode & 0o777
        for path in (tmp_path / "a.iowhy", tmp_path / "a.iowhy" / "stacks")
    }
    assert (folders, modes) == ({0o700}, {0o600})


def test_a_line_end_in_a_name_is_no_second_line(made: Path) -> None:
    """Seed 300514 of `make torture`: no recorder gives such a name, so such a file is none of the recording's."""
    file = stacks(made, "stack_id", "frames", "x")
    file.rename(file.with_name("\n.parquet"))
    assert open_recording(made).files("stacks") == []
