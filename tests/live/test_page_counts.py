"""Pages are counted exactly: 1, 4,099 and 262,147 of them, in folios of one page and in larger ones.

Each step of a recorded command (a first read, the same again, …) is a process of its own, so that one
recording holds what each of them asked for, missed and found. The command itself asks the kernel how
many pages are resident (cachestat(2), mincore(2)), how many faults each step took (getrusage(2)), and
whether pages lie in large folios (/proc/kpageflags).

Others may evict pages at any moment: memory that nobody touched for some seconds is paged out by DAMON
where that is on, and anybody may drop caches. The recording tells of that too, and each assertion holds
whatever they do: a page that is missed once more must be one that was evicted (`refaults`), and what came
into the cache is what was evicted, to the page. Each series of steps has a file of its own for that. Where
nobody evicts, and all but always, the terms for it are 0.
"""

import platform
from pathlib import Path

import pytest

from conftest import cannot_run
from machine import in_memory
from page_series import (
    DROP,
    FOLIOS,
    MAP_AHEAD,
    MAP_ALONE,
    NOTHING,
    PAGE,
    PAGES,
    PREFETCH,
    READ_AHEAD,
    READ_ALONE,
    RESIDENT,
    ROOM_BYTES,
    Done,
    Series,
    steps,
)

pytestmark = pytest.mark.usefixtures("live")


def large_folios(kind: str) -> bool:
    """Whether this kernel's filesystem reads ahead in large folios (ext4 since Linux 6.16)."""
    return _release() >= ((6, 16) if kind == "ext4" else (5, 18))


def _release() -> tuple[int, ...]:
    return tuple(map(int, platform.release().split("-")[0].split(".")[:2]))


def folios_are(size: str, done: Done, series: Series) -> None:
    """All pages lie alone, or most in large folios: readahead begins small, and memory may be in pieces."""
    # What was evicted may have come back in larger ones or in smaller ones.
    most = (done.kernel["one"] + done.kernel["large"]) / 2
    assert done.kernel[size] + series.refaults > most, done.kernel
    assert size == "large" or done.kernel["large"] <= series.refaults, done.kernel


def are_resident(pages: int, done: Done, series: Series) -> None:
    by_mincore, by_cachestat = done.kernel["mincore"], done.kernel["cachestat"]
    assert pages - series.evicted_by_others <= by_mincore <= pages
    if by_cachestat is not None:
        assert abs(by_cachestat - by_mincore) <= series.evicted_by_others


def all_came(done: Done, series: Series, expected: int) -> None:
    """Reads of pages that were not in the cache: each came once, and once more when it was evicted."""
    missed, ahead, refaults = done.of("missed", "ahead", "refaults")
    assert missed + ahead == expected + refaults
    assert refaults <= series.evicted_by_others


def each_was_missed_or_prefetched(done: Done, series: Series) -> None:
    # One that is evicted while it is being looked up may be missed twice, or be no hit any more.
    missed, prefetched = done.of("missed", "prefetched")
    assert abs(missed + prefetched - series.pages) <= series.evicted_by_others


def all_was_there(done: Done, series: Series) -> None:
    """Reads of pages that were in the cache: each miss is of a page that was evicted after it was read."""
    refaults, missed, ahead, prefetched = done.of("refaults", "missed", "ahead", "prefetched")
    assert missed + ahead == refaults <= series.evicted_by_others
    assert prefetched <= ahead
    again = {"refaults": refaults, "missed": missed, "ahead": ahead, "prefetched": prefetched}
    assert done.counted == NOTHING | again | {"lookups": series.pages}


def all_were_dropped(series: Series) -> None:
    """The last step drops what is there: what came into the cache has left it again, to the page."""
    *before, dropped = series.done
    came = sum(sum(done.of("missed", "ahead")) for done in before)
    assert dropped.counted == NOTHING | {"evicted": came - series.evicted_by_others}


OTHERS = pytest.mark.parametrize(
    ("kind", "evicting"), [("ext4", False), ("xfs", False), ("ext4", True)]
)


