"""Answers that are kept from one call to the next: only what holds, only where it is the user's own."""

import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.overview import overview
from iowhy.recording import Recording
from iowhy.relations import Relations, kept
from tests.reports.conftest import MS, Make, request

BYTES = "SELECT sum(bytes) AS bytes, avg(bytes) AS mean, list(op) AS ops, NULL AS nothing FROM command_requests"


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own cache, empty."""
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder))
    return folder / "iowhy"


@pytest.fixture
def recording(make: Make) -> Recording:
    return make({"block_requests": [request(0, MS), request(MS, MS)]})


def ask(recording: Recording) -> tuple[list[tuple[object, ...]], bool]:
    """The answer, and whether the recording had to be opened for it."""
    with Relations.of(recording, keep=True) as relations:
        found = relations.rows(BYTES)
        assert relations.has("block_requests")
        return found, relations._opened is not None


def test_what_was_asked_before_is_not_asked_again(recording: Recording) -> None:
    first, opened = ask(recording)
    assert opened
    assert ask(recording) == (first, False)


def test_a_verdict_is_the_same_from_kept_answers(recording: Recording, cache: Path) -> None:
    first = overview(recording, keep=True)
    (file,) = cache.iterdir()
    before = file.read_bytes()
    again = overview(recording, keep=True)
    assert (again.verdict, again.threads) == (first.verdict, first.threads)
    assert (again.calls, again.devices, again.files) == (first.calls, first.devices, first.files)
    assert file.read_bytes() == before


def test_a_verdict_from_kept_answers_needs_no_query(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    overview(recording, keep=True)
    monkeypatch.setattr(Recording, "open_tables", lambda _: pytest.fail("was opened"))
    overview(recording, keep=True)


def test_a_recording_that_changed_is_asked_anew(recording: Recording) -> None:
    ask(recording)
    (file,) = recording.files("block_requests")
    now = file.stat()
    os.utime(file, ns=(now.st_atime_ns, now.st_mtime_ns + 1))
    assert ask(recording)[1]


def test_other_definitions_are_asked_anew(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    ask(recording)
    monkeypatch.setattr(kept, "_installed", lambda: "others")
    assert ask(recording)[1]


def test_definitions_are_known_by_their_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for package in kept.DEFINITIONS:
        (tmp_path / package.removeprefix("iowhy.")).mkdir()
    file = tmp_path / "relations" / "one.sql"
    file.write_text("SELECT 1")
    monkeypatch.setattr(kept, "__file__", str(tmp_path / "relations" / "kept.py"))
    installed = kept._installed.__wrapped__
    first = installed()
    now = file.stat()
    os.utime(file, ns=(now.st_atime_ns, now.st_mtime_ns + 1))
    later = installed()
    (tmp_path / "recording" / "two.py").write_text("")
    assert len({first, later, installed()}) == 3


@given(text=st.binary(max_size=80) | st.sampled_from([b"[]", b"{}", b'{"a": 1}', b'{"a": [1, 2]}']))
def test_a_file_that_is_none_is_passed_over(recording: Recording, cache: Path, text: bytes) -> None:
    first, _ = ask(recording)
    (file,) = cache.iterdir()
    file.write_bytes(text)
    assert ask(recording)[0] == first


def test_only_the_users_own_directory_is_believed(recording: Recording, cache: Path) -> None:
    ask(recording)
    cache.chmod(0o777)
    assert ask(recording)[1]
    cache.chmod(0o700)
    assert not ask(recording)[1]
    cache.rename(cache.with_name("elsewhere"))
    cache.symlink_to(cache.with_name("elsewhere"))
    assert ask(recording)[1]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user's root")
def test_root_leaves_nothing_in_a_users_home(recording: Recording, cache: Path) -> None:
    os.chown(cache.parent, 65534, 65534)
    assert ask(recording)[1]
    assert not cache.exists()


def test_without_a_home_nothing_is_kept(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.delenv("HOME", raising=False)
    assert ask(recording)[1]
    assert ask(recording)[1]


def test_the_oldest_go_and_files_are_private(
    make: Make, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 2)
    for at in range(3):
        recording = make({"block_requests": [request(at, MS)]})
        ask(recording)
        for file in cache.iterdir():
            os.utime(file, (at, at))
    assert len(list(cache.iterdir())) == 2
    assert {file.stat().st_mode & 0o777 for file in cache.iterdir()} == {0o600}
    assert all(json.loads(file.read_bytes()) for file in cache.iterdir())
