"""queue-shallow: one request at a time, to a quick device."""

from ..conftest import Judge, absent, finding, leads
from ..made import KIB, MS, Story


def test_one_random_read_at_a_time_on_flash(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 1500, blocked=900_000, jump=True, reason="direct_io")
    story.requests(1500, service=900_000, jump=True)
    leads(judged(story), "queue-shallow", 0.85, 0.95)


def test_not_on_a_disk_that_seeks(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 140, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(140, service=10 * MS, jump=True)
    absent(judged(story), "queue-shallow")


def test_not_with_many_under_way(judged: Judge) -> None:
    story = Story(1.5)
    for tid in range(10, 18):
        story.caller("pread64", 140, tid=tid, blocked=10 * MS, jump=True, reason="direct_io")
    story.requests(8 * 140, service=10 * MS, depth=8, jump=True)
    absent(judged(story), "queue-shallow")


def test_not_with_large_requests(judged: Judge) -> None:
    story = Story(1.5).caller("pread64", 700, blocked=2 * MS, bytes_=512 * KIB, reason="direct_io")
    story.requests(700, service=2 * MS - 1000, bytes_=512 * KIB)
    absent(judged(story), "queue-shallow")


def test_data_can_be_asked_for_ahead(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 1900, blocked=MS, jump=True)
    found = finding(judged(story.requests(1900, service=MS, jump=True)), "queue-shallow")
    assert found is not None and "posix_fadvise" in found.remedies[0]


def test_what_is_read_past_the_cache_is_not_read_ahead(judged: Judge) -> None:
    story = Story(2.0).caller("pread64", 1900, blocked=MS, jump=True, reason="direct_io")
    found = finding(judged(story.requests(1900, service=MS, jump=True)), "queue-shallow")
    assert found is not None and not any("ahead" in one for one in found.remedies)
    assert "several requests under way" in found.remedies[0]
