"""Through sudo: what the user asks to be run is run as them, and root follows nothing that they can swap."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.compare.commands import compare_commands
from iowhy.errors import Problem
from iowhy.experiment.experiment import Request, experiment
from iowhy.experiment.job import Job
from iowhy.users import invoking_user

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
    experiment(Request(job=job(place), levers=levers, runs=3, seed=1, allow_unsafe=True))
    # Set-up, clean-up, a profile, and three blocks of the baseline and three levers, each of three lines.
    all_were_nobody(place, 2 + 3 * (1 + 3 * 4))


def test_commands_that_are_compared_are_the_users(place: Path) -> None:
    compare_commands(job(place), [WHO], runs=3, least=3, most=3, warmup=0, seed=1)
    all_were_nobody(place, 2 + 3 * (3 * 2))


def test_the_input_is_one_that_the_user_may_read(place: Path) -> None:
    secret = place / "secret"
    secret.write_text("root's")
    secret.chmod(0o600)
    with pytest.raises(Problem, match="Permission denied"):
        experiment(Request(job=job(place, input_file=secret), levers=("cpu-quota",), runs=3))
