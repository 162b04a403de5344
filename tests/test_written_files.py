"""Whatever a command writes: under its name when whole, its user's alone, and never through a link that has the name."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.errors import Problem
from iowhy.written_files import opened, put
from tests.command_line import invoke
from tests.whys.made import MS, Story

#: Commands, and the default name or the one that is given.
WRITERS = {
    "html": ("a.html", ["html", "a.iowhy"]),
    "html-two": ("a-against-b.html", ["html", "a.iowhy", "b.iowhy"]),
    "pack": ("a.iowhy.zip", ["pack", "a.iowhy"]),
    "perfetto": ("a.pftrace", ["export", "a.iowhy"]),
    "chrome": ("a.trace.json", ["export", "a.iowhy", "--to", "chrome"]),
    "folded": ("a.folded", ["export", "a.iowhy", "--to", "folded"]),
    "report": ("r.csv", ["report", "files", "a.iowhy", "--format", "csv", "-o", "r.csv"]),
    "sql": ("s.json", ["sql", "a.iowhy", "FROM files", "--json", "-o", "s.json"]),
    "compare": ("c.json", ["compare", "a.iowhy", "b.iowhy", "--export-json", "c.json"]),
}


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("a.iowhy", "b.iowhy"):
        story = Story(seconds=0.2).thread(user=0.5).caller("fsync", 3, blocked=9 * MS)
        story.file(77, "a,b").write(Path(name))


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize("name", WRITERS)
def test_no_command_writes_through_a_planted_link(name: str) -> None:
    file, words = WRITERS[name]
    victim = Path("victim")
    victim.write_text("root's")
    before, umask = victim.stat(), os.umask(0)
    try:
        Path(file).symlink_to("victim")
        assert isinstance(invoke(words).exception, Problem | SystemExit)
        assert invoke([*words, "--force"]).exit_code == 0
        assert (victim.read_text(), victim.stat().st_mode) == ("root's", before.st_mode)
        assert Path(file).lstat().st_mode & 0o170777 == 0o100600
        Path(file).unlink()
        Path(file).symlink_to("nothing")
        assert isinstance(invoke(words).exception, Problem | SystemExit)
        assert not Path("nothing").exists() and Path(file).is_symlink()
    finally:
        os.umask(umask)


@pytest.mark.usefixtures("recorded")
def test_nor_does_a_folder_of_tables() -> None:
    Path("mine").mkdir()
    Path("a.csv").symlink_to("mine")
    assert invoke(["export", "a.iowhy", "--to", "csv", "--force"]).exit_code
    assert not list(Path("mine").iterdir())
    Path("a.csv").unlink()
    assert invoke(["export", "a.iowhy", "--to", "csv"]).exit_code == 0
    assert {one.stat().st_mode & 0o777 for one in Path("a.csv").iterdir()} == {0o600}
    assert Path("a.csv").stat().st_mode & 0o777 == 0o700


def _fifo_of_another(path: Path) -> None:
    os.mkfifo(path)
    os.chown(path, 65534, 65534)


@pytest.mark.parametrize(
    "plant",
    [
        lambda path: path.symlink_to("/dev/null"),
        pytest.param(
            _fifo_of_another, marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
        ),
    ],
)
def test_what_another_put_there_gets_nothing(tmp_path: Path, plant: Callable[[Path], None]) -> None:
    plant(tmp_path / "x")
    for force in (False, True):
        with pytest.raises(Problem) as found:
            put(tmp_path / "x", "secret", force=force)
        assert found.value.sentence.values["path"] == tmp_path / "x"


def test_streams_are_written_as_they_are(capfd: pytest.CaptureFixture[str]) -> None:
    put(Path("/dev/null"), "gone", force=False)
    put(Path("/dev/stdout"), "shown", force=False)
    with opened(Path("/dev/fd/1"), binary=False, force=False) as file:
        file.write(" twice")
    assert "twice" in capfd.readouterr().out


def test_how_readable_a_file_is_stays_what_its_user_chose(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    put(page, "1", force=False)
    page.chmod(0o644)
    put(page, "2", force=True)
    assert (page.read_text(), page.stat().st_mode & 0o777) == ("2", 0o644)
