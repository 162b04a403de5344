"""What an export writes is whole or not there; tables are the recording's; the UI fetches a trace once, from here."""

import csv
import threading
import urllib.error
import urllib.request
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iowhy.cli._perfetto_ui import UI, TraceServer
from iowhy.errors import Problem
from iowhy.recordings import open_recording
from iowhy.reports.engine import query
from tests.command_line import invoke
from tests.problems import asks
from tests.whys.made import MS, Story

pytestmark = pytest.mark.usefixtures("recorded")


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = Story(seconds=0.2).thread(user=0.5).caller("fsync", 3, blocked=9 * MS).file(77, "a,b")
    made.tables["threads"][0]["comm"] = "=cmd()\x1b[31m\n=x()"
    made.write(Path("a.iowhy"))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_each_table_is_a_file_with_all_of_its_rows(form: str) -> None:
    done = invoke(["export", "a.iowhy", "--to", form])
    assert done.exception is None
    recording = open_recording("a.iowhy")
    files = {file.stem: file for file in Path(f"a.{form}").iterdir()}
    assert {"threads", "syscalls", "files"} <= set(files)
    for name, file in files.items():
        expected = query(recording, f"FROM {name}")
        if form == "parquet":
            written = pq.read_table(file)
            assert written.column_names == expected.column_names
            assert written.to_pylist() == expected.to_pylist()
            continue
        head, *rows = list(csv.reader(file.open(newline="")))
        assert head == expected.column_names and len(rows) == expected.num_rows
    if form == "csv":  # a spreadsheet must not run it, nor a terminal that shows the file obey it
        names = {row["comm"] for row in csv.DictReader(files["threads"].open(newline=""))}
        assert r"'=cmd()\x1b[31m\x0a=x()" in names
        lines = files["threads"].read_text().split("\n")
        assert not [line for line in lines if line.startswith("=") or not line.isprintable()]


@pytest.mark.parametrize("form", ["perfetto", "chrome", "folded", "csv"])
def test_what_breaks_off_leaves_nothing_and_what_was_there_stays(form: str) -> None:
    damaged = next(Path("a.iowhy/syscalls").glob("*.parquet"))
    data = damaged.read_bytes()
    damaged.write_bytes(data[:40] + b"\xff" * 200 + data[240:])
    before = {path.name for path in Path().iterdir()}
    done = invoke(["export", "a.iowhy", "--to", form, "-o", "new"])
    assert isinstance(done.exception, Problem | SystemExit) or done.exit_code
    assert {path.name for path in Path().iterdir()} == before
    if form != "csv":
        Path("old").write_text("kept")
        assert invoke(["export", "a.iowhy", "--to", form, "-o", "old", "--force"]).exit_code
        assert Path("old").read_text() == "kept"


def test_force_replaces_an_earlier_export_and_no_other_folder() -> None:
    assert invoke(["export", "a.iowhy", "--to", "csv"]).exception is None
    asks(invoke(["export", "a.iowhy", "--to", "csv"]).exception, "file-exists", path="a.csv")
    assert invoke(["export", "a.iowhy", "--to", "csv", "--force"]).exception is None
    Path("a.csv/notes.txt").write_text("mine")
    again = invoke(["export", "a.iowhy", "--to", "csv", "--force"])
    asks(again.exception, "folder-of-others-files", name="notes.txt")
    assert Path("a.csv/notes.txt").read_text() == "mine" and Path("a.csv/threads.csv").exists()


def test_the_ui_may_fetch_the_trace_and_nothing_else(tmp_path: Path) -> None:
    trace = tmp_path / "a b.pftrace"
    trace.write_bytes(b"trace" * 1000)
    (tmp_path / "secret").write_text("secret")
    with TraceServer(trace, port=0) as server:
        assert server.address.startswith(f"{UI}/#!/?url=http://127.0.0.1:{server.port}/a%20b")
        given: list[bool] = []
        serving = threading.Thread(target=lambda: given.append(server.serve(60)))
        serving.start()
        base = f"http://127.0.0.1:{server.port}/"
        for path in ("secret", "../secret", ""):
            with pytest.raises(urllib.error.HTTPError):
                urllib.request.urlopen(base + path)
        with urllib.request.urlopen(base + "a%20b.pftrace") as answer:
            assert answer.headers["Access-Control-Allow-Origin"] == UI
            assert answer.read() == trace.read_bytes()
        serving.join()
    assert given == [True]
