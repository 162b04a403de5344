"""cpu-delayed: ready threads wait though CPUs idle."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import START, Story


def one_full_cpu(story: Story) -> Story:
    """Of the readings of single CPUs, one that is full; the others idle."""
    for cpu in range(story.cpus):
        for at in (0, story.elapsed):
            busy = at if cpu == 1 else 0
            story.add(
                "cpu_samples", ts_ns=START + at, cpu=cpu, user_ns=busy, system_ns=0,
                idle_ns=at - busy, iowait_ns=0, steal_ns=0,
            )  # fmt: skip
    return story


def test_threads_pinned_to_one_cpu(judged: Judge) -> None:
    """Three share one of four CPUs: two thirds of the time each waits for it."""
    story = Story(2.0, cpus=4)
    for tid in range(10, 13):
        story.thread(tid, user=0.33, runnable=0.66)
    story.machine(busy=0.25)
    verdict = judged(one_full_cpu(story))
    found = leads(verdict, "cpu-delayed", 0.6, 0.7)
    assert tells(chain(found), "100 %")
    assert "taskset -c 0-" in found.remedies[0]
    absent(verdict, "cpu-saturated")


def test_what_runs_is_asked_where_it_may_run(judged: Judge) -> None:
    story = Story(2.0, cpus=4, mode="attach", argv=())
    for tid in range(10, 13):
        story.thread(tid, user=0.33, runnable=0.66)
    found = leads(judged(one_full_cpu(story.machine(busy=0.25))), "cpu-delayed", 0.6, 0.7)
    assert "taskset -acp 0-" in found.remedies[0]


def test_slow_to_wake_up(judged: Judge) -> None:
    verdict = judged(Story(2.0, cpus=2).thread(user=0.2, runnable=0.15).machine(busy=0.3))
    found = finding(verdict, "cpu-delayed")
    assert found is not None and found.share == pytest.approx(0.15, abs=0.01)
    assert "while CPUs idle" in chain(found)
    absent(verdict, "cpu-saturated")


def test_a_hypervisor_that_takes_a_little(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(user=0.2, runnable=0.15).machine(busy=0.3, steal=0.05)
    found = finding(judged(story), "cpu-delayed")
    assert found is not None and "dedicated CPUs" in found.remedies[0]


def test_not_where_all_are_busy(judged: Judge) -> None:
    verdict = judged(Story(2.0, cpus=2).thread(user=0.5, runnable=0.5).machine(busy=1.0))
    absent(verdict, "cpu-delayed")
    leads(verdict, "cpu-saturated", 0.45, 0.55)


def test_not_where_its_own_threads_fill_the_cpus(judged: Judge) -> None:
    """A short run: ticks, and the time before it and after it, have some of the CPUs' time as idle."""
    story = Story(0.08, cpus=2)
    for tid in range(10, 13):
        story.thread(tid, user=0.55, runnable=0.4)
    verdict = judged(story.machine(busy=0.7))
    absent(verdict, "cpu-delayed")
    leads(verdict, "cpu-saturated", 0.9)


def test_not_a_little_waiting(judged: Judge) -> None:
    absent(judged(Story(2.0).thread(user=0.9, runnable=0.04).machine(busy=0.3)), "cpu-delayed")


def test_not_a_quota(judged: Judge) -> None:
    story = Story(2.0, cpus=2).thread(user=0.3, runnable=0.7).machine(busy=0.2)
    story.group(
        cpu_usage_ns=600_000_000, cpu_throttled_ns=1_400_000_000, cpu_periods=20,
        cpu_throttled_periods=20, cpu_quota_cores=0.3,
    )  # fmt: skip
    verdict = judged(story)
    leads(verdict, "cpu-throttled", 0.6)
    absent(verdict, "cpu-delayed")
