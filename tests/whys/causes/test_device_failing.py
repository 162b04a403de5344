"""device-failing: requests that end in errors."""

import pytest

from ..conftest import Judge, absent, leads
from ..made import MS, Story
from ..made.base import DISK, START


def fails(error: int, *, own: bool = True, service: int = 15 * MS, reads: int = 100) -> Story:
    """Five of the reads end in an error."""
    story = Story(2.0).caller("pread64", reads, blocked=service, jump=True)
    story.requests(reads, service=service, jump=True)
    for row in story.tables["block_requests"][:5]:
        row |= {"error": error, "in_scope": own}
    return story


@pytest.mark.parametrize("error", [5, 61, 110])
def test_it_comes_before_what_takes_more_of_the_time(judged: Judge, error: int) -> None:
    verdict = judged(fails(error))
    found = leads(verdict, "device-failing", 0.02, 0.06)
    assert found.comes_first and verdict.findings[1].cause == "random-access"
    (errors,) = (one for one in found.chain if one.statement.id == "device-failing.errors")
    assert (errors.value, errors.statement.values["op"]) == (5, "read")
    # It takes too little time to speak of that.
    assert verdict.headline.id == "device-failing.fails"


def test_not_for_want_of_room_nor_what_it_does_not_know(judged: Judge) -> None:
    absent(judged(fails(28)), "device-failing")
    absent(judged(fails(95)), "device-failing")


def test_not_the_errors_of_others(judged: Judge) -> None:
    absent(judged(fails(5, own=False)), "device-failing")


def test_the_stalls_of_a_device_that_fails_are_its_own(judged: Judge) -> None:
    story = fails(5, reads=50, service=10 * MS)
    verdict = judged(story.stall(0.5, 1.0))
    leads(verdict, "device-failing", 0.4)
    absent(verdict, "device-slow")


@pytest.mark.parametrize(
    ("text", "named", "found"),
    [
        ("nvme nvme0: I/O 5 QID 2 timeout, aborting", DISK, True),
        ("ata1: hard resetting link", DISK, True),
        ("ata1.00: failed command: READ FPDMA QUEUED", DISK, True),
        # Of another disk, of none, and what says nothing of a failure.
        ("nvme nvme0: I/O 5 QID 2 timeout, aborting", DISK + 1, False),
        ("usb 1-1: device descriptor read/64, error -71", None, False),
        ("sd 0:0:0:0: [sda] Mode Sense: 00", DISK, False),
    ],
)
def test_what_the_kernel_tried_again(
    judged: Judge, text: str, named: int | None, found: bool
) -> None:
    """No request ended in an error, but the kernel's log says that some nearly did."""
    story = Story(2.0).caller("pread64", 100, blocked=15 * MS, jump=True)
    story.requests(100, service=15 * MS, jump=True)
    for number in range(3):
        at = START + (number + 1) * 100 * MS
        story.add("kernel_log", ts_ns=at, level=4, dev=named, text=text, left_out=0)
    verdict = judged(story)
    if not found:
        absent(verdict, "device-failing")
        return
    first = verdict.findings[0]
    assert (first.cause, first.comes_first) == ("device-failing", True)
    (logged,) = (one for one in first.chain if one.statement.id == "health.logged")
    assert logged.value == 3
