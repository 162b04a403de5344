"""What the recorder sums up as it goes is what the rows give: in each relation, and in the whole verdict."""

from dataclasses import replace
from pathlib import Path

import pytest

from iowhy.relations import Relations
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
    "call_sums": ("call_groups", "call_totals"),
    "request_sums": ("request_groups", "request_totals", "own_filesystems", "written_devices"),
    "flight_sums": ("device_load",),
    "sync_sums": ("sync_groups", "sync_times"),
    "wait_sums": ("wait_groups", "wait_classes", "waited_devices"),
    "interval_waits": ("row_waits", "waits_by_interval", "recorded_sums"),
    "flush_sums": ("flush_groups",),
    "flushing_sums": ("flushing_times",),
}


def by_rows(relations: Relations) -> None:
    relations.facts = relations.facts.without_sums()


def test_what_is_summed_up_is_what_the_rows_give(tmp_path: Path) -> None:
    with filesystem("ext4", tmp_path) as scratch:
        recording = record(python(MIXED, scratch.mount), tmp_path / "a.iowhy")
    with Relations.of(recording) as summed, Relations.of(recording) as counted:
        by_rows(counted)
        for table, names in SUMMED.items():
            assert summed.has(table), "the recorder summed nothing up"
            assert not counted.has(table)
            for name in names:
                every = f"SELECT * FROM {name} ORDER BY ALL"
                assert summed.rows(every) == counted.rows(every), name
    with facts_of(recording) as facts:
        verdict = verdict_of(facts)
    with facts_of(recording) as facts:
        by_rows(facts.relations)
        assert verdict_of(facts) == verdict
    cut_off = replace(recording, manifest=replace(recording.manifest, complete=False))
    with Relations.of(cut_off) as relations:
        assert relations.has("syscalls")
        assert not any(relations.has(table) for table in SUMMED)
