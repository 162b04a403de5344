"""`iowhy fleet check`, and recordings of several versions side by side."""

import json
import shutil
from pathlib import Path

import duckdb

from iowhy.recording import Recording
from tests.command_line import invoke
from tests.fleet.conftest import named
from tests.fleet.test_lifted_reports import agree, alone, of, rows


def test_what_is_wrong_is_said_of_each(fleet: list[Recording], tmp_path: Path) -> None:
    for name in ("whole", "copy", "cut", "damaged"):
        shutil.copytree(fleet[3].path, tmp_path / f"{name}.iowhy")
    for name in ("cut", "damaged"):
        named(Recording(tmp_path / f"{name}.iowhy", fleet[3].manifest), name)
    manifest = tmp_path / "cut.iowhy" / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"complete": true', '"complete": false'))
    file = next((tmp_path / "damaged.iowhy" / "syscalls").iterdir())
    file.write_bytes(file.read_bytes()[:100])
    (tmp_path / "later.iowhy").mkdir()
    (tmp_path / "later.iowhy" / "manifest.json").write_text('{"schema": 7}')
    done = invoke(["fleet", "check", str(tmp_path), "--all", "--json"])
    assert done.exit_code == 1
    found = {Path(row["recording"]).stem: row["state"] for row in json.loads(done.stdout)["rows"]}
    assert found == {
        "copy": "whole",
        "cut": "cut off",
        "damaged": "damaged",
        "later": "incompatible",
        "whole": "duplicate",
    }
    assert "1 damaged, 1 duplicate, 1 incompatible" in done.stderr


def test_whole_recordings_are_fine(fleet: list[Recording]) -> None:
    done = invoke(["fleet", "check", *(str(one.path) for one in fleet)])
    assert done.exit_code == 0 and done.stdout == "" and "5 whole" in done.stderr


def test_a_column_that_an_older_recorder_did_not_write_is_unknown(
    fleet: list[Recording], tmp_path: Path
) -> None:
    old = Path(shutil.copytree(fleet[0].path, tmp_path / "old.iowhy"))
    file = next((old / "thread_time").iterdir())
    later = tmp_path / "later.parquet"
    duckdb.sql(f"SELECT * EXCLUDE (cpu_recorder_ns) FROM '{file}'").write_parquet(str(later))
    later.replace(file)
    recording = Recording(old, fleet[0].manifest)
    found, left_out = rows("threads", [old, fleet[1].path])
    assert found and not left_out.reasons
    agree(of(found, recording), alone(recording, "threads"))
    agree(of(found, fleet[1]), alone(fleet[1], "threads"))
