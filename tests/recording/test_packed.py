"""A recording goes into one file and is read from there; a file from anybody writes nothing that is not its own."""

import io
import os
import resource
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.commands.overview import overview
from iowhy.errors import Problem
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.check import check_recording
from iowhy.recordings.manifest import MOST_TABLES, Manifest
from iowhy.recordings.packed import unpacked
from iowhy.recordings.packer import pack
from iowhy.recordings.writer import write_recording
from tests.command_line import invoke
from tests.problems import wrong
from tests.whys.made import MS, Story

RESULT = '{"iowhy": {"findings": []}}'


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    story = Story(seconds=1.0).caller("fsync", 30, blocked=9 * MS, bytes_=None)
    made = story.write(tmp_path / "a.iowhy")
    (made.path / "experiments").mkdir()
    (made.path / "experiments" / "000004.json").write_text(RESULT)
    return made


def rows(recording: Recording) -> dict[str, list[object]]:
    with recording.connected() as connection:
        return {
            name: connection.execute(f"SELECT * FROM {name}").fetchall()
            for name in ("syscalls", "thread_time", "threads")
        }


def test_a_pack_holds_what_the_recording_does(recording: Recording, tmp_path: Path) -> None:
    made = pack(recording, tmp_path / "b.zip")
    assert made.file.stat().st_mode & 0o777 == 0o600 and made.bytes == made.file.stat().st_size
    back = open_recording(made.file)
    assert rows(back) == rows(recording) and back.manifest == recording.manifest
    assert (back.folder / "experiments" / "000001.json").read_text() == RESULT
    assert back.folder.stat().st_mode & 0o777 == 0o700
    assert {one.stat().st_mode & 0o077 for one in back.folder.rglob("*")} == {0}
    assert all(check.ok for check in check_recording(back))
    assert overview(back).verdict.answer == overview(recording).verdict.answer
    again = pack(recording, tmp_path / "c.zip")
    assert again.file.read_bytes() == made.file.read_bytes()


def test_any_program_unpacks_it_to_a_recording(recording: Recording, tmp_path: Path) -> None:
    with zipfile.ZipFile(pack(recording, tmp_path / "b.zip").file) as archive:
        assert archive.testzip() is None
        archive.extractall(tmp_path / "there")
    assert rows(open_recording(tmp_path / "there" / "a.iowhy")) == rows(recording)


def test_tables_of_a_newer_iowhy_are_packed_too(recording: Recording, tmp_path: Path) -> None:
    (recording.path / "newer").mkdir()
    source = next(recording.path.glob("threads/*.parquet"))
    (recording.path / "newer" / "x.parquet").write_bytes(source.read_bytes())
    (recording.path / "newer" / "y.parquet").symlink_to("/etc/passwd")
    back = open_recording(pack(recording, tmp_path / "b.zip").file)
    assert [one.name for one in (back.folder / "newer").iterdir()] == ["000001.parquet"]


