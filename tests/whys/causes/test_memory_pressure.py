"""memory-pressure: reclaim and swap; kswapd in a pasted table of tasks."""

from pathlib import Path

import pytest

from iowhy.sources.diagnose import diagnose
from iowhy.whys.verdict import judge
from tests.numbers_told import tells

from ..conftest import Judge, absent, chain, finding, fixes_of, leads
from ..made import MS, START, STEP, Story


def swapping(story: Story, pages_in_all: int, kept: str = "swap") -> Story:
    """So many pages in, as many out and scanned, by the machine's counters at the start and a step later."""
    for number, pages in enumerate((0, pages_in_all)):
        counters = {"swap_in_pages": 0, "swap_out_pages": 0, "direct_scan_pages": pages}
        counters |= {f"{kept}_in_pages": pages, f"{kept}_out_pages": pages}
        story.add("vm_samples", ts_ns=START + number * STEP, **counters)
    return story


def faulter(reason: str, swapped: int = 0) -> Story:
    story = Story(2.0).thread(user=0.2, blocked=0.75)
    for number in range(150):
        story.wait(START + number * 13 * MS, 10 * MS, reason, None, ino=None)
    return swapping(story, swapped)


def test_swap(judged: Judge) -> None:
    found = leads(judged(faulter("swap", 5000)), "memory-pressure", 0.7)
    assert tells(chain(found), "10,000 pages")


def test_reclaim(judged: Judge) -> None:
    leads(judged(faulter("memory_reclaim")), "memory-pressure", 0.7)


def test_not_page_faults_of_a_file(judged: Judge) -> None:
    absent(judged(faulter("page_read")), "memory-pressure")


def test_not_a_lock_of_the_memory_map(judged: Judge) -> None:
    """A second thread maps and unmaps all the time: it can hold the lock."""
    verdict = judged(faulter("memory_map_lock").thread(11, blocked=0.9))
    absent(verdict, "memory-pressure")
    assert finding(verdict, "lock-contended") is not None


TASKS = Path(__file__).parents[2] / "sources/fixtures/top-kswapd.txt"
FREE = "              total        used        free      shared  buff/cache   available\nMem:        1000000      {}      {}  0  0  {}\n"
IOSTAT = "avg-cpu:  %user   %nice %system %iowait  %steal   %idle\n           1.00    0.00    9.00   80.00    0.00   10.00\n\n"


@pytest.mark.parametrize(
    ("swap", "beside", "share"),
    [
        (("100.0", "100.0"), "", 1.0),
        (("100.0", " 50.0"), "", 0.5),
        (("100.0", " 49.9"), "", None),
        (("kswapd0", "kswapdx"), "", None),
        (("100.0", "100.0"), FREE.format(800001, 199999, 199999), 1.0),
        (("100.0", "100.0"), FREE.format(800000, 200000, 200000), None),
        # What tells where the time goes is judged by that.
        (("100.0", "100.0"), 2 * IOSTAT, None),
    ],
)
def test_kswapd_in_a_table_of_tasks(
    tmp_path: Path, swap: tuple[str, str], beside: str, share: float | None
) -> None:
    (tmp_path / "in.txt").write_text(TASKS.read_text().replace(*swap) + "\n" + beside)
    verdict = judge(diagnose([str(tmp_path / "in.txt")], tmp_path / "out.iowhy").recording)
    found = finding(verdict, "memory-pressure")
    assert (found is None) == (share is None)
    if found is None:
        return
    assert found.share == pytest.approx(share) and found.share_of == "one CPU's time (kswapd0's)"
    # That kswapd works says not that anybody waits: a guess, and said as one.
    assert found.confidence <= 0.4 and verdict.answer.startswith("Perhaps")


def compressor(*, swapped: int, reclaim: float = 0.5, kept: str = "swap") -> Story:
    """A thread that frees memory on a CPU for itself: 10 % in calls, the rest of its kernel time in faults."""
    story = Story(2.0, cpus=2).thread(user=0.2, kernel=0.75)
    for row in story.tables["thread_time"]:
        row["cpu_calls_ns"] = int(0.05 * STEP)
        row["cpu_reclaim_ns"] = int(reclaim * STEP)
    return swapping(story, swapped, kept)


@pytest.mark.parametrize("kept", ["swap", "zswap"])
def test_cpu_time_that_frees_memory(judged: Judge, kept: str) -> None:
    """zram and zswap compress on the CPU of the thread that finds no page: no more CPUs would help, more memory does."""
    verdict = judged(compressor(swapped=5000, kept=kept))
    found = leads(verdict, "memory-pressure", 0.49, 0.51)
    assert tells(chain(found), "50 %")
    assert tells(chain(found), "10,000 pages")
    serial = finding(verdict, "cpu-serial")
    assert serial is not None and serial.share < 0.46


@pytest.mark.parametrize(("hits", "limited"), [(900, True), (0, False), (None, False)])
def test_a_limit_is_raised_where_one_was_met(
    judged: Judge, hits: int | None, limited: bool
) -> None:
    story = faulter("swap", 5000)
    if hits is not None:
        story.group(memory_limit_bytes=64 << 20, memory_bytes=60 << 20, memory_limit_hits=hits)
    told = fixes_of(leads(judged(story), "memory-pressure", 0.7))
    assert ("group.more-memory" in told) is limited
    assert ("cache-thrash.more-memory" in told) is not limited


def test_not_cache_that_is_dropped(judged: Judge) -> None:
    absent(judged(compressor(swapped=0)), "memory-pressure")


def test_not_a_little_of_it(judged: Judge) -> None:
    absent(judged(compressor(swapped=5000, reclaim=0.04)), "memory-pressure")
