"""Of two causes that meet, which one leads: what holds the other's waiting up comes first."""

from collections.abc import Callable
from pathlib import Path

import pytest

from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import verdict_of

from .causes.test_cache_thrash import reader as passes
from .causes.test_file_fragmented import imdb
from .causes.test_metadata_cold import walk
from .causes.test_readahead_poor import reader as ahead
from .conftest import BY_NAME
from .made import KIB, MIB, MS, Story


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


PAIRS = [
    ("device-contended", "metadata-cold", lambda: beside(walk(4 * MS))),
    ("device-contended", "readahead-poor", lambda: beside(unused_ahead())),
    ("device-contended", "file-fragmented", lambda: beside(fragmented())),
    ("cache-thrash", "device-contended", lambda: beside(again())),
    ("device-slow", "metadata-cold", lambda: late("newfstatat", "metadata_read", "metadata")),
    ("io-throttled", "metadata-cold", lambda: held_back(walk(MS // 10))),
]


@pytest.mark.parametrize(("first", "second", "made"), PAIRS, ids=[f"{a}-{b}" for a, b, _ in PAIRS])
def test_which_leads(tmp_path: Path, first: str, second: str, made: Callable[[], Story]) -> None:
    with facts_of(made().made(tmp_path / "pair.iowhy")) as facts:
        assert BY_NAME[first].find(facts) and BY_NAME[second].find(facts)
        assert verdict_of(facts).findings[0].cause == first
