"""Recordings that differ in what was recorded of them: a fleet as it is after some years."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from benchmarks.generated import generate
from benchmarks.large import Shape, generate_large
from iowhy.fleet.members import LeftOut
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.recordings import Recording, open_recording
from tests.reports.test_agent import AGENT
from tests.stacks.conftest import during, with_tables
from tests.whys.made import MS, Story


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> list[Recording]:
    """Of two generated ones, one with sums, one that waits for syncs, and one that saw little and did nothing."""
    folder = tmp_path_factory.mktemp("fleet")
    sync = Story(seconds=2.0).caller(
        "fsync", 100, blocked=15 * MS, reason="device_flush", bytes_=None
    )
    sync.requests(100, op="write", service=5 * MS).flushes(100, 9 * MS)
    blind = Story(seconds=1.0, missing={"waits", "page_cache", "lookups"}).thread(user=0.2)
    first = generate(folder / "a.iowhy", calls=400, files=8, threads=5, seed=1)
    return [
        with_tables(first, during(first, AGENT)),
        generate(folder / "b.iowhy", calls=300, files=8, threads=5, seed=2),
        generate_large(folder / "c.iowhy", Shape(parts=1, calls=400, files=8, threads=5)),
        sync.write(folder / "d.iowhy"),
        blind.write(folder / "e.iowhy"),
    ]


@pytest.fixture(scope="session")
def packed(fleet: list[Recording], tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """The same recordings in packs, each by the path that it has alone."""
    to, left_out = tmp_path_factory.mktemp("packs"), LeftOut()
    list(pack_fleet([one.path for one in fleet], to, left_out))
    assert not left_out.reasons
    by_name = {path.name: path for path in places([str(to)])}
    return {one.path: by_name[one.path.name] for one in fleet}


def named(recording: Recording, host: str, **more: object) -> Recording:
    """The recording as if it were of that host."""
    manifest = recording.manifest
    changed = replace(manifest, host=replace(manifest.host, name=host, **more))
    (Path(recording.path) / "manifest.json").write_text(changed.as_json())
    return open_recording(recording.path)
