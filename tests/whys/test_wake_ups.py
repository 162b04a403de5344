"""Waiting for a CPU is a part of what made it necessary: the wait before it, or the computing."""

import pytest

from tests.numbers_told import tells

from .conftest import Judge, finding, leads, links_of
from .made import KIB, MS, Story
from .made.base import FS


def reader(runnable: int, cpu: int = 20_000) -> Story:
    """A cold read of 8 ms each 20 ms, ready for some time after each; its gaps are sleep."""
    story = Story(4.0).caller(
        "read", 200, blocked=8 * MS, cpu=cpu, runnable=runnable, gap_share=0.0
    )
    story.requests(200, op="read", bytes_=4 * KIB, service=8 * MS)
    return story.cache(lookups=200, misses=200)


def test_what_a_call_waits_for_a_cpu_after_its_wait_goes_with_the_wait(judged: Judge) -> None:
    found = leads(judged(reader(4 * MS)), "cache-cold", 0.55)
    assert found.share == pytest.approx(0.6, abs=0.03)
    assert tells(links_of(found)["wake-ups.share"], "20 %")


def test_what_a_call_that_computes_waits_for_a_cpu_is_not_a_waits(judged: Judge) -> None:
    found = finding(judged(reader(4 * MS, cpu=8 * MS)), "cache-cold")
    assert found.share == pytest.approx(0.4, abs=0.03)


def test_what_follows_an_answer_of_fuse_goes_with_it(judged: Judge) -> None:
    """It sleeps interruptibly, and is ready for as long after each answer."""
    story = Story(2.0).caller("read", 180, sleeping=5 * MS, runnable=5 * MS, gap="idle")
    story.add("filesystems", dev=FS, kind="fuse", mount="/far", options="rw", daemon_tgid=88)
    found = leads(judged(story), "fuse-daemon", 0.85)
    assert "wake-ups.share" in links_of(found)
