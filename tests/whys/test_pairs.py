"""Of two causes that meet, which one leads: what holds the other's waiting up comes first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from .causes.test_cache_cold import reader as cold
from .causes.test_cache_thrash import reader as passes
from .causes.test_data_journaled import journaled
from .causes.test_device_capped import held
from .causes.test_device_failing import fails
from .causes.test_file_fragmented import imdb
from .causes.test_metadata_cold import walk
from .causes.test_partial_writes import writer as in_part
from .causes.test_readahead_poor import reader as ahead
from .causes.test_spills import SPILL, sorter
from .causes.test_sync_storm import syncer
from .conftest import BY_NAME
from .made import KIB, MIB, MS, Story
from .made.base import FS


def beside(story: Story) -> Story:
    """Somebody else keeps the disk busy."""
    return story.requests(
        3200, op="write", bytes_=512 * KIB, service=10 * MS, depth=8, own=False, ino=None, tgid=77
    )


def late(call: str, reason: str, kind: str) -> Story:
    """Each request takes 40 ms."""
    story = Story(4.0).caller(call, 90, blocked=40 * MS, bytes_=None, reason=reason)
    return story.requests(90, service=40 * MS, kind=kind, ino=None, jump=True)


def fragmented() -> Story:
    return imdb(extents=8000, extent=4 * KIB, request=4 * KIB, jump=True)


def unused_ahead() -> Story:
    return ahead(True, 128 * KIB).cache(lookups=400, misses=400, readahead=12_000, used=100)


def again() -> Story:
    story = passes().passes([0.0] * 4, pages=16_384)
    return story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, cached_bytes=40 * MIB)


def held_back(story: Story) -> Story:
    return story.group(io_limit_read_ops_per_s=210)


def waiting_in(story: Story, call: str, reason: str, kind: str = "data") -> Story:
    """What it waits for at a ceiling, in other calls."""
    for row in story.tables["syscalls"]:
        row["name"] = call
    for row in story.tables["waits"]:
        row |= {"reason": reason, "syscall": call}
    for row in story.tables["block_requests"]:
        row["owner_kind"] = kind
    return story


def cold_at_a_ceiling(*, jump: bool) -> Story:
    return waiting_in(held(1000, jump=jump), "pread64", "page_read").cache(
        lookups=4000, misses=4000
    )


def late_at_a_ceiling() -> Story:
    """Two at a time, each of which takes 33 ms there, and 2 ms alone."""
    return held(60, seconds=12.0, depth=2, alone=2 * MS, burst=0)


def stalling(
    story: Story, reason: str = "page_read", call: str = "read", op: str = "read"
) -> Story:
    """For half of the time its disk answers nobody."""
    return story.stall(story.seconds / 4, story.seconds / 2, reason, call, op)


def flash(op: str, reason: str) -> Story:
    """One request after the other, directly."""
    call = "pread64" if op == "read" else "pwrite64"
    story = (
        Story(2.0)
        .device(rotational=False)
        .caller(call, 1900, blocked=MS - 10_000, jump=True, reason=reason)
    )
    return story.requests(1900, op=op, service=MS - 20_000, jump=True)


def spilling() -> Story:
    """Its temporary files keep the disk busy."""
    return sorter().requests(800, op="write", bytes_=512 * KIB, service=4 * MS, ino=SPILL)


def served(story: Story, kind: str = "fuse.sshfs") -> Story:
    """Its files are not on the disk that is at its limit."""
    rows = story.tables.setdefault("filesystems", [])
    rows[:] = [row for row in rows if row["dev"] != FS]
    return story.add("filesystems", dev=FS, kind=kind, mount="/far", options="rw", daemon_tgid=88)


def journaled_at_random() -> Story:
    """Each write jumps, and goes to the journal first."""
    story = Story(2.0).caller(
        "pwrite64", 200, blocked=int(9.7 * MS), bytes_=128 * KIB, reason="journal_space", jump=True
    )
    story.requests(400, op="write", bytes_=128 * KIB, service=int(4.8 * MS), jump=True)
    story.commits(10, 150 * MS)
    return story.add(
        "filesystems", dev=FS, kind="ext4", mount="/data", options="rw,data=journal", disk_dev=None
    )


PAIRS = [
    # Who is waited for is no device of this machine.
    ("fuse-daemon", "device-capped", lambda: served(held(1000))),
    ("remote-storage", "device-capped", lambda: served(held(1000), "nfs4")),
    ("fuse-daemon", "file-fragmented", lambda: served(fragmented())),
    ("remote-storage", "file-fragmented", lambda: served(fragmented(), "nfs4")),
    ("fuse-daemon", "partial-writes", lambda: served(in_part())),
    ("data-journaled", "random-access", journaled_at_random),
    # A limit of the group's own holds however few others are there, and whatever is written twice.
    (
        "io-throttled",
        "data-journaled",
        lambda: journaled().group(io_limit_write_bytes_per_s=105_000_000),
    ),
    ("io-throttled", "device-contended", lambda: held_back(beside(held(210, depth=4, alone=MS)))),
    # What need not be read or written waits for nobody.
    ("spills", "device-contended", lambda: beside(spilling())),
    ("partial-writes", "device-contended", lambda: beside(in_part())),
    # What keeps requests back, not the device, makes them late; nor can the data be cold or the queue at fault.
    ("device-capped", "device-saturated", lambda: held(1000)),
    ("device-capped", "device-slow", late_at_a_ceiling),
    ("device-capped", "random-access", late_at_a_ceiling),
    ("device-capped", "cache-cold", lambda: cold_at_a_ceiling(jump=True)),
    ("device-capped", "readahead-poor", lambda: cold_at_a_ceiling(jump=False)),
    # The group's own limit is known, and can be lifted here.
    ("io-throttled", "device-capped", lambda: held_back(held(210, depth=4, alone=MS))),
    # One sync for many changes costs nothing, and then the limit is enough.
    (
        "sync-storm",
        "device-capped",
        lambda: waiting_in(held(1000, op="write"), "fdatasync", "journal_commit"),
    ),
    ("spills", "device-saturated", spilling),
    ("spills", "cpu-serial", spilling),
    ("device-contended", "metadata-cold", lambda: beside(walk(4 * MS))),
    ("device-contended", "readahead-poor", lambda: beside(unused_ahead())),
    ("device-contended", "file-fragmented", lambda: beside(fragmented())),
    ("cache-thrash", "device-contended", lambda: beside(again())),
    ("device-slow", "metadata-cold", lambda: late("newfstatat", "metadata_read", "metadata")),
    ("io-throttled", "metadata-cold", lambda: held_back(walk(MS // 10))),
    # What a device takes longer than if it were well is its own, whatever else is slow.
    ("device-slow", "metadata-cold", lambda: stalling(walk(4 * MS), "metadata_read", "newfstatat")),
    ("device-slow", "cache-cold", lambda: stalling(cold().cache(lookups=12_800, misses=12_800))),
    (
        "device-slow",
        "file-fragmented",
        lambda: stalling(fragmented(), "page_writeback", "msync", "write"),
    ),
    (
        "device-slow",
        "queue-shallow",
        lambda: stalling(flash("read", "direct_io"), "direct_io", "pread64"),
    ),
    ("device-slow", "cache-thrash", lambda: stalling(again())),
    (
        "device-slow",
        "sync-storm",
        lambda: stalling(
            syncer(400, int(4.5 * MS), 400)
            .device(rotational=False)
            .requests(800, op="write", service=MS)
            .flushes(400, 3 * MS),
            "device_flush",
            "fsync",
            "flush",
        ),
    ),
    ("device-failing", "random-access", lambda: fails(5)),
    ("device-failing", "device-slow", lambda: fails(5, service=60 * MS, reads=30)),
]


@pytest.mark.parametrize(
    ("first", "second", "made"), PAIRS, ids=[f"{a}-{b}-{at}" for at, (a, b, _) in enumerate(PAIRS)]
)
def test_which_leads(tmp_path: Path, first: str, second: str, made: Callable[[], Story]) -> None:
    with facts_of(made().made(tmp_path / "pair.iowhy")) as facts:
        assert BY_NAME[first].find(facts) and BY_NAME[second].find(facts)
        assert verdict_of(facts).findings[0].cause == first
