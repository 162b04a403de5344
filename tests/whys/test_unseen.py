"""What a cause cannot be seen without: where that sensor did not run, a cause that is not found may be there."""

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.recordings.schema import tables
from iowhy.tables import sensors
from iowhy.whys.causes import causes
from iowhy.whys.verdict import judge
from tests.docs.recordings import kept
from tests.numbers_told import tells

#: The kept recording of each cause.
SHOWN = {one.cause: one.path for one in kept() if one.cause}
CAUSES = {cause.name: cause for cause in causes()}


def without(packed: Path, sensor: str, folder: Path) -> Recording:
    """A recording as it would be had that sensor not run."""
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(folder)
    (made,) = folder.iterdir()
    manifest = json.loads((made / "manifest.json").read_text())
    gone = set(sensors()[sensor].tables)
    gone |= {table.name for table in tables().values() if table.sums in gone}
    for one in manifest["sensors"]:
        if one["name"] == sensor:
            one["ran"], one["why"] = False, "not permitted"
    for name in gone:
        shutil.rmtree(made / name, ignore_errors=True)
        manifest["tables"].pop(name, None)
    (made / "manifest.json").write_text(json.dumps(manifest))
    return open_recording(made)


@pytest.mark.parametrize(
    ("cause", "sensor"),
    [(one.name, sensor) for one in causes() for sensor in one.unseen_without],
)
def test_it_is_not_found_without_it_and_why_is_said(
    cause: str, sensor: str, tmp_path: Path
) -> None:
    blind = without(SHOWN[cause], sensor, tmp_path)
    assert cause not in {one.cause for one in judge(blind).findings}
    why = CAUSES[cause].why_unseen(blind.manifest)
    assert why is not None and tells(why, sensor, "not permitted")


def test_where_all_ran_it_would_have_been_found() -> None:
    recording = open_recording(SHOWN["sync-storm"])
    assert not [one.name for one in causes() if one.why_unseen(recording.manifest) is not None]
