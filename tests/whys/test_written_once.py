"""A file that is written as a whole for each change of what it holds."""

import pytest

from .conftest import Judge, fixes_of, leads
from .made import FILE, KIB, MS, START, Story

PATH = "/srv/state.json"


def saving(
    path: str = PATH,
    size: int = 64 * KIB,
    place: int = 0,
    *,
    argv: tuple[str, ...] = ("save",),
    threads: int = 1,
) -> Story:
    """A hundred times a change, all of the file, and a sync."""
    story = Story(2.0, argv=argv).file(FILE, path)
    story.caller("fsync", 100, blocked=15 * MS, reason="device_flush", bytes_=None)
    parts = {"cpu_ns": 20_000, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0}
    for number in range(100):
        at = START + number * 20 * MS + 16 * MS
        story.call(
            at,
            "write",
            parts,
            tid=10 + number % threads,
            ino=FILE,
            offset=number * place,
            bytes_=size,
        )
    return story.requests(100, op="write", bytes_=size).flushes(100, 12 * MS)


def test_what_is_written_whole_each_time_is_to_be_written_once(judged: Judge) -> None:
    found = leads(judged(saving()), "flush-cost", 0.6)
    assert fixes_of(found)[0] == "rewritten.once"
    assert found.fixes[0].do.values["passes"] == 100
    assert found.fixes[0].gain == pytest.approx(0.99 * found.share, abs=0.25)


@pytest.mark.parametrize(
    "story",
    [
        saving(place=64 * KIB),  # it grows
        saving("/srv/state.wal"),
        saving(size=4 * KIB),
        saving(threads=2),
    ],
)
def test_not_what_grows_a_ring_a_page_or_what_threads_share(judged: Judge, story: Story) -> None:
    assert "rewritten.once" not in fixes_of(leads(judged(story), "flush-cost", 0.6))


def test_the_user_of_a_program_has_its_option(judged: Judge) -> None:
    found = leads(judged(saving(argv=("/usr/bin/shred", "-n", "9", PATH))), "flush-cost", 0.6)
    assert "rewritten.fewer-passes" in fixes_of(found)
