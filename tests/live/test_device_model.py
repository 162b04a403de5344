"""`iowhy device-model` on an emulated disk: numbers as the disk is made to have, and nothing left on it."""

import os
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.lab.stage import Choice, stage
from iowhy.model.device_kind import Device, device_of
from tests.command_line import invoke


def measured(kind: str, folder: Path) -> Device:
    """What it says of a kind of disk; the folder is as empty as it was."""
    with stage(Choice(fs="ext4", device=kind), folder) as made:
        place = made.scratch_filesystem(512).path
        there, free = sorted(place.iterdir()), os.statvfs(place).f_bfree
        made.start_clock()
        model = folder / f"{kind}.toml"
        done = invoke(["device-model", str(place), "-o", str(model)])
        assert done.exception is None
        assert sorted(place.iterdir()) == there and os.statvfs(place).f_bfree == free
    return device_of(str(model))


def test_a_disk_is_measured_as_it_is_made(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    if os.geteuid() != 0:
        cannot_run(request, "needs root")
    # A file that has holes answers reads of them from nowhere: those of what was written count.
    assert "reads of 128 MiB" in measured("file", tmp_path).source
    flash, slow = measured("ssd", tmp_path), measured("flush-slow", tmp_path)
    disk = measured("hdd", tmp_path)
    # The emulated flash answers in 80 µs, flushes in 1 or 20 ms and has no arm; the disk has one, and a cache.
    assert flash.access_ns(1 << 24) / 1e3 >= 80 and flash.flush_us >= 1000
    assert slow.flush_us >= 20_000 and not flash.has_arm
    assert disk.has_arm and disk.cache_mib > 0 and disk.access_ns(1 << 26) > 4e6
