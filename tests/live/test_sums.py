"""What the recorder sums up as it goes is what the rows give: in each relation, and in the whole verdict."""

import subprocess
import sys
import time
from pathlib import Path

import pytest
from msgspec.structs import replace

from iowhy.relations import Relations, relations
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of
from machine import filesystem, python, record

pytestmark = pytest.mark.usefixtures("live")

#: Calls of several kinds by several threads on several files, some of which fail or wait; requests of each kind.
MIXED = """
import os, sys, threading
folder = sys.argv[1]
def work(name):
    for number in range(5):
        path = f"{folder}/{name}-{number}"
        fd = os.open(path, os.O_CREAT | os.O_RDWR | (os.O_DSYNC if number % 2 else 0))
        for size in (10, 5_000, 300_000):
            os.pwrite(fd, os.urandom(size), 0)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        while os.read(fd, 65_536): pass
        os.close(fd)
        try: os.open(path + "-missing", os.O_RDONLY)
        except OSError: pass
threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
for thread in threads: thread.start()
for thread in threads: thread.join()
os.sync()
"""
SUMMED = {
    "call_sums": ("thread_calls", "storage_sleepers", "storage_sleeps"),
    "request_sums": ("command_filesystems", "written_devices"),
    "flight_sums": ("flight_sums",),
    "sync_sums": ("sync_sums", "sync_totals"),
    "wait_sums": ("wait_totals", "wait_classes", "waited_devices"),
    "interval_waits": ("_waits_in_intervals", "_waits_by_interval", "budget_sums"),
    "flush_sums": ("flush_totals",),
    "flushing_sums": ("flushing_times",),
    "jump_sums": ("jump_totals", "file_requests"),
}
#: Sums that are only there where they save reading.
SAVING = {
    "second_sums": ("second_sums", "device_totals"),
    "other_sums": ("other_sums", "competing_load"),
    "size_sums": ("request_sizes",),
    "service_sums": ("service_times",),
}
#: Sums that are added up further: as many rows as are at hand, by these columns the same.
ADDED = {
    "request_sums": ("dev", "op", "in_scope", "owner_kind", "owner_dev", "owner_ino", "empty"),
    "calls_by_file": ("tgid", "tid", "name", "dev", "ino", "tiny", "file_kind"),
    "sync_calls_by_file": ("name", "by_write", "dev", "ino"),
}


def by_rows(relations: Relations) -> None:
    relations.facts = relations.facts.without_sums()


def test_what_is_summed_up_is_what_the_rows_give(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(MIXED, scratch.mount), tmp_path / "a.iowhy")
    with Relations(recording) as summed, Relations(recording) as counted:
        by_rows(counted)
        assert summed.has("second_sums")
        for table, names in {**SUMMED, **SAVING}.items():
            assert summed.has(table) or table in SAVING, "the recorder summed nothing up"
            assert not counted.has(table)
            for name in names:
                every = f"SELECT * FROM {name} ORDER BY ALL"
                assert summed.rows(every) == counted.rows(every), name
        for name, keys in ADDED.items():
            added = _added(name, keys)
            assert summed.rows(added) == counted.rows(added), name
    with facts_of(recording) as facts:
        verdict = verdict_of(facts)
    with facts_of(recording) as facts:
        by_rows(facts.relations)
        assert verdict_of(facts) == verdict
    cut_off = replace(recording, manifest=replace(recording.manifest, complete=False))
    with Relations(cut_off) as opened:
        assert opened.has("syscalls")
        assert not any(opened.has(table) for table in SUMMED)


def _added(name: str, keys: tuple[str, ...]) -> str:
    """SQL: the sums of a relation's other columns, the largest of those that are a largest one."""
    others = [one.name for one in relations()[name].columns if one.name not in keys]
    sums = [f"max({one})" if one.startswith("max_") else f"sum({one})" for one in others]
    return f"SELECT {', '.join([*keys, *sums])} FROM {name} GROUP BY {', '.join(keys)} ORDER BY ALL"


#: Writes to both filesystems, and makes durable what it wrote to the first.
ONE_OF_TWO = """
import os, sys
kept, left = (open(f"{folder}/own", "wb", buffering=0) for folder in sys.argv[1:])
for _ in range(60):
    left.write(bytes(4096))
    kept.write(bytes(4096))
    os.fsync(kept.fileno())
"""
#: Somebody else's, until it is ended.
SYNCS = """
import os, sys
file = open(f"{sys.argv[1]}/others", "wb", buffering=0)
while True:
    file.write(bytes(4096))
    os.fsync(file.fileno())
"""


def test_flushes_of_a_disk_on_which_it_waits_for_nothing_are_others(tmp_path: Path) -> None:
    """The kernel's thread for the journal makes them, for whoever syncs: it tells nothing of who that is."""
    folders = tmp_path / "a", tmp_path / "b"
    for folder in folders:
        folder.mkdir()
    with filesystem("ext4", folders[0]) as own, filesystem("ext4", folders[1]) as others:
        neighbour = subprocess.Popen([sys.executable, "-I", "-c", SYNCS, others.mount])
        try:
            while not Path(others.mount, "others").exists():
                time.sleep(0.01)
            recording = record(python(ONE_OF_TWO, own.mount, others.mount), tmp_path / "a.iowhy")
        finally:
            neighbour.kill()
            neighbour.wait()
    with Relations(recording) as summed, Relations(recording) as counted:
        by_rows(counted)
        every = "SELECT * FROM flush_totals ORDER BY ALL"
        assert summed.rows(every) == counted.rows(every)
        found = {
            (dev, bool(of_command)): flushes
            for dev, of_command, flushes in counted.rows(
                "SELECT dev, of_command, sum(flushes) FROM flush_totals WHERE counted GROUP BY ALL"
            )
        }
        disks = dict(counted.rows("SELECT dev, disk_dev FROM filesystems"))
    assert found[disks[own.dev], True] >= 60
    assert found[disks[others.dev], False] > 0
    assert (disks[others.dev], True) not in found
