"""What is made of a recording that lacks rows is believed less, whatever it lacks."""

import json
import shutil
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

import iowhy
from iowhy.mcp import tools
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.schema import tables
from iowhy.reports.engine import result_of
from iowhy.watching.asked import Asked
from iowhy.watching.moment import look
from iowhy.whys.verdict import Verdict, judge
from iowhy.whys.verdict_json import as_json
from tests.command_line import invoke
from tests.examples import TIMES
from tests.problems import wrong

KEPT = Path(__file__).parents[2] / "docs" / "recordings"
#: As sure as that is told as what it is.
SURE = 0.6


#: Each day another one of those that are kept, without a third of its tables, one by one; all 36 were tried at once, 1,112 copies.
DAY = int(time.time() // 86400)
OF_TODAY = sorted(KEPT.glob("*.zip"))[DAY % len(list(KEPT.glob("*.zip")))]


def unpacked(packed: Path, folder: Path) -> Path:
    with zipfile.ZipFile(packed) as all_of_it:
        all_of_it.extractall(folder)
    return folder / packed.name.removesuffix(".zip")


@pytest.fixture
def whole(tmp_path: Path) -> Path:
    return unpacked(KEPT / "one-row.iowhy.zip", tmp_path)


def first(verdict: Verdict) -> tuple[str | None, float]:
    leading = next(iter(verdict.findings), None)
    return (None, 0.0) if leading is None else (leading.cause, leading.confidence)


def without(folder: Path, table: str, *, half: bool) -> tuple[Recording, int, int]:
    """The recording without a table, or half of its rows; how many the manifest counts, and how many are there."""
    recording = open_recording(folder)
    for file in sorted((folder / table).glob("*.parquet")):
        if half:
            left = file.with_name("left")
            duckdb.execute(f"""COPY (SELECT * FROM '{file}'
                LIMIT (SELECT count(*) // 2 FROM '{file}')) TO '{left}' (FORMAT parquet)""")
            left.replace(file)
        else:
            file.unlink()
    found = duckdb.execute(f"SELECT count(*) FROM '{folder / table}/*.parquet'") if half else None
    there = 0 if found is None else found.fetchall()[0][0]
    return recording, recording.manifest.tables[table].kept, there


def damaged(whole: Path, part: slice = slice(None)) -> Iterator[tuple[str, Recording, int, int]]:
    """It without each of its tables, or a part of them, and with half of the rows of each that causes go by most."""
    for table in sorted(one.name for one in whole.iterdir() if one.is_dir())[part]:
        for half in (False, True):
            if half and table not in ("syscalls", "waits", "block_requests", "thread_time"):
                continue
            copy = whole.with_name("copy.iowhy")
            shutil.copytree(whole, copy)
            yield table, *without(copy, table, half=half)
            shutil.rmtree(copy)


@pytest.mark.more
def test_no_other_first_cause_is_told_as_sure(whole: Path) -> None:
    """Each third table, in torture all."""
    leading, sure = first(judge(open_recording(whole)))
    assert leading is not None
    for table, recording, counted, found in damaged(
        whole, slice(None, None, 1 if TIMES > 1 else 3)
    ):
        verdict = judge(recording)
        document = as_json(verdict)
        assert document["mismatches"] == [{"table": table, "counted": counted, "found": found}]
        assert any(table in note for note in verdict.notes)
        cause, confidence = first(verdict)
        assert cause == leading or confidence < SURE, (table, found)
        # Of what was summed up the rows say as much.
        if tables()[table].sums is not None:
            assert (cause, confidence) == (leading, sure), table


@pytest.mark.parametrize("packed", [OF_TODAY], ids=[OF_TODAY.name])
def test_nor_of_todays(packed: Path, tmp_path: Path) -> None:
    whole = unpacked(packed, tmp_path)
    leading, _ = first(judge(open_recording(whole)))
    for table, recording, _, found in damaged(whole, slice(DAY % 3, None, 3)):
        cause, confidence = first(judge(recording))
        assert cause == leading or confidence < SURE, (table, found)


def test_reports_say_it_too(whole: Path) -> None:
    recording, *_ = without(whole, "waits", half=True)
    with result_of(recording, "syscalls") as result:
        assert len(result.notes) == 1 and "waits" in result.notes[0]
    where = str(recording.path)
    for rows in (iowhy.open(where).report("syscalls"), iowhy.open(where).sql("FROM waits")):
        assert len(rows.notes) == 1 and rows.notes[0] in str(rows)
    for answer in (tools.report(where, "syscalls"), tools.sql(where, "FROM waits")):
        assert len(answer["notes"]) == 1 and "waits" in answer["notes"][0]
    assert not look(recording.path, Asked()).whole


def test_lost_events_are_said_of_the_tables_that_are_read(whole: Path) -> None:
    manifest = whole / "manifest.json"
    document = json.loads(manifest.read_text())
    document["tables"]["syscalls"]["lost"] = 4711
    manifest.write_text(json.dumps(document))
    for name, lost in (("syscalls", True), ("cgroup", False)):
        given = iowhy.open(whole).report(name).notes, tools.report(str(whole), name).get("notes")
        assert given == (tuple(given[1]), given[1]) if lost else given == ((), None)
        assert not lost or "4,711" in given[0][0]


def test_lists_and_exports_go_by_the_files(whole: Path, tmp_path: Path) -> None:
    recording, _, there = without(whole, "waits", half=True)
    listed = invoke(["sql", str(whole), "--list", "--json"])
    rows = {row["table"]: row["rows"] for row in json.loads(listed.stdout)["rows"]}
    assert rows["waits"] == there and rows["syscalls"] == recording.manifest.tables["syscalls"].kept
    exported = invoke(["export", str(whole), "--to", "csv", "-o", str(tmp_path / "out")])
    for done in (listed, exported):
        assert done.exit_code == 0 and done.stderr.count("waits") == 1


def test_a_file_that_was_cut_short_is_not_read(whole: Path) -> None:
    file = whole / "syscalls" / "000001.parquet"
    file.write_bytes(file.read_bytes()[:-100])
    with wrong("file-damaged", path=file):
        judge(open_recording(whole))