@OTHERS
def test_each_page_is_looked_up_missed_or_prefetched(
    tmp_path: Path, kind: str, evicting: bool
) -> None:
    wanted = {
        "alone": [READ_ALONE, READ_ALONE, FOLIOS, RESIDENT, DROP],
        "ahead": [READ_AHEAD, READ_AHEAD, FOLIOS, DROP],
        "prefetched": [PREFETCH, READ_AHEAD, FOLIOS, DROP],
    }
    sizes = PAGES[:2] if evicting else PAGES
    with in_memory(kind, tmp_path, bytes_=ROOM_BYTES) as scratch:
        found = steps(tmp_path, scratch, wanted, sizes, evicting=evicting)
    for pages in sizes:
        alone = found[pages, "alone"]
        cold, warm, folios, resident, _ = alone.done
        again = cold.counted["refaults"]
        missed = {"missed": pages + again, "refaults": again}
        assert cold.counted == NOTHING | missed | {"lookups": pages}
        all_came(cold, alone, pages)
        all_was_there(warm, alone)
        folios_are("one", folios, alone)
        are_resident(pages, resident, alone)
        all_were_dropped(alone)

        ahead = found[pages, "ahead"]
        cold, warm, folios, _ = ahead.done
        assert cold.counted["lookups"] == pages
        all_came(cold, ahead, pages)
        each_was_missed_or_prefetched(cold, ahead)
        assert 1 <= cold.counted["missed"] <= 1 + pages // 100 + cold.counted["refaults"]
        all_was_there(warm, ahead)
        if pages > 1 and large_folios(kind):
            folios_are("large", folios, ahead)
        all_were_dropped(ahead)

        fetched = found[pages, "prefetched"]
        fetch, read, folios, _ = fetched.done
        again = fetch.counted["refaults"]
        assert fetch.counted == NOTHING | {"ahead": pages + again, "refaults": again}
        assert read.counted["lookups"] == pages
        all_came(read, fetched, 0)
        each_was_missed_or_prefetched(read, fetched)
        folios_are("one", folios, fetched)
        all_were_dropped(fetched)


@OTHERS
def test_mapped_pages_are_counted_by_their_faults(
    tmp_path: Path, kind: str, evicting: bool
) -> None:
    wanted = {
        "alone": [MAP_ALONE, MAP_ALONE, FOLIOS, DROP],
        "ahead": [MAP_AHEAD, FOLIOS, DROP],
    }
    sizes = PAGES[:2] if evicting else PAGES
    with in_memory(kind, tmp_path, bytes_=ROOM_BYTES) as scratch:
        found = steps(tmp_path, scratch, wanted, sizes, evicting=evicting)
    for pages in sizes:
        alone = found[pages, "alone"]
        cold, warm, folios, _ = alone.done
        assert cold.of("lookups", "major") == (pages, pages)
        all_came(cold, alone, pages)
        assert cold.of("ahead", "prefetched", "evicted") == (0, 0, 0)
        _faults_are_those_of_the_kernel(cold, alone)
        folios_are("one", folios, alone)
        # A fault maps what is there around it, 64 KiB by default.
        all_came(warm, alone, 0)
        assert 1 <= warm.counted["lookups"] <= pages
        assert warm.of("ahead", "prefetched", "evicted") == (0, 0, 0)
        assert warm.counted["major"] <= warm.counted["missed"]
        _faults_are_those_of_the_kernel(warm, alone)
        all_were_dropped(alone)

        ahead = found[pages, "ahead"]
        read, folios, _ = ahead.done
        all_came(read, ahead, pages)
        each_was_missed_or_prefetched(read, ahead)
        missed, refaults, major = read.of("missed", "refaults", "major")
        assert missed - refaults <= major <= missed
        _faults_are_those_of_the_kernel(read, ahead)
        if pages > 1 and large_folios(kind):
            folios_are("large", folios, ahead)
        all_were_dropped(ahead)


def _faults_are_those_of_the_kernel(done: Done, series: Series) -> None:
    """Each fault is one lookup. The process has a few faults on memory of its own, too.

    One fault that was under way at a reading may be counted as minor before it turned major. One that
    waits for a page that another is about to evict is major to the kernel, as all that it tries again.
    """
    major, minor = (done.kernel[name] - done.counted[name] for name in ("major", "minor"))
    assert 0 <= major <= series.evicted_by_others
    assert -1 <= minor + major <= 100
    assert 0 <= done.counted["minor"] + done.counted["major"] - done.counted["lookups"] <= 1


