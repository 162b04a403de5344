"""device-saturated: the queue is never empty, or the device moves all it can."""

from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, leads
from ..made import KIB, MS, Story


def test_deep_queue_of_random_reads(judged: Judge) -> None:
    story = Story(2.0)
    for tid in range(10, 18):
        story.caller("pread64", 199, tid=tid, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(8 * 199, service=10 * MS, depth=8, jump=True)
    leads(judged(story), "device-saturated", 0.95)


def test_large_requests_at_the_rate_of_the_device(judged: Judge) -> None:
    story = Story(2.0).caller(
        "write", 200, blocked=int(9.7 * MS), bytes_=1024 * KIB, reason="direct_io", gap="idle"
    )
    story.requests(400, op="write", bytes_=512 * KIB, service=int(9.7 * MS), depth=2)
    leads(judged(story), "device-saturated", 0.9)


def test_not_one_small_request_at_a_time(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 1900, blocked=MS, jump=True, reason="direct_io")
    story.requests(1900, service=MS, jump=True)
    absent(judged(story), "device-saturated")


def test_not_a_device_that_rests_while_the_command_waits(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 100, blocked=18 * MS, bytes_=512 * KIB)
    story.requests(800, service=2 * MS, depth=8, bytes_=128 * KIB)
    absent(judged(story), "device-saturated")


def syncer(bytes_: int, *, jump: bool = False) -> Story:
    """Computes for 30 ms and syncs for 70 ms, for which the device has 20 requests, twenty times."""
    story = Story(2.0).caller(
        "syncfs", 20, blocked=70 * MS, bytes_=None, ino=None, reason="page_writeback"
    )
    return story.requests(400, op="write", bytes_=bytes_, service=int(3.5 * MS), jump=jump)


def test_syncs_of_much_data_lead_before_the_work_on_one_cpu(judged: Judge) -> None:
    """Requests of 64 KiB, one at a time: but each begins where the one before ended."""
    verdict = judged(syncer(64 * KIB))
    found = leads(verdict, "device-saturated", 0.65, 0.75)
    assert tells(chain(found), "25 MiB")
    assert "zstd" in found.remedies[0]
    serial = finding(verdict, "cpu-serial")
    assert serial is not None and 0.25 < serial.share < 0.33


def test_not_syncs_of_much_data_that_lies_scattered(judged: Judge) -> None:
    absent(judged(syncer(64 * KIB, jump=True)), "device-saturated")


def test_not_syncs_of_little_data(judged: Judge) -> None:
    absent(judged(syncer(4 * KIB)), "device-saturated")


def three_at_a_time(rest: int = 0) -> Story:
    """Three readers of 64 KiB each time, in files of their own, for which the device takes 2 ms; it rests in between."""
    story, each = Story(2.0), 2000 // (2 + rest)
    for tid in range(10, 13):
        story.caller(
            "pread64",
            each - 1,
            tid=tid,
            blocked=(2 + rest) * MS,
            bytes_=64 * KIB,
            reason="direct_io",
        )
    return story.requests(3 * (each - 1), bytes_=64 * KIB, service=2 * MS, depth=3)


def test_a_device_that_never_rests_is_named_if_nothing_else_is(judged: Judge) -> None:
    found = leads(judged(three_at_a_time()), "device-saturated", 0.9)
    assert found.confidence <= 0.6


def test_not_one_that_rests(judged: Judge) -> None:
    absent(judged(three_at_a_time(rest=1)), "device-saturated")
