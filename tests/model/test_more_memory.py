"""What `iowhy what-if` says of more memory, where calls show what was used again after how much."""

import random
from collections.abc import Sequence

import numpy as np
import pytest

from iowhy.model.changes import Change, changes
from iowhy.recordings import Recording
from iowhy.relations import Relations
from iowhy.relations.page_cache import Call, PageCache
from tests.model.runs import Step, run
from tests.reports.conftest import T0, Make, call
from tests.reports.conftest import make as make

PAGE, ROOM = 4096, 1000
READS = 20_000


def skewed() -> list[int]:
    choice = random.Random(5)
    return [int(6000 * choice.random() ** 2) for _ in range(READS)]


def cache(pages: Sequence[int], room: int) -> tuple[PageCache, list[int]]:
    """A cache without readahead, and the pages that it had to read."""
    made, read = PageCache(room), list[int]()
    for page in pages:
        before = made.read
        made.call(Call(1, 1, page, page, -9, 10**6, False, False))
        read += [page] * (made.read - before)
    return made, read


def recording(make: Make, pages: Sequence[int], limit: bool = True) -> Recording:
    """Its calls, and the group's memory."""
    reads = [
        call(at * 1000, 400, "pread64", bytes=PAGE, ret=PAGE, offset=page * PAGE, fd=3)
        for at, page in enumerate(pages)
    ]
    looked = {"ts_ns": T0, "interval_ns": 10**9, "tgid": 10, "dev": 1, "ino": 2, "estimated": False,
              "lookup_pages": READS, "demand_miss_pages": 5000, "readahead_pages": 0}  # fmt: skip
    group = [
        {"ts_ns": T0 + at, "path": "/a", "memory_bytes": ROOM * PAGE, "cached_bytes": ROOM * PAGE,
         "memory_limit_bytes": ROOM * PAGE if limit else None, "memory_limit_hits": at}
        for at in (0, 100)
    ]  # fmt: skip
    return make({"syscalls": reads, "page_cache": [looked], "cgroup_samples": group}, end_s=1)


def found(made: Recording, read: Sequence[int]) -> dict[str, Change]:
    steps = [Step(10, 100, place=page * PAGE) for page in read]
    with Relations(made) as relations:
        return {one.id: one for one in changes(run(steps), relations, [])}


def left(change: Change, read: Sequence[int]) -> int:
    """Requests that are still made."""
    gone = change.rule().no_requests
    return len(read) - int(np.sum(gone))


def test_twice_the_memory_reads_what_a_cache_of_twice_the_size_reads(make: Make) -> None:
    pages = skewed()
    _, read = cache(pages, ROOM)
    twice, _ = cache(pages, 2 * ROOM)
    one = found(recording(make, pages), read)["memory-twice"]
    assert left(one, read) == pytest.approx(twice.read, rel=0.05)
    assert one.unsure[0] > 0.1


def test_what_fits_is_what_the_calls_need(make: Make) -> None:
    pages = skewed()
    _, read = cache(pages, ROOM)
    one = found(recording(make, pages), read)["fits"]
    once = len(set(pages))
    assert left(one, read) == once
    assert 0.9 * once * PAGE < float(str(one.name.values["once"])) <= once * PAGE


def test_passes_gain_nothing_from_twice_a_memory_that_is_far_too_small(make: Make) -> None:
    pages = [number % 4000 for number in range(READS)]
    _, read = cache(pages, ROOM)
    one = found(recording(make, pages), read)["memory-twice"]
    assert left(one, read) > 0.99 * len(read)


@pytest.mark.parametrize("size", [2050, 1900])
def test_where_twice_as_much_is_nearly_what_fits_only_that_is_said(size: int, make: Make) -> None:
    pages = [number % size for number in range(READS)]
    _, read = cache(pages, ROOM)
    ids = found(recording(make, pages), read)
    assert "fits" in ids and "memory-twice" not in ids


def test_without_a_limit_nobody_knows_how_much_memory_it_had(make: Make) -> None:
    pages = skewed()
    _, read = cache(pages, ROOM)
    ids = found(recording(make, pages, limit=False), read)
    assert "memory-twice" not in ids
    assert ids["fits"].name.values["once"] == len(set(pages)) * PAGE


def test_mapped_pages_that_are_read_again_are_not_explained_by_calls(make: Make) -> None:
    """All requests are for pages that no call asks for: what calls read fits already."""
    read = [number % 3000 for number in range(9000)]
    ids = found(recording(make, [number % 100 for number in range(READS)]), read)
    assert "memory-twice" not in ids
    assert ids["fits"].name.values["once"] == 3000 * PAGE


def test_what_others_evict_is_not_explained_by_calls(make: Make) -> None:
    """It reads twice as much again as its calls would with that memory."""
    pages = skewed()
    _, read = cache(pages, ROOM // 4)
    ids = found(recording(make, pages), read)
    assert "memory-twice" not in ids and "fits" in ids
