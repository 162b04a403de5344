"""Levers that a verdict prints, as printed, on a disk of known speed: what they do proves the finding, which is true.

sync-free, cpu-quota: tests/live/test_advice.py.
"""

import contextlib
import json
import os
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.lab import ageing
from iowhy.lab.disks import MIB
from iowhy.lab.filesystems import Filesystem
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Choice, Stage, stage
from iowhy.recordings import open_recording
from iowhy.whys.verdict import judge
from shells import shell, typed
from tests.whys.advice import commands_of

pytestmark = pytest.mark.usefixtures("live")
__all__ = ["shell"]

#: What a case prepares in a filesystem; what is typed, the words around that shell, and what is to be done before the experiment.
Case = tuple[str, Sequence[str], Callable[[], object]]


def _nothing() -> None:
    pass


def _streams(_: Stage, __: Filesystem) -> Case:
    return "dd if=/dev/zero of={data}/stream bs=1M count=80 oflag=direct", (), _nothing


def _is_limited(on: Stage, made: Filesystem) -> Case:
    """The shell's own group may read 20 MiB/s."""
    make_file(made.path / "data/file", 16 * MIB, 1)
    number, rate = made.disk.number, 20 * MIB
    within = on.limited(
        "io",
        {
            "blkio.throttle.read_bps_device": {1: f"{number} {rate}"},
            "io.max": {2: f"{number} rbps={rate}"},
        },
    )
    return "dd if={data}/file of=/dev/null bs=1M iflag=direct", within, _nothing


def _may_cache_too_little(on: Stage, made: Filesystem) -> Case:
    """The shell's own group may keep less in memory than the command reads over and over, but not less than iowhy itself needs."""
    make_file(made.path / "data/file", 500 * MIB, 1)
    limit = str(400 * MIB)
    within = on.limited("memory", {"memory.limit_in_bytes": {1: limit}, "memory.max": {2: limit}})
    return f"{work('')[0]} passes --file {{data}}/file --passes 2", within, _nothing


def _waits_for_the_disk(_: Stage, made: Filesystem) -> Case:
    make_file(made.path / "data/file", 2 * MIB, 1)
    return "dd if={data}/file of=/dev/null bs=64K iflag=direct", (), _nothing


def _reads_for_the_first_time(_: Stage, made: Filesystem) -> Case:
    """Small files, each with a way of its own: nothing is read ahead of the need, and one is waited for at a time."""
    files = made.path / "data/files"
    files.mkdir()
    for number in range(200):
        (files / str(number)).write_bytes(os.urandom(MIB // 32))
    return "grep -rlz . {data}/files", (), _nothing


def _is_scattered(_: Stage, made: Filesystem) -> Case:
    """Its file lies where there was room; by the time of the experiment there is more."""
    ageing.comb(made.path, 32 * MIB, 1)
    command = f"{work('')[0]} regions --file {{data}}/table --size 20M --threads 4 --seed 1"
    return command, (), (made.path / "aged-rest").unlink


CASES = [
    pytest.param(_streams, "ext4", "hdd", (), "device-saturated", "io-contention", id="contention"),
    pytest.param(_is_limited, "ext4", "hdd", (), "io-throttled", "io-unlimited", id="unlimited"),
    pytest.param(
        _may_cache_too_little, "ext4", "ssd", (), "cache-thrash", "memory-unlimited", id="memory"
    ),
    pytest.param(
        _waits_for_the_disk, "ext4", "ssd", ("--access-us=30000",), "device-slow", "fast-device", id="fast-device"
    ),
    pytest.param(_reads_for_the_first_time, "ext4", "hdd", (), "cache-cold", "cache-warm", id="cold"),
    pytest.param(_is_scattered, "ext4", "hdd", (), "file-fragmented", "preallocate", id="preallocate"),
]  # fmt: skip


@contextlib.contextmanager
def mounted(real: Path, place: Path) -> Iterator[Path]:
    """A directory of the lab under another name: no experiment is printed about what lies in a lab's own, which is gone when that is read."""
    place.mkdir()
    subprocess.run(["mount", "--bind", real, place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


@pytest.mark.alone  # next to others' work an experiment confirms nothing
@pytest.mark.usefixtures("before_others")
@pytest.mark.parametrize(("prepare", "fs", "device", "changes", "cause", "lever"), CASES)
def test_what_is_printed_proves_what_is_true(
    prepare: Callable[[Stage, Filesystem], Case],
    fs: str,
    device: str,
    changes: tuple[str, ...],
    cause: str,
    lever: str,
    shell: Path,
    tmp_path: Path,
    request: pytest.FixtureRequest,
) -> None:
    if os.geteuid() != 0:
        cannot_run(request, "needs root")
    with stage(Choice(fs=fs, device=device), tmp_path) as on:
        made = on.filesystem(on.disk(1024, changes=changes))
        (made.path / "data").mkdir()
        command, within, then = prepare(on, made)
        made.sync()
        made.cool()
        with mounted(made.path / "data", tmp_path / "data") as data:
            on.start_clock()
            typed(f"iowhy run -o made.iowhy -- {command.format(data=data)}", within)
            verdict = judge(open_recording(shell / "made.iowhy"))
            found = verdict.findings[0]
            assert found.cause == cause, verdict.answer
            assert found.proof is not None and found.proof in commands_of(verdict)
            assert f"experiment {lever} " in found.proof
            then()
            # As few trials as there can be: what is typed is what is tried.
            done = typed(
                found.proof.replace(" --recording ", " --runs 3 --warmup 0 --recording "), within
            )
            why = json.loads(typed("iowhy why --json made.iowhy").stdout)
            on.stop_clock()
        tested = {one["cause"]: one["tested"] for one in why["findings"]}
        assert tested[cause] and tested[cause]["outcome"] == "confirmed", done.stdout
