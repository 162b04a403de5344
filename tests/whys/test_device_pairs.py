"""A device that is held at a rate, slow or failing, and another cause of the same waiting: which one leads, by what its fix saves."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from .causes.test_cache_cold import reader as cold
from .causes.test_data_journaled import journaled
from .causes.test_device_capped import held
from .causes.test_flush_cost import syncer as flusher
from .causes.test_metadata_cold import walk
from .causes.test_sync_storm import syncer
from .conftest import BY_NAME
from .made import KIB, MIB, MS, START, S, Story
from .test_pairs import beside, flash, fragmented, stalling, unused_ahead, waiting_in


def failing(story: Story) -> Story:
    """One in twenty of its requests ends in an error."""
    rows = [row for row in story.tables["block_requests"] if row["op"] in ("read", "write")]
    for row in rows[::20]:
        row["error"] = 5
    return story


def shared() -> Story:
    """Half of the requests at the ceiling are somebody else's."""
    story = held(1000)
    for row in story.tables["block_requests"][::2]:
        row |= {"in_scope": False, "tgid": 77, "owner_ino": None}
    return story


def large(call: str, reason: str, op: str = "write") -> Story:
    """Requests of 256 KiB at a ceiling, waited for in this call."""
    return waiting_in(held(300, op=op, bytes_=256 * KIB, alone=MS), call, reason)


def passes() -> Story:
    story = large("read", "page_read", "read").passes([0.0] * 4, pages=16_384)
    return story.group(memory_limit_bytes=48 * MIB, memory_bytes=48 * MIB, cached_bytes=40 * MIB)


def in_order() -> Story:
    """One request of 4 KiB after the other on flash."""
    story = Story(2.0).device(rotational=False)
    story.caller("pread64", 1900, blocked=MS - 10_000, reason="direct_io")
    return story.requests(1900, service=MS - 20_000)


def anywhere() -> Story:
    story = Story(2.0).caller("pread64", 180, blocked=10 * MS, jump=True)
    return story.requests(180, service=10 * MS, jump=True)


def deep() -> Story:
    story = Story(2.0)
    for tid in range(10, 18):
        story.caller("pread64", 140, tid=tid, blocked=14 * MS, jump=True, reason="direct_io")
    return story.requests(8 * 140, service=14 * MS, depth=8, jump=True)


def all_stall(story: Story) -> Story:
    """For half of the time its disk answers none of its eight threads."""
    begin, length = START + round(story.seconds / 4 * S), round(story.seconds / 2 * S)
    stalling(story, "direct_io", "pread64")
    for tid in range(11, 18):
        story.wait(begin, length, "direct_io", "pread64", tid=tid)
    return story


def small_files() -> Story:
    story = syncer(400, int(4.5 * MS), 400).device(rotational=False)
    return story.requests(800, op="write", service=MS).flushes(400, 3 * MS)


def partly_held(*, jump: bool = True, depth: int = 4) -> Story:
    """For three quarters of the time one request at a time, then some at once, which are held."""
    return held(600, seconds=4.2, alone=2 * MS, depth=depth, quick=1400, burst=depth, jump=jump)


def out_of_credits() -> Story:
    """One request at a time at 670 a second, until that is more than it may."""
    return held(500, alone=1400 * 1000, depth=2, quick=2000, burst=2)


def partly_names() -> Story:
    story = waiting_in(partly_held(), "newfstatat", "metadata_read", "metadata")
    return story.add(
        "syscall_totals", ts_ns=START, interval_ns=story.elapsed, tgid=10, tid=10, name="newfstatat",
        calls=1600, errors=0, total_ns=4 * 10**9,
    )  # fmt: skip


