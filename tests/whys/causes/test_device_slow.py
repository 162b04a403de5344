"""device-slow: late answers with a short queue."""

from ..conftest import Judge, absent, chain, leads
from ..made import MIB, MS, Story


def test_every_request_is_late(judged: Judge) -> None:
    story = Story(4.0).caller("pread64", 90, blocked=40 * MS, jump=True)
    story.requests(90, service=40 * MS, jump=True)
    leads(judged(story), "device-slow", 0.85)


def test_a_few_outliers_take_the_time(judged: Judge) -> None:
    story = Story(4.0).caller("pread64", 4, blocked=800 * MS)
    story.requests(400, service=MS // 2).requests(4, service=800 * MS, first=MS)
    found = leads(judged(story), "device-slow", 0.6)
    assert "4 requests of more than 100 ms" in chain(found)


def test_requests_fail(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 100, blocked=15 * MS, jump=True)
    story.requests(100, service=15 * MS, jump=True)
    for row in story.tables["block_requests"][:5]:
        row["error"] = 5
    leads(judged(story), "device-slow", 0.7)


def test_not_a_disk_that_seeks(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 190, blocked=10 * MS, jump=True)
    story.requests(190, service=10 * MS, jump=True)
    absent(judged(story), "device-slow")


def test_not_large_requests(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 60, blocked=32 * MS, bytes_=4 * MIB)
    story.requests(60, service=32 * MS, bytes_=4 * MIB)
    absent(judged(story), "device-slow")


def test_not_a_deep_queue(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 40, blocked=48 * MS, jump=True)
    story.requests(1280, service=48 * MS, depth=32, jump=True)
    absent(judged(story), "device-slow")
