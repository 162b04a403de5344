"""`iowhy fleet pack`: whole or not at all, once, whatever happens to it; what is in a pack is what was recorded."""

import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from msgspec.structs import replace

from iowhy.fleet import verdicts
from iowhy.fleet.members import LeftOut
from iowhy.fleet.packing import pack_fleet
from iowhy.fleet.places import places
from iowhy.fleet.wholeness import WHOLE, health
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.check import check_recording
from iowhy.recordings.day_packs import INDEX, entries
from iowhy.recordings.packer import pack
from iowhy.recordings.schema import tables
from iowhy.reports import run
from tests.command_line import invoke
from tests.fleet.conftest import named
from tests.fleet.hosts import write_fleet
from tests.numbers_told import tells
from tests.problems import asks

Stamp = tuple[str, int, int]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hosts on two days."""
    folder = tmp_path_factory.mktemp("hosts")
    write_fleet(folder, 4, (0, 1))
    return folder


def packed(where: Path, to: Path) -> tuple[int, LeftOut]:
    """How many were new, and what was left out."""
    left_out = LeftOut()
    return sum(one.new for one in pack_fleet(places([str(where)]), to, left_out)), left_out


def stamps(folder: Path) -> set[Stamp]:
    """All files as they are."""
    found = [(one, one.stat()) for one in folder.rglob("*") if one.is_file()]
    return {(str(one), stat.st_ino, stat.st_mtime_ns) for one, stat in found}


def test_a_recording_of_a_pack_is_what_was_packed(
    fleet: list[Recording], packed: dict[Path, Path]
) -> None:
    for one in fleet:
        taken = open_recording(packed[one.path])
        assert taken.manifest == one.manifest
        with one.connected() as first, taken.connected() as second:
            for table in tables():
                rows = first.execute(f"SELECT * FROM {table}").fetchall()
                assert second.execute(f"SELECT * FROM {table}").fetchall() == rows, table
        assert [check.ok for check in check_recording(taken)].count(False) == 0


def test_packs_lie_by_day_and_host_and_are_made_once(hosts: Path, tmp_path: Path) -> None:
    assert packed(hosts, tmp_path)[0] == 8
    found = places([str(tmp_path)])
    first = tmp_path / "date=2025-11-01" / "host=web000" / "recordings.iowhy-pack"
    assert len(found) == 8 and found[0] == first / "run.iowhy"
    before = stamps(tmp_path)
    assert packed(hosts, tmp_path)[0] == 0
    assert packed(tmp_path, tmp_path)[0] == 0
    assert stamps(tmp_path) == before
    done = invoke(["fleet", "pack", str(hosts), "-o", str(tmp_path)])
    assert done.exit_code == 0 and tells(done.stderr, "0", "0")


def test_what_comes_later_is_put_behind_and_copies_are_not(hosts: Path, tmp_path: Path) -> None:
    where, to = tmp_path / "where", tmp_path / "to"
    shutil.copytree(hosts, where)
    assert packed(where, to)[0] == 8
    folder = where / "date=2025-11-01" / "host=web000"
    later = Path(shutil.copytree(folder / "run.iowhy", folder / "later.iowhy"))
    other = named(open_recording(later), "web000", kernel="6.13")
    pack(other, folder / "copy.iowhy.zip")
    second, left_out = packed(where, to)
    assert second == 1 and not left_out.reasons
    own = entries([to / "date=2025-11-01" / "host=web000" / "recordings.iowhy-pack"])
    assert sorted(path.name for path in own) in (
        ["copy.iowhy", "run.iowhy"],
        ["later.iowhy", "run.iowhy"],
    )
    shutil.rmtree(where)
    assert run(open_recording(next(iter(own))), "syscalls").num_rows


def test_a_recording_that_went_on_is_there_once_as_it_is_now(hosts: Path, tmp_path: Path) -> None:
    where, to = tmp_path / "where", tmp_path / "to"
    source = shutil.copytree(hosts / "date=2025-11-01" / "host=web000", where)
    manifest = source / "run.iowhy" / "manifest.json"
    text = manifest.read_text()
    manifest.write_text(text.replace('"complete": true', '"complete": false'))
    assert packed(where, to)[0] == 1
    manifest.write_text(text)
    assert packed(where, to)[0] == 1
    (one,) = places([str(to)])
    assert open_recording(one).manifest.complete


def test_damaged_recordings_are_named_and_cost_no_other(hosts: Path, tmp_path: Path) -> None:
    where, to = tmp_path / "where", tmp_path / "to"
    shutil.copytree(hosts, where)
    folder = where / "date=2025-11-01" / "host=web000"
    for name in ("footer", "page", "column"):
        copied = Path(shutil.copytree(folder / "run.iowhy", folder / f"{name}.iowhy"))
        named(open_recording(copied), "web000", kernel=name)
    file = next((folder / "footer.iowhy" / "syscalls").iterdir())
    file.write_bytes(file.read_bytes()[:-20])
    file = next((folder / "page.iowhy" / "syscalls").iterdir())
    data = bytearray(file.read_bytes())
    data[4:60] = bytes(56)
    file.write_bytes(data)
    shutil.copy(
        next((folder / "run.iowhy" / "threads").iterdir()),
        next((folder / "column.iowhy" / "syscalls").iterdir()),
    )
    new, left_out = packed(where, to)
    assert new == 8
    assert sorted(path.stem for path in left_out.reasons) == ["column", "footer", "page"]
    assert {one.state for one in health(places([str(to)]))} == {WHOLE}


def test_a_damaged_pack_is_named_and_costs_no_other(hosts: Path, tmp_path: Path) -> None:
    packed(hosts, tmp_path)
    broken = tmp_path / "date=2025-11-01" / "host=web001" / "recordings.iowhy-pack"
    file = next(broken.glob("*/syscalls.parquet"))
    file.write_bytes(file.read_bytes()[:-20])
    done = invoke(["fleet", "report", "syscalls", str(tmp_path), "-f", "csv"])
    assert done.exit_code == 0
    shown = {line.split(",")[1] for line in done.stdout.splitlines()[1:]}
    assert shown == {str(path) for path in places([str(tmp_path)]) if path.parent != broken}
    assert str(broken) in done.stderr
    states = {one.recording: one.state for one in health(places([str(tmp_path)]))}
    assert [one for one, state in states.items() if state != WHOLE] == [str(broken / "run.iowhy")]
    (broken / INDEX).write_bytes(b"PAR1")
    done = invoke(["fleet", "report", "syscalls", str(tmp_path), "-f", "csv"])
    assert done.exit_code == 0 and str(broken / INDEX) in done.stderr and "web002" in done.stdout


def test_killed_at_any_moment_it_leaves_nothing_half_and_goes_on(
    hosts: Path, tmp_path: Path
) -> None:
    pack_it = [
        sys.executable,
        "-m",
        "iowhy.cli.main",
        "fleet",
        "pack",
        str(hosts),
        "-o",
        str(tmp_path),
    ]
    drawn = random.Random(17)
    for _ in range(6):
        begun = subprocess.Popen(pack_it, stderr=subprocess.DEVNULL)
        before = len(list(tmp_path.rglob("*.parquet")))
        while len(list(tmp_path.rglob("*.parquet"))) == before and begun.poll() is None:
            time.sleep(0.01)
        time.sleep(drawn.uniform(0, 0.15))
        begun.send_signal(signal.SIGKILL)
        begun.wait()
        for index in tmp_path.rglob(INDEX):
            (one,) = entries([index.parent]).values()
            assert all(one.file(table).stat().st_size for table in one.rows)
    subprocess.run(pack_it, stderr=subprocess.DEVNULL, check=True)
    assert {one.state for one in health(places([str(tmp_path)]))} == {WHOLE}
    assert len(places([str(tmp_path)])) == 8
    assert not [one for one in tmp_path.rglob("*") if one.name.endswith(("-alone", f".{INDEX}"))]
    assert len(list(tmp_path.rglob("000001"))) == 8


def test_two_calls_do_not_pack_into_the_same_folder(hosts: Path, tmp_path: Path) -> None:
    first = pack_fleet(places([str(hosts)]), tmp_path, LeftOut())
    next(first)
    done = invoke(["fleet", "pack", str(hosts), "-o", str(tmp_path)])
    asks(done.exception, "folder-taken", path=tmp_path)
    first.close()


def test_verdicts_are_made_once_and_go_with_the_pack(
    fleet: list[Recording], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those that are known; with `judge` the others too. Of other definitions, or no verdict at all, they are made anew."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "first"))
    first, second, to = tmp_path / "first.iowhy", tmp_path / "second.iowhy", tmp_path / "packs"
    for recording, path in zip(fleet[3:5], (first, second), strict=True):
        shutil.copytree(recording.path, path)
    truth = sorted(verdicts.verdicts([first, second], LeftOut()), key=lambda one: one[0])
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "second"))
    list(verdicts.verdicts([first], LeftOut()))
    list(pack_fleet([first, second], to, LeftOut()))
    paths = places([str(to)])

    def without_judging() -> dict[str, object]:
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "third"))
        found = verdicts.verdicts(paths, LeftOut(), judge=False)
        return {paths[number].name: verdict for number, verdict in found}

    assert without_judging() == {"first.iowhy": truth[0][1]}
    list(pack_fleet([first, second], to, LeftOut(), judge=True))
    assert without_judging() == {"first.iowhy": truth[0][1], "second.iowhy": truth[1][1]}
    one = next(iter(entries([paths[0].parent]).values()))
    text = one.verdict or ""
    for changed in (
        text.replace('"definitions": "', '"definitions": "0'),
        text.replace('"share": 0.', '"share": "0.', 1),
        text.replace('"share": 0.', '"share": Infinity, "other": 0.', 1),
        "[]",
    ):
        assert changed != text and verdicts.carried(replace(one, verdict=changed)) is None


def test_a_pack_of_an_older_iowhy_has_no_verdicts_and_is_read(hosts: Path, tmp_path: Path) -> None:
    packed(hosts, tmp_path)
    index = sorted(tmp_path.rglob(INDEX))[0]
    rest = duckdb.sql(f"SELECT * EXCLUDE (verdict) FROM '{index}'").to_arrow_table()
    pq.write_table(rest, index)
    (one,) = entries([index.parent]).values()
    assert one.verdict is None and open_recording(one.path).manifest.host.name == "web000"