PAIRS = [
    # Without the other half it would be under the limit; a higher limit is shared with them again.
    ("device-contended", "device-capped", shared),
    # What stays in memory is not asked for again, at whatever rate; the first pass is left to the limit.
    ("cache-thrash", "device-capped", passes),
    # What is not held, most of the time, is its own: a higher limit does not help it.
    ("queue-shallow", "device-capped", out_of_credits),
    ("small-requests", "device-capped", lambda: partly_held(jump=False)),
    ("metadata-cold", "device-capped", partly_names),
    # Data that do not fit into memory are written as fast as the volume may.
    ("device-capped", "dirty-throttled", lambda: large("write", "dirty_throttle")),
    # What it takes longer than if it were well; the rest is the other's.
    ("device-slow", "small-requests", lambda: stalling(in_order(), "direct_io", "pread64")),
    ("device-slow", "random-access", lambda: stalling(anywhere())),
    (
        "device-slow",
        "flush-cost",
        lambda: stalling(flusher(int(3.8 * MS)), "journal_commit", "fdatasync", "write"),
    ),
    (
        "device-slow",
        "data-journaled",
        lambda: stalling(journaled(), "journal_space", "write", "write"),
    ),
    # What it is silent for is not the work that it had.
    ("device-slow", "device-saturated", lambda: all_stall(deep())),
    ("device-slow", "device-capped", lambda: all_stall(held(1000, seconds=8.0))),
    # Data are lost: that comes before speed, and what else is slow is said next.
    ("device-failing", "device-capped", lambda: failing(held(1000))),
    ("device-failing", "cache-cold", lambda: failing(cold().cache(lookups=12_800, misses=12_800))),
    ("device-failing", "metadata-cold", lambda: failing(walk(4 * MS))),
    ("device-failing", "queue-shallow", lambda: failing(flash("read", "direct_io"))),
    ("device-failing", "small-requests", lambda: failing(in_order())),
    ("device-failing", "device-contended", lambda: failing(beside(walk(4 * MS)))),
    ("device-failing", "sync-storm", lambda: failing(small_files())),
    ("device-failing", "device-saturated", lambda: failing(deep())),
    ("device-failing", "file-fragmented", lambda: failing(fragmented())),
    ("device-failing", "readahead-poor", lambda: failing(unused_ahead())),
]


@pytest.mark.parametrize(("first", "second", "made"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS])
def test_which_leads(tmp_path: Path, first: str, second: str, made: Callable[[], Story]) -> None:
    with facts_of(made().made(tmp_path / "pair.iowhy")) as facts:
        assert BY_NAME[first].find(facts) and BY_NAME[second].find(facts)
        found = verdict_of(facts).findings
        assert found[0].cause == first
        assert (
            first == "device-contended" or found[0].comes_first or found[0].gain >= found[-1].gain
        )


#: At a ceiling the others do not even say so: how long requests take is no sign of them then.
EXPLAINED = [
    ("queue-shallow", lambda: held(600, depth=2, alone=MS // 2, burst=20)),
    (
        "metadata-cold",
        lambda: waiting_in(held(1000), "newfstatat", "metadata_read", "metadata"),
    ),
    ("small-requests", lambda: waiting_in(held(1000, jump=False), "pread64", "direct_io")),
    (
        "file-fragmented",
        lambda: waiting_in(held(1000, op="write"), "msync", "page_writeback").extents(8000, 4096),
    ),
    ("journal-entangled", lambda: waiting_in(held(1000, op="write"), "fsync", "journal_commit")),
]


@pytest.mark.parametrize(("other", "made"), EXPLAINED, ids=[one for one, _ in EXPLAINED])
def test_a_ceiling_explains(tmp_path: Path, other: str, made: Callable[[], Story]) -> None:
    with facts_of(made().made(tmp_path / "one.iowhy")) as facts:
        assert BY_NAME["device-capped"].find(facts)
        found = [one.cause for one in verdict_of(facts).findings]
        assert found[0] in ("device-capped", "sync-storm") and other not in found


def test_a_stall_of_a_shared_disk(tmp_path: Path) -> None:
    """It answers the others as little: they are not whom the silence is for, and what they take beside it is shown as well."""
    story = stalling(beside(walk(4 * MS)), "metadata_read", "newfstatat")
    with facts_of(story.made(tmp_path / "one.iowhy")) as facts:
        found = verdict_of(facts).findings
    assert (found[0].cause, round(found[0].share, 1)) == ("device-slow", 0.5)
    with facts_of(beside(walk(4 * MS)).made(tmp_path / "two.iowhy")) as facts:
        assert verdict_of(facts).findings[0].cause == "device-contended"


def test_a_short_stall_at_a_ceiling(tmp_path: Path) -> None:
    """The ceiling leads, and the moment in which nothing at all was answered is not its doing."""
    story = held(1000, seconds=16.0)
    for tid in range(10, 18):
        story.stall(3.0, 1.5, "direct_io", "pread64") if tid == 10 else story.wait(
            START + 3 * S, round(1.5 * S), "direct_io", "pread64", tid=tid
        )
    with facts_of(story.made(tmp_path / "one.iowhy")) as facts:
        found = {one.cause: one for one in verdict_of(facts).findings}
    assert next(iter(found)) == "device-capped"
    assert found["device-slow"].moment and 0.05 < found["device-slow"].share < 0.15
