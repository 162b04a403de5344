"""Waiting for a CPU is a part of what made it necessary: the wait before it, or the computing."""

import pytest

from .conftest import Judge, chain, finding, leads
from .made import KIB, MS, Story


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
    assert "20 % of the time" in chain(found)


def test_what_a_call_that_computes_waits_for_a_cpu_is_not_a_waits(judged: Judge) -> None:
    found = finding(judged(reader(4 * MS, cpu=8 * MS)), "cache-cold")
    assert found.share == pytest.approx(0.4, abs=0.03)
