"""What root writes into another user's recording is theirs, and goes nowhere that they could not write."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from iowhy.experiments.result import save_beside
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.manifest import Manifest
from iowhy.recordings.packer import pack
from iowhy.recordings.rewrite import rewrite
from iowhy.recordings.writer import write_recording
from tests.problems import wrong

NOBODY = 65534
OLD, NEW = ({"stack_id": 1, "frames": [name]} for name in ("old", "new"))


@pytest.fixture
def home() -> Iterator[Path]:
    """A directory of nobody's, where they can reach it."""
    if os.geteuid() != 0:
        pytest.skip("needs root")
    folder = Path(tempfile.mkdtemp(prefix="iowhy-test-", dir="/var/tmp"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture
def theirs(home: Path) -> Recording:
    path = home / "a.iowhy"
    write_recording(path, Manifest.made(), {"stacks": [OLD]})
    for made in (path, *path.rglob("*")):
        os.chown(made, NOBODY, NOBODY)
    return open_recording(path)


def all_are_nobodys(path: Path) -> None:
    for made in (path, *path.rglob("*")):
        found = made.lstat()
        assert (found.st_uid, found.st_gid, found.st_mode & 0o077) == (NOBODY, NOBODY, 0), made


def frames(path: Path) -> list[tuple[object, ...]]:
    with open_recording(path).connected() as connection:
        return connection.execute("SELECT frames FROM stacks").fetchall()


def test_rows_that_root_puts_there_are_theirs(theirs: Recording) -> None:
    rewrite(theirs, "stacks", [NEW])
    assert frames(theirs.path) == [(["new"],)]
    all_are_nobodys(theirs.path)
    assert os.geteuid() == 0


def test_a_result_that_root_keeps_there_is_theirs_whatever_the_umask(
    theirs: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("iowhy.experiments.result.as_json", lambda _: {})
    before = os.umask(0)
    try:
        kept = save_beside(theirs.path, None)  # type: ignore[arg-type]
    finally:
        os.umask(before)
    assert kept.read_text() == "{}\n"
    all_are_nobodys(theirs.path)


def test_root_writes_nothing_there_that_they_could_not_write(
    theirs: Recording, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So a link that they put in the way leads to nothing of root's."""
    monkeypatch.setattr("iowhy.experiments.result.as_json", lambda _: {})
    theirs.path.chmod(0o500)
    with wrong("cannot-be-written", error="Permission denied"):
        rewrite(theirs, "stacks", [NEW])
    with wrong("path-error", error="Permission denied"):
        save_beside(theirs.path, None)  # type: ignore[arg-type]
    theirs.path.chmod(0o700)
    assert frames(theirs.path) == [(["old"],)]
    packed = pack(theirs, home / "a.iowhy.zip").file
    os.chown(packed, NOBODY, NOBODY)
    home.chmod(0o500)
    with wrong("cannot-be-written", error="Permission denied"):
        rewrite(open_recording(packed), "stacks", [NEW])
    home.chmod(0o700)
    rewrite(open_recording(packed), "stacks", [NEW])
    all_are_nobodys(packed)
    assert sorted(one.name for one in home.iterdir()) == ["a.iowhy", "a.iowhy.zip"]
