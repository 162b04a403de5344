"""cpu-throttled: a quota, or the hypervisor, takes the CPU away."""

from ..conftest import Judge, absent, leads
from ..made import S, Story


def quota(periods: int, throttled_ns: int) -> Story:
    story = Story(2.0).thread(user=0.5, runnable=0.5)
    return story.group(
        cpu_quota_cores=0.5,
        cpu_periods=20,
        cpu_throttled_periods=periods,
        cpu_throttled_ns=throttled_ns,
    )


def test_half_a_cpu(judged: Judge) -> None:
    leads(judged(quota(20, 1 * S)), "cpu-throttled", 0.45, 0.55)


def test_stolen_by_the_hypervisor(judged: Judge) -> None:
    story = Story(2.0, cpus=1).thread(user=0.95).machine(busy=0.4, steal=0.6)
    assert leads(judged(story), "cpu-throttled", 0.5, 0.65).share > 0.5


def test_not_by_a_quota_that_is_not_met(judged: Judge) -> None:
    absent(judged(quota(0, 0)), "cpu-throttled")


def test_not_by_a_first_burst(judged: Judge) -> None:
    absent(judged(quota(1, 50_000_000)), "cpu-throttled")
