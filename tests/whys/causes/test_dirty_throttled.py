"""dirty-throttled: pauses of the writers."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, leads
from ..made import KIB, MS, START, Story
from ..made import story as stories


def writer(reason: str, blocked: int = 18 * MS) -> Story:
    story = Story(2.0).caller("write", 100, blocked=blocked, bytes_=1024 * KIB, reason=reason)
    return story.requests(190, op="write", bytes_=512 * KIB, service=10 * MS, depth=4)


def paused() -> Story:
    story = writer("dirty_throttle")
    for number in range(100):
        story.add(
            "dirty_throttle", ts_ns=START + number * 20 * MS, tgid=10, tid=10, pause_ns=18 * MS,
            dirty_pages=25_600, limit_pages=25_600,
        )  # fmt: skip
    return story


def test_a_writer_faster_than_the_device(judged: Judge) -> None:
    found = leads(judged(paused()), "dirty-throttled", 0.85)
    assert tells(chain(found), "100 MiB", "100 MiB")
    assert tells(chain(found), "100", "18 ms")


def test_pages_have_the_size_of_the_machines(
    judged: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stories, "PAGE", 64 * KIB)
    found = leads(judged(paused()), "dirty-throttled", 0.85)
    assert tells(chain(found), "1.56 GiB", "1.56 GiB")


def test_not_a_direct_writer(judged: Judge) -> None:
    absent(judged(writer("direct_io")), "dirty-throttled")


def test_not_an_io_limit(judged: Judge) -> None:
    absent(judged(writer("io_throttle")), "dirty-throttled")


def test_not_a_pause_now_and_then(judged: Judge) -> None:
    absent(judged(writer("dirty_throttle", MS // 2)), "dirty-throttled")
