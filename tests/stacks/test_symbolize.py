"""`iowhy symbolize`: names that come later, by build id."""

import subprocess
import zipfile
from pathlib import Path

import pytest

from iowhy.recordings import Recording, open_recording
from iowhy.recordings.check import check_recording
from iowhy.reports import run
from iowhy.sources import later_names
from iowhy.sources.later_names import symbolize
from tests.command_line import invoke
from tests.numbers_told import tells
from tests.problems import wrong
from tests.reports.conftest import Make
from tests.stacks.conftest import MS, frames, sample, spent

SOURCE = """
__attribute__((noinline)) int leaf(int x) { volatile int y = x; return y; }
int main(int n, char **v) { (void)v; return leaf(n); }
"""


def nameless(make: Make, path: Path, build_id: str | None, addresses: list[int]) -> Recording:
    rows = [
        row | {"offset_bytes": address}
        for row, address in zip(frames({1: [None] * len(addresses)}), addresses, strict=True)
    ]
    return make(
        {
            "thread_time": [spent(0, 100 * MS, user=100 * MS)],
            "modules": [{"module_id": 1, "path": str(path), "build_id": build_id, "kind": "file"}],
            "user_stacks": rows,
            "stack_samples": [sample(1 * MS, 100 * MS, 1, "cpu")],
        }
    )


def functions(rec: Recording) -> list[tuple[object, ...]]:
    with open_recording(rec.path).connected() as connection:
        return connection.execute(
            "SELECT function, line, inlined, depth FROM user_stacks ORDER BY depth"
        ).fetchall()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("program")
    (folder / "made.c").write_text(SOURCE)
    made = folder / "made"
    options = ["-g", "-O1", "-Wl,--build-id=0x00112233445566778899aabbccddeeff00112233"]
    subprocess.run(["cc", *options, str(folder / "made.c"), "-o", str(made)], check=True)
    return made


ID = "00112233445566778899aabbccddeeff00112233"


def address(program: Path, function: str) -> int:
    listed = subprocess.run(["nm", str(program)], check=True, capture_output=True, text=True)
    (line,) = [line for line in listed.stdout.splitlines() if line.endswith(f" T {function}")]
    return int(line.split()[0], 16)


def test_a_file_with_the_build_id_names_its_functions(make: Make, program: Path) -> None:
    rec = nameless(make, program, ID, [address(program, "leaf"), address(program, "main")])
    done = invoke(["symbolize", str(rec.path)])
    assert done.exit_code == 0, done.output
    assert tells(done.output, "2", "2", "2")
    assert functions(rec) == [("leaf", 2, False, 0), ("main", 3, False, 1)]
    assert all(check.ok for check in check_recording(open_recording(rec.path)))
    assert not list(rec.path.glob(".*"))
    assert run(open_recording(rec.path), "callers").column("path") == ["leaf ← main"]
    assert tells(invoke(["symbolize", str(rec.path)]).output, "2", "2", "0")


def test_a_packed_recording_is_named_where_it_lies(
    make: Make, program: Path, tmp_path: Path
) -> None:
    """As it comes to another machine: one file, which stays one, for whom it was."""
    rec = nameless(make, program, ID, [address(program, "leaf"), address(program, "main")])
    to = tmp_path / "sent.zip"
    assert invoke(["pack", str(rec.path), "-o", str(to)]).exit_code == 0
    to.chmod(0o640)
    with zipfile.ZipFile(to) as before:
        names = before.namelist()
    done = invoke(["symbolize", str(to)])
    assert done.exit_code == 0, done.output
    assert tells(done.output, "2", "2", "2")
    packed = open_recording(to)
    assert run(packed, "callers").column("path") == ["leaf ← main"]
    assert all(check.ok for check in check_recording(packed))
    assert to.stat().st_mode & 0o777 == 0o640
    with zipfile.ZipFile(to) as after:
        assert [name.split("/")[1:] for name in after.namelist()] == [
            name.split("/")[1:] for name in names
        ]
        assert {name.split("/")[0] for name in after.namelist()} == {"sent"}
    assert functions(rec) == [(None, None, False, 0), (None, None, False, 1)]
    assert [one.name for one in tmp_path.iterdir() if one.name.startswith(".")] == []


@pytest.mark.parametrize("build_id", [None, "ff" * 20])
def test_another_file_of_that_path_names_nothing(
    make: Make, program: Path, build_id: str | None
) -> None:
    rec = nameless(make, program, build_id, [address(program, "leaf")])
    before = sorted(file.stat().st_mtime_ns for file in rec.path.rglob("*"))
    found = symbolize(rec, 60.0)
    assert (found.named, found.addresses) == (0, 1)
    assert found.without == ((str(program), build_id),)
    assert functions(rec) == [(None, None, False, 0)]
    assert sorted(file.stat().st_mtime_ns for file in rec.path.rglob("*")) == before


def test_inlined_functions_become_frames_of_their_own(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    rec = nameless(make, Path("/usr/bin/app"), ID, [0x10, 0x20])
    told = [
        {
            "place": place,
            "last": place == 1,
            "function": name,
            "file": "/src/a.c",
            "line": 7 + place,
        }
        for place, name in enumerate(("inner", "outer"))
    ]
    monkeypatch.setattr(later_names, "_answers", lambda *_: ({(1, 0x10): told}, []))
    symbolize(rec, 60.0)
    assert functions(rec) == [
        ("inner", 7, True, 0), ("outer", 8, False, 1), (None, None, False, 2)
    ]  # fmt: skip


def test_what_cannot_be_rewritten_is_said(make: Make) -> None:
    with wrong("no-user-stacks"):
        symbolize(make({"thread_time": [spent(0, 100 * MS)]}), 1.0)
