"""memory-pressure: reclaim and swap."""

from ..conftest import Judge, absent, chain, finding, leads
from ..made import MS, START, STEP, Story


def faulter(reason: str, swapped: int = 0) -> Story:
    story = Story(2.0).thread(user=0.2, blocked=0.75)
    for number in range(150):
        story.wait(START + number * 13 * MS, 10 * MS, reason, None, ino=None)
    for number, pages in enumerate((0, swapped)):
        story.add(
            "vm_samples", ts_ns=START + number * STEP, swap_in_pages=pages, swap_out_pages=pages,
            direct_scan_pages=pages,
        )  # fmt: skip
    return story


def test_swap(judged: Judge) -> None:
    found = leads(judged(faulter("swap", 5000)), "memory-pressure", 0.7)
    assert "10,000 pages were swapped" in chain(found)


def test_reclaim(judged: Judge) -> None:
    leads(judged(faulter("memory_reclaim")), "memory-pressure", 0.7)


def test_not_page_faults_of_a_file(judged: Judge) -> None:
    absent(judged(faulter("page_read")), "memory-pressure")


def test_not_a_lock_of_the_memory_map(judged: Judge) -> None:
    """A second thread maps and unmaps all the time: it can hold the lock."""
    verdict = judged(faulter("memory_map_lock").thread(11, blocked=0.9))
    absent(verdict, "memory-pressure")
    assert finding(verdict, "lock-contended") is not None
