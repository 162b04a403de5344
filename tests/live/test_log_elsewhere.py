"""A filesystem whose log, or second device, lies on a partition of another filesystem's disk: what is flushed there is for who syncs."""

from pathlib import Path

import pytest

from iowhy.relations import Relations
from machine import disk_counters, disk_number, filesystem, loop_device, python, record, run

pytestmark = pytest.mark.usefixtures("live")

SYNCED = 60
WORK = """
import os, sys
file = open(sys.argv[1] + "/file", "wb", buffering=0)
for _ in range(int(sys.argv[2])):
    file.write(bytes(4096))
    os.fsync(file.fileno())
"""
MEBIBYTE = 2**20
#: In sectors: the filesystem of others, then the log.
PARTITIONS = ((2048, 600_000), (602_112, 262_144))


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_flushes_of_a_log_beside_another_filesystem_are_of_who_syncs(
    tmp_path: Path, kind: str
) -> None:
    with loop_device(tmp_path / "shared.img", 512 * MEBIBYTE) as shared:
        for number, (start, length) in enumerate(PARTITIONS, 1):
            run("addpart", shared, str(number), str(start), str(length))
        others, log = tmp_path / "others", f"{shared}p2"
        others.mkdir()
        run("mkfs.ext4", "-q", "-F", f"{shared}p1")
        if kind == "ext4":
            run("mke2fs", "-q", "-F", "-b", "4096", "-O", "journal_dev", log)
        made = ("-b", "4096", "-J", f"device={log}") if kind == "ext4" else ("-l", f"logdev={log}")
        options = "noatime" if kind == "ext4" else f"noatime,logdev={log}"
        run("mount", f"{shared}p1", str(others))
        try:
            with filesystem(kind, tmp_path, options=options, made=made) as own:
                name = Path(shared).name
                before = disk_counters(name)
                argv = python(WORK, own.mount, str(SYNCED))
                recording = record(argv, tmp_path / "a.iowhy")
                flushed = disk_counters(name)["flushes"] - before["flushes"]
        finally:
            run("umount", str(others))
        log_disk = disk_number(name)
    with Relations(recording) as relations:
        asked = f"SELECT disk_dev, log_dev FROM filesystems WHERE dev = {own.dev}"
        assert relations.rows(asked) == [(disk_number_of(relations, own.disk), log_disk)]
        ((found,),) = relations.rows(
            f"SELECT sum(flushes) FROM flush_totals WHERE dev = {log_disk} AND of_command AND counted"
        )
        waited = relations.rows("SELECT DISTINCT dev FROM waited_devices WHERE dev IS NOT NULL")
    assert SYNCED <= found <= flushed
    assert (log_disk,) in waited


@pytest.mark.parametrize("profile", ["raid1", "single"])
def test_flushes_of_a_second_device_beside_another_filesystem_are_of_who_syncs(
    tmp_path: Path, profile: str
) -> None:
    """btrfs on a device of its own and on a partition of another filesystem's disk: a sync flushes both."""
    parts = ((2048, 600_000), (602_112, 400_000))
    with (
        loop_device(tmp_path / "shared.img", 512 * MEBIBYTE) as shared,
        loop_device(tmp_path / "first.img", 512 * MEBIBYTE) as first,
    ):
        for number, (start, length) in enumerate(parts, 1):
            run("addpart", shared, str(number), str(start), str(length))
        others, own = tmp_path / "others", tmp_path / "own"
        others.mkdir()
        own.mkdir()
        run("mkfs.ext4", "-q", "-F", f"{shared}p1")
        run("mkfs.btrfs", "-q", "-m", profile, "-d", "single", first, f"{shared}p2")
        run("mount", f"{shared}p1", str(others))
        try:
            run("mount", "-o", "noatime", first, str(own))
            try:
                name = Path(shared).name
                before = disk_counters(name)
                recording = record(python(WORK, own, str(SYNCED)), tmp_path / "a.iowhy")
                flushed = disk_counters(name)["flushes"] - before["flushes"]
            finally:
                run("umount", str(own))
        finally:
            run("umount", str(others))
        disks = [disk_number(Path(first).name), disk_number(name)]
    with Relations(recording) as relations:
        asked = f"SELECT disk_devs FROM filesystems WHERE mount = '{own}'"
        assert relations.rows(asked) == [(sorted(disks),)]
        ((found,),) = relations.rows(
            f"SELECT sum(flushes) FROM flush_totals WHERE dev = {disks[1]} AND of_command AND counted"
        )
    assert SYNCED <= found <= flushed


def disk_number_of(relations: Relations, name: str) -> int:
    """The number of a disk that is gone by now, as the recording has it."""
    ((number,),) = relations.rows(f"SELECT dev FROM devices WHERE name = '{name}'")
    return int(str(number))
