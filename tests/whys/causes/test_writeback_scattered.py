"""writeback-scattered: a little of many inodes in turn."""

import pytest

from tests.numbers_told import tells

from ..conftest import Judge, absent, leads
from ..made import KIB, MS, Story


def writer(*, inodes: int, pages: int, jump: bool) -> Story:
    story = Story(2.0).caller(
        "write", 100, blocked=18 * MS, bytes_=64 * KIB, reason="dirty_throttle"
    )
    story.add("dirty_throttle", ts_ns=1, tgid=10, tid=10, pause_ns=18 * MS)
    story.requests(400, op="write", bytes_=16 * KIB, service=4 * MS, jump=jump)
    return story.passes_of_writeback(1000, inodes, pages)


def test_many_inodes_few_pages(judged: Judge) -> None:
    verdict = judged(writer(inodes=500, pages=4, jump=True))
    leads(verdict, "writeback-scattered", 0.85)
    absent(verdict, "dirty-throttled")


def test_not_a_few_large_files(judged: Judge) -> None:
    absent(judged(writer(inodes=4, pages=1024, jump=True)), "writeback-scattered")


def test_not_when_the_files_lie_side_by_side(judged: Judge) -> None:
    verdict = judged(writer(inodes=500, pages=4, jump=False))
    absent(verdict, "writeback-scattered")
    leads(verdict, "dirty-throttled", 0.85)


def test_not_when_each_pass_writes_much(judged: Judge) -> None:
    absent(judged(writer(inodes=500, pages=512, jump=True)), "writeback-scattered")


@pytest.mark.parametrize(("kib", "found"), [(16, True), (512, False)])
def test_large_folios_count_as_what_is_written_of_them(
    judged: Judge, kib: int, found: bool
) -> None:
    """The kernel counts 512 pages of a folio of which four are dirty."""
    story = writer(inodes=500, pages=512, jump=True)
    for number in range(500):
        at = {
            "op": "write",
            "bytes_": 2 * kib * KIB,
            "service": MS,
            "ino": 1000 + number,
            "tgid": 70,
        }
        story.requests(1, first=number * 4 * MS, jump=True, own=False, **at)  # type: ignore[arg-type]
    verdict = judged(story)
    if found:
        first = leads(verdict, "writeback-scattered", 0.85)
        assert any(tells(one.statement, "4 pages") for one in first.chain)
    else:
        absent(verdict, "writeback-scattered")
