"""Of a whole machine, causes about CPUs are about one program, or are none."""

import pytest

from iowhy.sentences import described

from .conftest import Judge, absent, leads
from .made import Story


def machine(*shares: float, busy: float) -> Story:
    """Programs of a thread each, which compute for these shares of the time."""
    story = Story(4.0, cpus=4)
    story.mode = "machine"
    for number, share in enumerate(shares):
        story.thread(10 + number, 10 + number, user=share)
    return story.machine(busy=busy)


def test_the_program_is_named_that_computes_alone(judged: Judge) -> None:
    verdict = judged(machine(0.9, 0.02, busy=0.24))
    found = leads(verdict, "cpu-serial", 0.8)
    headline = described(verdict.headline)
    assert found.who == "worker10" and headline["id"] == "spent-doing"
    # What it is told to do is about that program, too, not about the machine.
    assert found.fixes[0].do.values["who"] == "worker10"
    assert headline["values"]["spent"]["values"]["who"] == "worker10"
    assert headline["values"]["doing"] == described(found.summary)


def test_not_the_sum_of_programs_that_each_compute_a_little(judged: Judge) -> None:
    absent(judged(machine(0.2, 0.2, 0.2, 0.2, busy=0.2)), "cpu-serial")


@pytest.mark.parametrize(("busy", "full"), [(0.99, True), (0.8, False)])
def test_cpus_that_are_not_all_busy_are_not_said_to_be(
    judged: Judge, busy: float, full: bool
) -> None:
    """Six threads that want a CPU all the time, and have to wait for it."""
    story = Story(4.0, cpus=4)
    story.mode = "machine"
    for number in range(6):
        story.thread(10 + number, 10 + number, user=busy * 4 / 6, runnable=1 - busy * 4 / 6)
    found = leads(judged(story.machine(busy=busy)), "cpu-saturated", 0.5)
    on = described(found.summary)["values"]["busy"]["id"]
    assert on == ("on-cpus.number" if full else "on-cpus.average")
