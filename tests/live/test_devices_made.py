"""Disks that are made while it records, and are gone when it ends: their facts are in the recording."""

from pathlib import Path

import pytest

from conftest import cannot_run
from machine import ask, disk_number, record, run

pytestmark = pytest.mark.usefixtures("live")

MEBIBYTE = 2**20
SIZE, WRITTEN = 64 * MEBIBYTE, MEBIBYTE
#: How a disk is made, and taken away: a loop device stays, without its file, a zram goes.
LOOP = ("disk=$(losetup --find --show {image})", "losetup -d $disk")
ZRAM = (
    "number=$(cat /sys/class/zram-control/hot_add); disk=/dev/zram$number;"
    f" echo {SIZE} > /sys/block/zram$number/disksize",
    "echo 1 > /sys/block/zram$number/reset; echo $number > /sys/class/zram-control/hot_remove",
)
#: The recorder looks ten times a second.
WORK = """set -e
{make}
echo ${{disk#/dev/}} > {folder}/name
mkfs.ext4 -q -F $disk
mkdir {folder}/made
mount -o noatime $disk {folder}/made
dd if=/dev/zero of={folder}/made/file bs=64k count=16 conv=fsync
sleep 1
umount {folder}/made
{end}
"""


@pytest.mark.parametrize("kind", ["loop", "zram"])
def test_a_disk_that_came_and_went_has_its_facts(
    tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    if kind == "zram" and not Path("/sys/class/zram-control/hot_add").exists():
        cannot_run(request, "there is no zram here")
    image = tmp_path / "image"
    run("truncate", "-s", str(SIZE), str(image))
    make, end = LOOP if kind == "loop" else ZRAM
    script = WORK.format(make=make.format(image=image), end=end, folder=tmp_path)
    recording = record(["sh", "-c", script], tmp_path / "a.iowhy")
    name = (tmp_path / "name").read_text().strip()
    ((dev, size, below),) = ask(
        recording, "SELECT dev, size_bytes, below_dev FROM devices WHERE name = ?", name
    )
    assert size == SIZE
    layers = ask(recording, "SELECT below_dev FROM device_layers WHERE dev = ?", dev)
    if kind == "loop":
        assert dev == disk_number(name) and below is not None and layers == [(below,)]
    else:
        assert not Path("/sys/block", name).exists() and layers == []
    mounted = "SELECT kind, mount FROM filesystems WHERE disk_dev = ?"
    assert ask(recording, mounted, dev) == [("ext4", str(tmp_path / "made"))]
    if kind == "zram":  # whose requests the kernel does not trace
        return
    written = """SELECT sum(bytes) FROM block_requests b JOIN files f ON f.dev = b.owner_dev AND f.ino = b.owner_ino
        WHERE f.path = ? AND b.op = 'write' AND b.dev = ?"""
    assert ask(recording, written, str(tmp_path / "made/file"), dev) == [(WRITTEN,)]
