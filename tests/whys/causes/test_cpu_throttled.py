"""cpu-throttled: a quota, or the hypervisor, takes the CPU away."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
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


def test_on_a_full_machine_who_holds_the_thread_decides(judged: Judge) -> None:
    """Half of the time ready and waiting, for 0.4 of 0.5 s in a second stopped by the quota: else by others."""
    verdict = judged(quota(20, 800_000_000).machine(busy=1.0))
    found = leads(verdict, "cpu-throttled", 0.38, 0.42)
    assert tells(chain(found), "80 %")
    other = finding(verdict, "cpu-saturated")
    assert other is not None and 0.08 < other.share < 0.12
    # The quota is met now and then, but neighbours are what it waits for.
    verdict = judged(quota(4, 200_000_000).machine(busy=1.0))
    leads(verdict, "cpu-saturated", 0.38, 0.42)
    rest = finding(verdict, "cpu-throttled")
    assert rest is not None and 0.08 < rest.share < 0.12


def test_threads_on_every_cpu_wait_together(judged: Judge) -> None:
    """Four threads on two CPUs, stopped for 0.7 of the time on each."""
    story = Story(2.0, cpus=2)
    for tid in range(10, 14):
        story.thread(tid, user=0.15, runnable=0.85)
    story.group(
        cpu_quota_cores=0.6,
        cpu_periods=20,
        cpu_throttled_periods=20,
        cpu_throttled_ns=2_800_000_000,
    )
    leads(judged(story.machine(busy=0.3)), "cpu-throttled", 0.65, 0.75)


def test_stolen_by_the_hypervisor(judged: Judge) -> None:
    story = Story(2.0, cpus=1).thread(user=0.95).machine(busy=0.4, steal=0.6)
    assert leads(judged(story), "cpu-throttled", 0.5, 0.65).share > 0.5


def test_not_by_a_quota_that_is_not_met(judged: Judge) -> None:
    absent(judged(quota(0, 0)), "cpu-throttled")


def test_not_by_a_first_burst(judged: Judge) -> None:
    absent(judged(quota(1, 50_000_000)), "cpu-throttled")
