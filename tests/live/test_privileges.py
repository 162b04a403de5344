"""Through sudo: what the user asks to be run is run as them, and root follows nothing that they can swap."""

import grp
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.comparisons.commands import compare_commands
from iowhy.experiments.experiment import Request, experiment
from iowhy.experiments.job import Job
from iowhy.fleet.cache_folder import cache_folder
from iowhy.recordings import open_recording
from iowhy.sources.live import RECORDER, owned, program
from iowhy.users import invoking_user
from tests.problems import wrong

NOBODY = 65534
WHO = "echo $(id -u) $(id -g) $(sed -n 's/^CapEff:\\t*//p' /proc/self/status) $HOME $USER >> ../who"


@pytest.fixture
def place(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[Path]:
    """A directory of nobody's, and an environment as sudo leaves it."""
    if os.geteuid() != 0:
        cannot_run(request, "needs root")
    folder = Path(tempfile.mkdtemp(prefix="iowhy-test-", dir="/var/tmp"))
    # What commands write lies beside their work directory: levers show them copies of that.
    for path in (folder, folder / "work"):
        path.mkdir(exist_ok=True)
        os.chown(path, NOBODY, NOBODY)
    monkeypatch.setenv("SUDO_USER", "nobody")
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))
    yield folder
    shutil.rmtree(folder)


def job(place: Path, **more: object) -> Job:
    return Job(
        command=("sh", "-c", WHO),
        directory=place / "work",
        prepare=(WHO,),
        conclude=(WHO,),
        setup=WHO,
        cleanup=WHO,
        user=invoking_user(),
        **more,  # type: ignore[arg-type]
    )


def all_were_nobody(place: Path, times: int) -> None:
    lines = (place / "who").read_text().splitlines()
    assert len(lines) == times
    for line in lines:
        uid, gid, capabilities, _home, user = line.split()
        assert (int(uid), int(gid), int(capabilities, 16), user) == (NOBODY, NOBODY, 0, "nobody")
    assert (place / "who").stat().st_uid == NOBODY


def test_levers_alone_are_roots_in_an_experiment(place: Path) -> None:
    levers = ("cpu-quota=0.5", "fast-device", "sync-free")
    found = experiment(Request(job=job(place), levers=levers, runs=3, seed=1, allow_unsafe=True))
    # Set-up, clean-up, a profile, and three blocks of the baseline and three levers, each of three lines; and what others disturbed.
    all_were_nobody(place, 2 + 3 * (1 + 3 * 4 + found.repeated))


def test_commands_that_are_compared_are_the_users(place: Path) -> None:
    found, _ = compare_commands(job(place), [WHO], runs=3, least=3, most=3, warmup=0, seed=1)
    all_were_nobody(place, 2 + 3 * (3 * 2 + found.repeated))


def test_the_input_is_one_that_the_user_may_read(place: Path) -> None:
    secret = place / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    with wrong("command-message") as found:
        experiment(Request(job=job(place, input_file=secret), levers=("cpu-quota",), runs=3))
    assert "Permission denied" in str(found.value.sentence.values["message"])


@pytest.mark.usefixtures("live")
def test_a_recording_that_is_swapped_while_it_is_made_gives_nothing_away(place: Path) -> None:
    """The command renames its own recording and puts a link to root's files in its place."""
    victim = place / "victim"
    (victim / "syscalls").mkdir(parents=True)
    (victim / "manifest.json").write_text("precious")
    for path in (victim / "syscalls", victim / "manifest.json"):
        path.chmod(0o700)
    out = place / "r.iowhy"
    swap = f"mv {out} {place}/m && ln -s {victim} {out}; sleep 0.3"
    done = subprocess.run(
        [sys.executable, "-m", "iowhy", "run", "-q", "-o", out, "--", "sh", "-c", swap],
        cwd=place,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert (place / "m").is_dir() and out.is_symlink()
    for path in (victim, victim / "syscalls", victim / "manifest.json"):
        assert path.stat().st_uid == 0, path
    assert (victim / "manifest.json").read_text() == "precious"
    assert list((victim / "syscalls").iterdir()) == []
    recording = open_recording(place / "m")
    assert recording.manifest.complete and recording.manifest.command.user == "nobody"
    for path in [place / "m", *(place / "m").rglob("*")]:
        found = path.lstat()
        assert (found.st_uid, found.st_mode & 0o077) == (NOBODY, 0), path


def test_root_s_cache_is_not_the_user_s(
    place: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """sudo leaves HOME as root's, where the user may not even look."""
    home, user = tmp_path / "root", invoking_user()
    (home / ".cache" / "iowhy").mkdir(parents=True)
    home.chmod(0o700)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(home))
    assert user is not None and cache_folder() == home / ".cache" / "iowhy"
    with user.acting():
        assert cache_folder() is None
    os.chown(place / "work", user.uid, user.gid)
    monkeypatch.setenv("HOME", str(place / "work"))
    assert cache_folder() is None
    with user.acting():
        assert cache_folder() == place / "work" / ".cache" / "iowhy"


def test_the_recorder_is_told_the_groups_of_whom_it_works_for(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A directory that only one of these may write takes a recording: store/tests/private.rs."""
    members = [(name, group.gr_gid) for group in grp.getgrall() for name in group.gr_mem]
    member, team = next((one for one in members if one[0] != "root"), (None, None))
    if os.geteuid() != 0 or member is None:
        cannot_run(request, "needs root, and a user who is in another group")
    monkeypatch.setenv("SUDO_USER", member)
    user = invoking_user()
    assert user is not None
    uid, gid, groups = owned({})["IOWHY_OWNER"].split(":")
    assert (int(uid), int(gid)) == (user.uid, user.gid)
    assert team in map(int, groups.split(","))


@pytest.mark.usefixtures("live")
def test_a_recording_of_roots_is_roots_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        subprocess.run(
            [sys.executable, "-m", "iowhy", "run", "-q", "-o", tmp_path / "r.iowhy", "--", "true"],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            timeout=120,
            check=True,
        )
    finally:
        os.umask(before)
    for path in [tmp_path / "r.iowhy", *(tmp_path / "r.iowhy").rglob("*")]:
        found = path.lstat()
        assert (found.st_uid, found.st_mode & 0o077) == (0, 0), path


@pytest.mark.usefixtures("live")
def test_the_recorder_alone_does_the_same_and_says_what_is_next(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SUDO_UID", str(NOBODY))
    for name in ("sh.iowhy", "sh-2.iowhy"):
        done = subprocess.run(
            [program(RECORDER), "run", "--", "sh", "-c", "id -u"],
            cwd=place,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert done.stdout == f"{NOBODY}\n" and f"`iowhy why {name}`" in done.stderr
        assert open_recording(place / name).manifest.command.user == "nobody"
        for path in [place / name, *(place / name).rglob("*")]:
            found = path.lstat()
            assert (found.st_uid, found.st_mode & 0o077) == (NOBODY, 0), path
