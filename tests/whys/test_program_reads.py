"""What programs are told of their reads: where it helps those that were made."""

from pathlib import Path

import pytest

from .made import MS, START, Story
from .test_program import _at_work, _remedies


@pytest.mark.parametrize(
    ("flag", "size", "told"),
    [
        ("iflag=direct", 65536, True),
        ("oflag=sync,direct", 65536, True),
        ("conv=fsync", 65536, False),
        ("iflag=direct", 4 << 20, False),
    ],
)
def test_one_large_call_past_the_cache_is_several_requests(
    flag: str, size: int, told: bool, tmp_path: Path
) -> None:
    """Through the cache the kernel asks ahead, whatever the calls are."""
    story = Story(2.0).caller("read", 50, blocked=9 * MS, bytes_=size, reason="direct_io")
    story.argv = ("dd", flag)
    story = _at_work("dd", "/usr/bin/dd", story)
    assert ("bs=4M" in _remedies(tmp_path / "x", story, "queue-shallow")) == told


@pytest.mark.parametrize(
    ("refaults", "mode", "told"),
    [
        (0, "run", False),
        (36, "run", False),
        (80, "run", True),
        (None, "run", True),
        (0, "processes", True),
    ],
)
def test_a_larger_cache_is_told_to_who_reads_again(
    refaults: int | None, mode: str, told: bool, tmp_path: Path
) -> None:
    """What a command reads for the first time, no cache has; who ran already may have read it before."""
    story = Story(4.0).caller("pread64", 400, blocked=8 * MS)
    story.cache(lookups=800, misses=800, refaults=refaults).requests(400, service=2 * MS)
    story.mode = mode
    said = _remedies(tmp_path / "x", _at_work("sqlite3", "/usr/bin/sqlite3", story), "cache-cold")
    assert ("cache_size" in said) is told


@pytest.mark.parametrize(("times", "told"), [(1, False), (4, True)])
def test_what_is_read_again_past_the_cache_is_known_by_its_places(
    times: int, told: bool, tmp_path: Path
) -> None:
    """A database with a small buffer of its own: the larger one saves the reads of places that had been read."""
    story = Story(4.0).caller("pread64", 400, blocked=8 * MS, reason="direct_io", jump=True)
    story.cache(lookups=800, misses=0, refaults=0).requests(400, service=8 * MS, jump=True)
    for number, request in enumerate(story.tables["block_requests"]):
        request["sector"] = 8 * (number % (400 // times) * 7919 % 4001)
    said = _remedies(
        tmp_path / "x", _at_work("mariadbd", "/usr/sbin/mariadbd", story), "random-access"
    )
    assert ("innodb_buffer_pool_size" in said) is told
    assert ("(ends 75 %" in said) is told


@pytest.mark.parametrize(
    ("calls", "path", "said"),
    [
        (400, "/data/base/5/16384", "22%"),
        (50, "/data/base/5/16384", None),
        (400, "/data/pg_wal/0001", None),
    ],
)
def test_a_larger_buffer_ends_what_reading_from_the_page_cache_takes_of_cpus(
    calls: int, path: str, said: str | None, tmp_path: Path
) -> None:
    """Each call 1 ms of 1.8 s; a share that is not listed, or of other files, is nobody's remedy."""
    story = Story(2.0).thread(10, user=0.5, kernel=0.4).file(7, path)
    parts = {"cpu_ns": MS, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(calls):
        story.call(START + number * 4 * MS, "pread64", parts, tid=10, ino=7, offset=0, bytes_=8192)
    story.mode = "processes"
    told = _remedies(
        tmp_path / "x", _at_work("postgres", "/usr/bin/postgres", story), "cpu-saturated"
    )
    assert ("shared_buffers" in told) == (said is not None)
    assert said is None or said in told.replace(" %", "%")
