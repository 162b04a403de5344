"""Fleets in an object store: a real S3 API, read as folders are."""

import csv
import io
import shutil
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iowhy.errors import Problem
from iowhy.fleet import verdicts
from iowhy.fleet.members import LeftOut
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.recordings import object_store as stored
from iowhy.recordings import open_recording
from iowhy.recordings.object_store import copied, path_of, written
from iowhy.recordings.packer import pack
from tests.command_line import invoke
from tests.fleet.hosts import write_fleet
from tests.object_store import object_store, put, reach
from tests.problems import asks, wrong

FLEET, PACKS = "s3://fleet/kept", "s3://fleet/packs"


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three hosts, one recording of them a ZIP; the same in packs; one that is damaged; one that is under way."""
    top = tmp_path_factory.mktemp("local")
    write_fleet(top / "kept", 3)
    list(pack_fleet(places([str(top / "kept")]), top / "packs", LeftOut()))
    one = top / "kept" / "date=2025-11-01" / "host=web001"
    shutil.copytree(one / "run.iowhy", top / "kept" / ".open" / "next.iowhy")
    shutil.copytree(one / "run.iowhy", top / "broken" / "run.iowhy")
    file = next((top / "broken" / "run.iowhy" / "syscalls").iterdir())
    file.write_bytes(file.read_bytes()[:-20])
    pack(open_recording(one / "run.iowhy"), one / "run.iowhy.zip")
    shutil.rmtree(one / "run.iowhy")
    return top


@pytest.fixture(scope="module")
def store(local: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with object_store(tmp_path_factory.mktemp("moto") / "said") as address:
        put(address, "fleet", local)
        yield address


@pytest.fixture(autouse=True)
def reached(store: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    reach(monkeypatch, store)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def rows(name: str, *where: str) -> tuple[list[tuple[str, ...]], list[str], str]:
    """The rows without the recordings, those, and what was said."""
    done = invoke(["fleet", "report", name, *where, "-f", "csv"])
    assert done.exit_code == 0, done.exception
    found = list(csv.DictReader(io.StringIO(done.stdout)))
    named = [row.pop("recording", row.pop("worst", "")) for row in found]
    return [tuple(row.values()) for row in found], named, done.stderr


@pytest.mark.parametrize("name", ["syscalls", "worst"])
@pytest.mark.parametrize("where", [FLEET, PACKS])
def test_reports_are_those_of_the_same_in_a_folder(name: str, where: str, local: Path) -> None:
    folder = str(local / where.rsplit("/", 1)[1])
    ours, names, _ = rows(name, folder)
    theirs, stored, said = rows(name, where)
    assert ours and theirs == ours and not said
    assert stored == [one.replace(folder, where) for one in names]


def test_recordings_are_found_by_their_keys() -> None:
    found = [written(path) for path in places([FLEET])]
    hosts = f"{FLEET}/date=2025-11-01/host=web00"
    assert found == [f"{hosts}0/run.iowhy", f"{hosts}1/run.iowhy.zip", f"{hosts}2/run.iowhy"]
    for one in (
        found[1],
        found[2],
        f"{PACKS}/date=2025-11-01/host=web000/recordings.iowhy-pack/run.iowhy",
    ):
        assert [written(path) for path in places([one])] == [one]
        assert open_recording(Path(one)).manifest.host.name == f"web00{one[one.index('web00') + 5]}"


def test_a_verdict_of_what_is_stored_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = list(verdicts.verdicts(places([FLEET, PACKS]), LeftOut()))
    assert len(first) == 6
    monkeypatch.setattr(verdicts, "_judged", lambda waiting: iter(()) if not waiting else 1 / 0)
    again = list(verdicts.verdicts(places([FLEET, PACKS]), LeftOut()))
    assert sorted(again, key=lambda one: one[0]) == sorted(first, key=lambda one: one[0])


def test_what_is_damaged_there_is_named_and_costs_no_other() -> None:
    found, _, said = rows("syscalls", FLEET, "s3://fleet/broken")
    assert found == rows("syscalls", FLEET)[0]
    assert said.startswith("iowhy: s3://fleet/broken/run.iowhy: ")
    done = invoke(["fleet", "check", FLEET, "s3://fleet/broken", "-f", "csv"])
    assert done.exit_code == 1 and "s3://fleet/broken/run.iowhy,web001" in done.stdout
    assert "1 damaged, 3 whole" in done.stderr


@pytest.mark.parametrize(
    "where", ["s3://none/kept", "s3://fleet/none", "s3://", "s3://fleet/kept/none.iowhy.zip"]
)
def test_where_nothing_is_stored_it_is_a_problem(where: str) -> None:
    done = invoke(["fleet", "report", "syscalls", where])
    assert isinstance(done.exception, Problem), done.output


def test_a_store_that_does_not_answer_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    done = invoke(["fleet", "report", "syscalls", "s3://silent/kept"])
    asks(done.exception, "store-refused", path="s3://silent/kept")


def test_without_keys_it_is_said_where_they_are_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine of Amazon's has a place that hands out some; others only seem to have a network that fails."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:1")
    done = invoke(["fleet", "report", "syscalls", "s3://locked/kept"])
    asks(done.exception, "store-without-keys", path="s3://locked/kept")


@pytest.mark.parametrize(
    "where",
    [
        f"{FLEET}/date=2025-11-01/host=web000/run.iowhy",
        f"{PACKS}/date=2025-11-01/host=web000/recordings.iowhy-pack",
    ],
)
def test_of_an_outline_only_the_ends_of_rows_are_copied(
    where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Files of their length, with footers as they are, also one that is longer than what is asked for first; what tells of them is whole."""
    monkeypatch.setattr(stored, "_END_BYTES", 64)
    whole, outline = (copied(path_of(where), ends) for ends in (False, True))
    files = {path.relative_to(whole): path for path in whole.rglob("*") if path.is_file()}
    assert files.keys() == {
        path.relative_to(outline) for path in outline.rglob("*") if path.is_file()
    }
    for name, file in files.items():
        content, end = file.read_bytes(), (outline / name).read_bytes()
        if len(name.parts) == 1:
            assert end == content
            continue
        assert pq.read_metadata(outline / name).equals(pq.read_metadata(file))
        assert len(end) == len(content) and end.startswith(bytes(4)) and content.startswith(b"PAR1")


def test_a_listing_without_end_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*_: object) -> Iterator[list[dict[str, object]]]:
        while True:
            yield [{"path": "kept/x/y/z", "size": 1, "last_modified": datetime.now()}] * 1000

    import obstore

    monkeypatch.setattr(obstore, "list", endless)
    monkeypatch.setattr(stored, "_store", lambda *_: None)
    for ask in (lambda: copied(path_of(FLEET)), lambda: list(stored.below(path_of(FLEET), 5000))):
        with wrong("store-too-large", path=FLEET):
            ask()
