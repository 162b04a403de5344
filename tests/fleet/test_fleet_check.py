"""`iowhy fleet check`, and recordings of several versions side by side."""

import json
import shutil
from pathlib import Path

import duckdb
import pytest

from iowhy.fleet import wholeness
from iowhy.fleet.places import places
from iowhy.fleet.wholeness import DAMAGED, DUPLICATE, WHOLE, health
from iowhy.recordings import Recording
from tests.command_line import invoke
from tests.fleet.conftest import named
from tests.fleet.test_per_recording import agree, alone, of, rows
from tests.numbers_told import tells


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
    assert tells(done.stderr, "1 damaged", "1 duplicate", "1 incompatible")


def test_whole_recordings_are_fine(fleet: list[Recording]) -> None:
    done = invoke(["fleet", "check", *(str(one.path) for one in fleet)])
    assert done.exit_code == 0 and done.stdout == "" and "5 whole" in done.stderr


def test_what_was_not_damaged_is_read_again_only_once_it_has_changed(
    fleet: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (tmp_path / "cache").mkdir(mode=0o700)
    for name, recording in (("one", fleet[2]), ("two", fleet[3])):
        shutil.copytree(recording.path, tmp_path / "all" / f"{name}.iowhy")
    looked: list[str] = []
    check = wholeness.check_recording
    monkeypatch.setattr(
        wholeness, "check_recording", lambda one: (looked.append(one.path.stem), check(one))[1]
    )
    where = places([str(tmp_path / "all")])
    first = list(health(where))
    assert looked == ["one", "two"] and list(health(where)) == first and len(looked) == 2
    file = next((tmp_path / "all" / "two.iowhy" / "threads").iterdir())
    file.write_bytes(file.read_bytes()[:-1])
    states = [one.state for one in health(where)]
    assert states == [WHOLE, DAMAGED] and looked[2:] == ["two"]
    # Damage is looked at each time, all of them with `again`.
    list(health(where))
    list(health(where, again=True))
    assert looked[3:] == ["two", "one", "two"]


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


#: Recordings as older recorders made them, some before `devices` told model, RAID level and NVMe namespace.
OLD = Path(__file__).parents[2] / "docs" / "recordings"


def test_real_recordings_of_older_recorders_are_whole_and_read(tmp_path: Path) -> None:
    """Beside a copy of one, one whose ZIP lost its end, and one whose file is another's."""
    for name in ("alone", "free", "one-row", "quiet", "always-on"):
        shutil.copy(OLD / f"{name}.iowhy.zip", tmp_path)
    shutil.copy(OLD / "free.iowhy.zip", tmp_path / "the-same.iowhy.zip")
    cut = tmp_path / "cut.iowhy.zip"
    cut.write_bytes((OLD / "batched.iowhy.zip").read_bytes()[:40_000])
    states = {Path(one.recording).name: one.state for one in health(places([str(tmp_path)]))}
    whole = {"alone", "free", "one-row", "quiet", "always-on"}
    assert states == {f"{name}.iowhy.zip": WHOLE for name in whole} | {
        "the-same.iowhy.zip": DUPLICATE,
        "cut.iowhy.zip": DAMAGED,
    }
    found, left_out = rows("device-facts", places([str(tmp_path)]))
    assert [path.name for path in left_out.reasons] == ["cut.iowhy.zip"]
    models = {Path(row["recording"]).name.split(".")[0]: row["model"] for row in found}
    assert models["one-row"] is None, "no older one any more: choose another"
    assert {"alone", "free", "one-row"} <= models.keys()