@pytest.mark.parametrize("kind", ["ext4", "xfs"])
def test_half_resident_is_half_missed(tmp_path: Path, kind: str) -> None:
    half_alone, half_ahead = ("half-read", "random", PAGE), ("half-read", "normal", PAGE)
    wanted = {
        "read": [half_alone, RESIDENT, READ_ALONE, DROP],
        "mapped": [half_alone, RESIDENT, MAP_ALONE, DROP],
        "large": [half_ahead, RESIDENT, READ_ALONE, DROP],
    }
    with in_memory(kind, tmp_path, bytes_=ROOM_BYTES) as scratch:
        found = steps(tmp_path, scratch, wanted)
    for pages in PAGES:
        half = pages // 2
        for name in wanted:
            series = found[pages, name]
            before, resident, rest, _ = series.done
            came = sum(before.of("missed", "ahead")) - before.counted["refaults"]
            # In large folios readahead has gone beyond the half.
            assert came == half if name != "large" else half <= came <= pages
            are_resident(came, resident, series)
            all_came(rest, series, pages - came)
            if name == "mapped":
                assert rest.of("ahead", "major") == (0, rest.counted["missed"])
            else:
                # What readahead brought for the first reader is a hit of the second's.
                prefetched = rest.counted["prefetched"]
                assert 0 <= came - half - prefetched <= series.evicted_by_others
                missed, again = rest.of("missed", "refaults")
                more = {"missed": missed, "refaults": again, "prefetched": prefetched}
                assert rest.counted == NOTHING | more | {"lookups": pages}
            all_were_dropped(series)


def test_large_folios_without_readahead(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """XFS with blocks of 64 KiB: no page is without its 15 neighbours (Linux 6.12 and later)."""
    if not Path("/sys/kernel/mm/transparent_hugepage").exists() or _release() < (6, 12):
        cannot_run(request, "this kernel has no blocks that are larger than a page")
    block = 16
    read = ("read", "random", block * PAGE)
    wanted = {"read": [read, read, FOLIOS, DROP], "mapped": [MAP_ALONE, MAP_ALONE]}
    with in_memory(
        "xfs", tmp_path, bytes_=ROOM_BYTES, made=["-b", f"size={block * PAGE}"]
    ) as scratch:
        found = steps(tmp_path, scratch, wanted)
    for pages in PAGES:
        series = found[pages, "read"]
        cold, warm, folios, _ = series.done
        assert cold.counted == NOTHING | {"lookups": pages, "missed": pages}
        all_was_there(warm, series)
        folios_are("large", folios, series)
        all_were_dropped(series)

        series = found[pages, "mapped"]
        cold, warm = series.done
        faults = -(-pages // block)
        assert cold.of("lookups", "missed", "major") == (faults, faults, faults)
        _faults_are_those_of_the_kernel(cold, series)
        assert cold.of("ahead", "prefetched") == (pages - faults, pages - faults)
        all_came(warm, series, 0)
        missed, readahead = warm.of("missed", "ahead")
        assert warm.of("major", "prefetched") == (missed, readahead)


def test_readahead_in_folios_of_one_page(tmp_path: Path) -> None:
    """ext4 has no large folios where data goes through the journal."""
    wanted = {"read": [READ_AHEAD, FOLIOS, DROP], "mapped": [MAP_AHEAD]}
    with in_memory("ext4", tmp_path, options="noatime,data=journal") as scratch:
        found = steps(tmp_path, scratch, wanted, PAGES[:2])
    for pages in PAGES[:2]:
        for name in wanted:
            series = found[pages, name]
            all_came(series.done[0], series, pages)
            each_was_missed_or_prefetched(series.done[0], series)
        folios_are("one", found[pages, "read"].done[1], found[pages, "read"])
        all_were_dropped(found[pages, "read"])
        assert found[pages, "read"].done[0].counted["lookups"] == pages
        series = found[pages, "mapped"]
        _faults_are_those_of_the_kernel(series.done[0], series)
