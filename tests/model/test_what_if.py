"""`iowhy what-if`: predictions of a recording, as JSON, with files of devices, and where there is none."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

import iowhy
from iowhy.mcp import tools
from iowhy.model.device_kind import Device, device_of, presets
from iowhy.model.device_timing import as_toml
from iowhy.model.predictions import WhatIf, what_if
from iowhy.recordings import Recording, open_recording
from iowhy.whys import classes
from iowhy.whys.verdict import judge
from tests.command_line import invoke
from tests.json_schema import broken

ROOT = Path(__file__).parents[2]
RECORDINGS = ROOT / "docs" / "recordings"
MADE = Device(name="made", access_us=((0, 100), (4096, 200)), read_mb_per_s=500, write_mb_per_s=400, write_us=50,
              flush_us=900, cache_mib=8, cache_mb_per_s=600, drain_us=10)  # fmt: skip


def recording(name: str) -> Recording:
    return open_recording(RECORDINGS / f"{name}.iowhy.zip")


def after(found: WhatIf) -> dict[str, float]:
    assert found.before_s
    return {one.id: one.after_s / found.before_s for one in found.predictions}


def test_syncs_of_one_row_transactions() -> None:
    found = after(what_if(recording("one-row")))
    assert found["no-syncs"] < found["syncs-grouped"] < 0.2
    assert found["device:nvme-plp"] < found["device:nvme"] < found["device:disk"]
    assert found["cpu-twice"] > 0.95 and found["in-memory"] > 0.95


def test_a_cold_tree_wants_flash_or_memory() -> None:
    found = after(what_if(recording("cold-tree")))
    assert found["device:nvme"] < 0.2 and found["in-memory"] < 0.2
    assert "no-syncs" not in found and "fits" not in found
    # Nothing is read twice.
    assert found["memory-twice"] == 1.0


def test_passes_fit_into_memory() -> None:
    found = what_if(recording("passes"))
    by_id = {one.id: one for one in found.predictions}
    assert after(found)["fits"] < 0.5
    once = by_id["fits"].change.values["once"]
    assert isinstance(once, (int, float)) and once == pytest.approx(192 << 20, rel=0.02)


def test_who_computes_gains_nothing_from_a_device() -> None:
    found = after(what_if(recording("one-thread")))
    assert min(found[f"device:{one.aliases[0]}"] for one in presets()) > 0.97
    assert found["cpu-twice"] == pytest.approx(0.5, abs=0.05)


@pytest.mark.parametrize("name", ["one-row", "cold-tree", "scattered", "small-files", "cold-file"])
def test_no_prediction_saves_more_than_the_bound_of_what_it_changes(name: str) -> None:
    made = recording(name)
    budget = judge(made).budget
    waits = budget.elapsed(*classes.WAITING)
    for id_, left in after(what_if(made)).items():
        if id_.startswith("device:") or id_ in ("in-memory", "fits", "alone"):
            assert 1 - left <= waits + 0.01, id_


@pytest.mark.parametrize("name", ["one-row", "small-files"])
def test_no_syncs_save_no_more_than_the_fix_that_leaves_them_out(name: str) -> None:
    made = recording(name)
    bound = max(fix.gain for fix in judge(made).findings[0].fixes)
    assert 1 - after(what_if(made))["no-syncs"] <= bound + 0.01


def test_json_is_what_the_schema_says(tmp_path: Path) -> None:
    path = str(RECORDINGS / "one-row.iowhy.zip")
    device = tmp_path / "disk.toml"
    device.write_text(as_toml(MADE))
    done = invoke(["what-if", "--device", "nvme-plp", "--device", str(device), path, "--json"])
    assert done.exception is None
    found = json.loads(done.stdout)
    schema = json.loads((ROOT / "docs" / "schema" / "what-if.json").read_text())
    assert list(broken(schema, found)) == []
    ids = [one["id"] for one in found["predictions"]]
    assert ids[:2] == ["device:nvme-plp", "device:made"]
    assert tools.what_if(path)["before_s"] == pytest.approx(found["before_s"])
    assert iowhy.open(path).what_if("nvme-plp")["predictions"][0]["id"] == "device:nvme-plp"


def test_a_device_is_read_as_it_is_written(tmp_path: Path) -> None:
    path = tmp_path / "disk.toml"
    path.write_text(as_toml(MADE))
    assert device_of(str(path)) == MADE


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("name = 1", "device-model-unreadable"),
        (as_toml(MADE) + "colour = 1\n", "device-model-unreadable"),
        (as_toml(replace(MADE, access_us=((4096, 1), (0, 1)))), "device-model-order"),
        (as_toml(replace(MADE, read_mb_per_s=-1.0)), "device-model-unreadable"),
        (None, "no-such-device-model"),
    ],
)
def test_a_file_that_is_no_device_is_refused(tmp_path: Path, text: str | None, id_: str) -> None:
    path = tmp_path / "disk.toml"
    if text is not None:
        path.write_text(text)
    with pytest.raises(iowhy.Problem) as refused:
        device_of(str(path))
    assert refused.value.sentence.id == id_


def test_what_cannot_carry_a_prediction_gives_none() -> None:
    text = what_if(recording("always-on"))
    assert text.predictions == () and text.cannot is not None
    assert text.cannot.id == "what-if-no-rows"
    lost = recording("one-row")
    tables = dict(lost.manifest.tables)
    tables["waits"] = replace(tables["waits"], lost=3)
    found = what_if(replace(lost, manifest=replace(lost.manifest, tables=tables)))
    assert found.predictions == () and found.cannot is not None
    assert found.cannot.id == "what-if-lost"


def test_of_several_recordings_those_that_gain_come_first() -> None:
    typed = [str(RECORDINGS / f"{name}.iowhy.zip") for name in ("one-thread", "cold-tree")]
    said = invoke(["what-if", "--device", "nvme", *typed]).stdout
    assert said.startswith("1 of 2 ") and said.index("cold-tree") < said.index("one-thread")
    found = json.loads(invoke(["what-if", "--json", "--device", "nvme", *typed]).stdout)
    assert [one["recording"] for one in found["recordings"]] == typed
    assert all(one["predictions"] for one in found["recordings"])