def archive(*entries: tuple[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as made, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that is there twice
        for name, content in entries:
            made.writestr(name, content)
    return out.getvalue()


MANIFEST = ("a.iowhy/manifest.json", b"{}")
BAD_NAMES = [
    "../x.parquet",
    "a.iowhy/../../x",
    "/etc/cron.d/x",
    "a.iowhy/syscalls/../000001.parquet",
    "a.iowhy/syscalls/000001.parquet/x",
    "a.iowhy/experiments/000001.parquet",
    "a.iowhy/syscalls/000001.json",
    "a.iowhy/syscalls/",
    "a.iowhy/.x/1.parquet",
    "a.iowhy\\manifest.json",
    "manifest.json",
    "a.iowhy/syscalls/" + "1" * 5000 + ".parquet",
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_only_the_names_of_a_recording_are_written(tmp_path: Path, name: str) -> None:
    file = tmp_path / "b.zip"
    file.write_bytes(archive(MANIFEST, (name, b"x")))
    with wrong("pack-holds-other-files", path=file, name=name[:200]):
        open_recording(file)


@pytest.mark.parametrize(
    ("data", "id_"),
    [
        (archive(MANIFEST, MANIFEST), "packed-member-twice"),
        (archive(MANIFEST, ("b.iowhy/threads/1.parquet", b"x")), "packed-not-one-recording"),
        (archive(("a.iowhy/threads/1.parquet", b"x")), "packed-not-one-recording"),
        (archive(MANIFEST, method=zipfile.ZIP_DEFLATED), "pack-of-another-program"),
        (archive(MANIFEST).replace(b"{}PK", b"{]PK", 1), "packed-member-damaged"),
        (archive(MANIFEST)[:40], "packed-cut-off"),
        (archive(MANIFEST)[:52], "packed-bytes-missing"),
        (archive(MANIFEST, ("a.iowhy/threads/1.parquet", b"x" * 99))[:150], "packed-bytes-missing"),
        # A length that the file does not have.
        (
            archive(MANIFEST).replace(b"\2\0\0\0\2\0\0\0", b"\0\0\0\x7f\0\0\0\x7f", 1),
            "packed-bytes-missing",
        ),
    ],
    ids=["twice", "two", "none", "deflated", "crc", "in-name", "in-content", "in-next", "length"],
)
def test_what_the_packer_would_not_write_is_one_message(
    tmp_path: Path, data: bytes, id_: str
) -> None:
    file = tmp_path / "b.zip"
    file.write_bytes(data)
    with wrong(id_) as found:
        unpacked(file)
    assert str(file) in str(found.value)


def test_a_pack_without_room_is_one_message(
    recording: Recording, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = pack(recording, tmp_path / "b.zip")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("iowhy.recordings.packed.copy_bytes", full)
    with wrong("cannot-be-unpacked", path=made.file, error="No space left on device"):
        open_recording(made.file)
    monkeypatch.setattr("iowhy.recordings.packer.copy_bytes", full)
    with wrong("cannot-be-written", path=tmp_path / "c.zip") as unwritten:
        pack(recording, tmp_path / "c.zip")
    assert str(unwritten.value.sentence.values["error"]).startswith("No space left on device")
    assert not list(tmp_path.glob("*c.zip*")), "nothing half written stays"


@pytest.mark.usefixtures("recording")
def test_every_command_reads_a_pack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = invoke(["pack", "a.iowhy/"])
    assert made.exit_code == 0 and made.stdout.startswith("a.iowhy.zip: ")
    assert "`iowhy why a.iowhy.zip`" in made.stdout
    for words in (["why"], ["report", "threads"], ["check"]):
        of_directory = invoke([*words, "a.iowhy"])
        assert of_directory.exit_code == 0 and of_directory.exception is None
        printed = invoke([*words, "a.iowhy.zip"]).stdout
        assert printed.replace("a.iowhy.zip", "a.iowhy") == of_directory.stdout
    assert invoke(["report", "a.iowhy.zip", "threads"]).exception is None
    query = "SELECT count(*) AS n FROM syscalls"
    assert invoke(["sql", "a.iowhy.zip", query, "--format", "csv"]).stdout == "n\n30\n"
    compared = invoke(["compare", "a.iowhy", "a.iowhy.zip"])
    assert compared.exception is None and "\na against " not in compared.stdout
    for words, id_ in (
        (["pack", "a.iowhy.zip"], "packed-already"),
        (["pack", "a.iowhy"], "file-exists"),
        (["why", "a.iowhy/manifest.json"], "not-a-recording"),
    ):
        problem = invoke(words).exception
        assert isinstance(problem, Problem) and problem.sentence.id == id_
    assert invoke(["pack", "--force", "a.iowhy"]).exception is None


def test_an_incomplete_recording_stays_incomplete(tmp_path: Path) -> None:
    cut = write_recording(tmp_path / "a.iowhy", replace(Manifest.made(), complete=False), {})
    assert not open_recording(pack(cut, tmp_path / "b.zip").file).manifest.complete


def test_a_pack_of_many_folders_is_one_line_before_they_are_made(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("a.iowhy/manifest.json", "{}")
        for number in range(MOST_TABLES):
            archive.writestr(f"a.iowhy/t{number}/000001.parquet", b"")
    with wrong("packed-too-many-folders", path=tmp_path / "a.zip", most_tables=1000):
        unpacked(tmp_path / "a.zip")


@pytest.mark.parametrize("kib", [120_000, 256_000, 1_000_000])
def test_too_little_address_space_is_one_line(
    tmp_path: Path, recording: Recording, kib: int
) -> None:
    words = [sys.executable, "-m", "iowhy", "report", "syscalls", str(recording.path)]
    limits = (kib << 10, kib << 10)
    done = subprocess.run(
        words,
        capture_output=True,
        text=True,
        env={
            **os.environ,
            "PYTHONPATH": os.pathsep.join(sys.path),
            "XDG_CACHE_HOME": str(tmp_path),
        },
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, limits),
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert "ulimit -v" in done.stderr and done.stderr.count("\n") == 1
