"""The report memory-sizes against caches of each size that keep what was used last."""

import random
from collections import OrderedDict
from collections.abc import Sequence

import pytest

from iowhy.reports import run
from tests.reports.conftest import Make, call

PAGE = 4096
READS = 30_000


def hit_share(pages: Sequence[int], room: int) -> float:
    """Of a cache with room for so many pages."""
    kept: OrderedDict[int, None] = OrderedDict()
    hits = 0
    for page in pages:
        if page in kept:
            hits += 1
            kept.move_to_end(page)
            continue
        kept[page] = None
        if len(kept) > room:
            kept.popitem(last=False)
    return hits / len(pages)


def uniform(choice: random.Random) -> list[int]:
    return [choice.randrange(4000) for _ in range(READS)]


def skewed(choice: random.Random) -> list[int]:
    return [int(8000 * choice.random() ** 4) for _ in range(READS)]


def passes(_: random.Random) -> list[int]:
    return [number % 3000 for number in range(READS)]


def scan_beside(choice: random.Random) -> list[int]:
    """A table that is scanned once, and an index in use all the time."""
    return [10_000 + n if n % 2 else choice.randrange(800) for n in range(READS)]


def moving(choice: random.Random) -> list[int]:
    """A part of the file for a while, then the next."""
    return [n // 5000 * 1500 + choice.randrange(1500) for n in range(READS)]


@pytest.mark.parametrize("kind", [uniform, skewed, passes, scan_beside, moving])
def test_hits_are_those_of_a_cache_of_that_size(kind: object, make: Make) -> None:
    pages = kind(random.Random(7))  # type: ignore[operator]
    reads = [
        call(at * 1000, 400, "pread64", bytes=PAGE, ret=PAGE, offset=page * PAGE)
        for at, page in enumerate(pages)
    ]
    found = run(make({"syscalls": reads}, end_s=1), "memory-sizes").to_pylist()
    assert len(found) >= 3
    for row in found:
        exact = hit_share(pages, row["memory_bytes"] // PAGE)
        assert row["hit_share"] == pytest.approx(exact, abs=0.03), row
    assert found[-1]["memory_bytes"] == len(set(pages)) * PAGE


def test_a_large_read_is_of_all_its_pages(make: Make) -> None:
    reads = [
        call(at * 1000, 400, "read", bytes=1 << 20, ret=1 << 20, offset=at % 8 << 20)
        for at in range(32)
    ]
    found = run(make({"syscalls": reads}, end_s=1), "memory-sizes").to_pylist()
    hits = {row["memory_bytes"] >> 20: row["hit_share"] for row in found}
    assert hits == {1: 0, 2: 0, 4: 0, 8: pytest.approx(0.75)}


def test_without_reads_nothing_is_known(make: Make) -> None:
    assert run(make({"syscalls": [call(0, 10, "fsync")]}, end_s=1), "memory-sizes").num_rows == 0
