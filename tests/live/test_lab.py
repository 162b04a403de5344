"""The lab on this machine: disks that do what they say, nothing left behind, and two cases found."""

import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.lab import verify
from iowhy.lab.disks import MIB
from iowhy.lab.scenarios import scenario
from iowhy.lab.stage import Choice, stage
from iowhy.sources.live import program
from iowhy.undo import recover
from machine import disk_counters

pytestmark = pytest.mark.usefixtures("live")


@pytest.fixture(autouse=True)
def own_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No other test's journal is replayed here, nor this one's there."""
    monkeypatch.setenv("IOWHY_STATE", str(tmp_path / "state"))


def test_the_emulated_disk_receives_what_the_block_layer_sends(tmp_path: Path) -> None:
    with stage(Choice("ext4", "hdd"), tmp_path) as made:
        filesystem = made.scratch_filesystem(256)
        disk = filesystem.disk
        before, counted = disk.statistics(), disk_counters(disk.name)
        subprocess.run(
            [
                program("iowhy-work"), "seqwrite", "--direct", "--fsync-every", "8",
                "--bytes", "32M", "--block", "512K", "--file", filesystem.path / "data",
            ],
            check=True,
            stdout=subprocess.DEVNULL,
        )  # fmt: skip
        filesystem.sync()
        after, now = disk.statistics(), disk_counters(disk.name)
    assert before is not None and after is not None
    received = {
        key: int(str(after[key])) - int(str(before[key])) for key in counted if key in after
    }
    sent = {key: now[key] - counted[key] for key in received}
    # A write of nothing that asks for a flush counts as a write above and arrives as a flush alone.
    empty = sent.pop("writes") - received.pop("writes")
    assert 0 <= empty <= received["flushes"]
    assert received == sent
    assert received["written_bytes"] >= 32 * MIB and received["flushes"] >= 8
    # 64 writes of 512 KiB arrive whole, and the journal's little.
    assert int(str(after["writes"])) - int(str(before["writes"])) < 200


@pytest.mark.usefixtures("before_others")
@pytest.mark.parametrize(
    ("name", "fs", "scale"),
    [
        ("imdb", "ext4", 0.5),
        ("imdb", "xfs", 0.5),
        ("imdb", "btrfs", 0.3),
        ("smallfiles", "ext4", 0.5),
        ("stalling-disk", "ext4", 1.0),
        ("slow-twin", "ext4", 0.5),
    ],
)
def test_the_cause_of_a_case_is_found(name: str, fs: str, scale: float, tmp_path: Path) -> None:
    one = scenario(name)
    (check,) = verify.verify([one], fs=fs, scale=scale, parent=tmp_path)
    assert check.broken is not None, check.why
    assert check.broken.found in one.broken.causes, check.document()
    assert check.fixed is not None and check.fixed.seconds < check.broken.seconds


def test_a_disk_that_fails_requests_is_named_first(tmp_path: Path) -> None:
    (check,) = verify.verify([scenario("failing-disk")], fs="ext4", parent=tmp_path)
    assert check.broken is not None and check.broken.top is not None, check.why
    assert check.broken.top.cause == "device-failing", check.document()
    errors = next(
        said for said in check.broken.top.chain if said.statement.id == "device-failing.errors"
    )
    assert errors.value == check.broken.statistics[0]["failed"]
    logged = next(said for said in check.broken.top.chain if said.statement.id == "health.logged")
    # The kernel says each ten times in five seconds at most.
    assert 1 <= logged.value <= errors.value


def test_after_a_kill_everything_can_be_put_back(tmp_path: Path) -> None:
    """kill -9 while a case runs: its mounts, loop device, disk and directory go with the next start."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    lab = subprocess.Popen(
        [sys.executable, "-m", "iowhy.cli.main", "lab", "run", "smallfiles", "--dir", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        _until(lambda: any(folder.glob("*/fs0/files/*")))
        assert _left(folder)
    finally:
        lab.send_signal(signal.SIGKILL)
        lab.wait()
    assert recover()
    assert _left(folder) == []
    assert recover() == []


def _left(folder: Path) -> list[str]:
    """Mounts, loop devices, processes and files of ours below a directory."""
    mounts = Path("/proc/self/mountinfo").read_text().splitlines()
    found = [line for line in mounts if f" {folder}/" in line]
    for backing in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            text = backing.read_text()
        except OSError:
            continue
        found += [text] if text.startswith(str(folder)) else []
    for commandline in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            text = commandline.read_bytes().decode(errors="replace").replace("\0", " ")
        except OSError:
            continue
        found += [text] if text.split(" ")[0].endswith("iowhy-disk") and str(folder) in text else []
    return found + [path.name for path in folder.iterdir()]


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "the lab does not start"
        time.sleep(0.02)


def test_what_is_to_be_warm_is_in_memory(tmp_path: Path) -> None:
    """All of it, though it was dropped after it was made, as kernels do that page out what nobody has used for a while."""
    with stage(Choice("ext4", "memory"), tmp_path) as made:
        filesystem = made.scratch_filesystem(256)
        (filesystem.path / "sub").mkdir()
        path = filesystem.path / "sub" / "data"
        path.write_bytes(bytes(5 * MIB + 1))
        (filesystem.path / "link").symlink_to(path)
        filesystem.sync()
        filesystem.cool()
        assert _resident_bytes(path) == 0
        filesystem.warm()
        assert _resident_bytes(path) == 5 * MIB + 4096


def _resident_bytes(path: Path) -> int:
    argv = ["fincore", "--bytes", "--noheadings", "--output", "RES", str(path)]
    return int(subprocess.run(argv, check=True, capture_output=True, text=True).stdout)
