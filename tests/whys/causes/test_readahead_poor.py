"""readahead-poor: brought and not used, or not brought."""

from pathlib import Path

import pytest

from iowhy.whys.causes import readahead_poor
from iowhy.whys.facts import Facts
from tests.numbers_told import tells

from ..conftest import Judge, absent, finding, leads, links_of
from ..made import KIB, MS, START, Story


def reader(jump: bool, request: int) -> Story:
    story = Story(2.0).caller("pread64", 400, blocked=int(4.5 * MS), jump=jump, bytes_=4 * KIB)
    return story.requests(400, bytes_=request, service=int(1.9 * MS), jump=jump)


def test_pages_that_nobody_uses(judged: Judge) -> None:
    story = reader(True, 128 * KIB).cache(lookups=400, misses=400, readahead=12_000, used=100)
    leads(judged(story), "readahead-poor", 0.8)


def test_pages_that_nobody_is_seen_to_look_at_may_be_used_all_the_same(judged: Judge) -> None:
    """The kernel reads them for itself (btrfs send), and looks them up where nothing counts it; a file beside is read as usual."""
    story = reader(False, 128 * KIB).cache(lookups=0, readahead=12_000, used=0)
    story.file(77, "/data/beside").cache(lookups=400, readahead=400, ino=77)
    verdict = judged(story)
    absent(verdict, "readahead-poor")
    leads(verdict, "cache-cold", 0.8)


def test_of_several_files_those_count_whose_look_ups_are_seen(judged: Judge) -> None:
    story = reader(True, 128 * KIB).cache(lookups=400, misses=400, readahead=12_000, used=100)
    story.file(77, "/data/beside").cache(lookups=0, readahead=4_000, used=0, ino=77)
    found = leads(judged(story), "readahead-poor", 0.5)
    assert tells("\n".join(one.statement for one in found.chain), "74 %")


def test_reads_in_order_without_readahead(judged: Judge) -> None:
    story = reader(False, 4 * KIB).cache(lookups=4000, misses=4000)
    leads(judged(story), "readahead-poor", 0.8)


def mapped(calls: int) -> Story:
    """So many reads in order of 4 KiB, 4.5 ms each, and beside them a thread that waits for pages of a mapped file."""
    story = Story(2.0).thread(11, blocked=0.9)
    for number in range(360):
        story.wait(START + number * 5 * MS, 5 * MS, "page_read", None, tid=11)
    story.requests(400, bytes_=4 * KIB, service=int(1.9 * MS))
    story.cache(lookups=4000, misses=4000)
    blocked = int(4.5 * MS) if calls else 0
    return story.caller("pread64", calls or 400, blocked=blocked, bytes_=4 * KIB)


def test_reads_in_order_that_hardly_wait_say_nothing_of_page_faults(judged: Judge) -> None:
    absent(judged(mapped(0)), "readahead-poor")


def test_beside_page_faults_it_claims_what_the_calls_wait(judged: Judge) -> None:
    verdict = judged(mapped(400))
    found = finding(verdict, "readahead-poor")
    waiting = verdict.budget.elapsed("waiting to read")
    assert found is not None and 0.1 < found.share < 0.7 * waiting
    assert "in-these-calls" in links_of(found)


def test_not_when_the_pages_are_used(judged: Judge) -> None:
    story = reader(False, 128 * KIB).cache(lookups=12_800, misses=400, readahead=12_000)
    absent(judged(story), "readahead-poor")


def test_not_random_reads_without_readahead(judged: Judge) -> None:
    story = reader(True, 4 * KIB).cache(lookups=4000, misses=4000)
    absent(judged(story), "readahead-poor")


def test_pages_in_vain_of_a_file_that_costs_nothing_to_read(judged: Judge) -> None:
    """A compiler's binary, read ahead from a quick disk, beside the small sources that are waited for on a slow one."""
    story = Story(2.0).caller("pread64", 400, blocked=int(4.5 * MS), jump=True, bytes_=4 * KIB)
    story.requests(400, bytes_=4 * KIB, service=int(4.5 * MS), jump=True)
    story.requests(120, bytes_=128 * KIB, service=MS // 20, ino=BINARY)
    story.cache(lookups=800, misses=800)
    story.cache(lookups=400, misses=40, readahead=3800, used=80, ino=BINARY)
    absent(judged(story), "readahead-poor")


def test_pages_in_vain_count_by_the_time_of_their_files(tmp_path: Path) -> None:
    story = Story(2.0).caller("pread64", 400, blocked=int(4.5 * MS), jump=True, bytes_=4 * KIB)
    story.requests(200, bytes_=4 * KIB, service=int(4.5 * MS), jump=True)
    story.requests(200, bytes_=128 * KIB, service=int(4.5 * MS), jump=True, ino=BINARY)
    story.cache(lookups=200, misses=200)
    story.cache(lookups=200, misses=0, readahead=6400, used=80, ino=BINARY)
    with Facts(story.write(tmp_path / "x")) as facts:
        found = readahead_poor.CAUSE.find(facts)
    # Half of the waiting is for the binary, of which 79 of 80 pages are never used. By pages it would be 88 % of it.
    assert found is not None
    assert found.claims[0].fraction == pytest.approx(0.5 * 79 / 80, abs=0.01)
    # Each of the 280 pages that are used still takes a request, of 4.06 ms without its bytes: of 400 of 4.5 ms.
    part = 1 - 280 * 4.09 / (400 * 4.5)
    assert found.saving.part == pytest.approx(part / found.claims[0].fraction, abs=0.03)


def test_not_requests_that_bring_what_is_used_if_not_all_of_it(judged: Judge) -> None:
    """Half of what comes with a page is used: one request for each of these would take longer than all of it."""
    story = reader(True, 128 * KIB).cache(lookups=6_400, misses=400, readahead=12_400, used=6_000)
    absent(judged(story), "readahead-poor")


def test_not_files_that_one_request_brings_whole(judged: Judge) -> None:
    story = reader(False, 16 * KIB).cache(lookups=1600, misses=1200, readahead=400, ino=SMALL)
    verdict = judged(story.file(SMALL, "/data/small", 32 * KIB))
    absent(verdict, "readahead-poor")
    assert not any("setra" in one for one in leads(verdict, "cache-cold", 0.8).remedies)


def test_not_a_program_s_own_libraries_beside_direct_reads(judged: Judge) -> None:
    """fio with cold libraries: what is waited for is read past the cache, and no hint to readahead changes it."""
    story = Story(2.0).caller("pread64", 400, blocked=int(4.5 * MS), jump=True, bytes_=4 * KIB)
    story.requests(400, bytes_=4 * KIB, service=int(4.5 * MS), jump=True)
    story.requests(40, bytes_=128 * KIB, service=MS, ino=BINARY)
    story.cache(lookups=400, misses=40, readahead=13_000, used=4_000, ino=BINARY)
    absent(judged(story), "readahead-poor")


BINARY, SMALL = 77, 78
