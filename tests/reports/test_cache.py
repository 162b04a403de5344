"""The page cache: what it was asked for, and had."""

import pytest

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, file, filesystem


def cached(at_ms: int, ino: int | None, lookups: int | None, **more: object) -> dict[str, object]:
    row: dict[str, object] = {"ts_ns": T0 + at_ms * MS, "interval_ns": 100 * MS, "tgid": 10}
    dev = None if ino is None else 1
    return row | {"dev": dev, "ino": ino, "lookup_pages": lookups, "estimated": False} | more


def test_cache(make: Make) -> None:
    rec = make(
        {
            "files": [file(2, "/a"), file(3, "/b")],
            "page_cache": [
                # Cold with readahead: 10 missed, 90 brought ahead and hit; then warm.
                cached(
                    0, 2, 100, demand_miss_pages=10, readahead_pages=98, prefetched_hit_pages=90
                ),
                cached(300, 2, 100, demand_miss_pages=0, prefetched_hit_pages=0),
                cached(300, 3, 50, demand_miss_pages=50, prefetched_hit_pages=0, refault_pages=20),
                cached(300, 3, None, dirtied_pages=7),
            ],
        }
    )
    total, a, b = run(rec, "cache").to_pylist()
    assert (total["path"], a["path"], b["path"]) == ("all files", "/a", "/b")
    assert (a["lookup_pages"], a["miss_pages"], a["prefetched_pages"]) == (200, 10, 90)
    assert (a["hit_ratio"], a["present_ratio"]) == (0.5, 0.95)
    assert a["unused_readahead_pages"] == 8
    assert (b["hit_ratio"], b["refault_pages"], b["dirtied_pages"]) == (0, 20, 7)
    assert (a["dirtied_pages"], a["major_faults"]) == (None, None)  # nothing said: unknown
    assert b["unused_readahead_pages"] is None
    assert (total["lookup_pages"], total["miss_pages"], total["hit_ratio"]) == (250, 60, 0.4)
    over_time = run(rec, "cache-over-time").to_pylist()
    assert [(r["at_s"], r["hit_ratio"]) for r in over_time] == [
        (0, 0),
        (pytest.approx(0.3), 100 / 150),
    ]


def test_cache_of_the_whole_machine(make: Make) -> None:
    rec = make({"page_cache": [cached(0, None, 1000, demand_miss_pages=935, tgid=None)]})
    (row,) = run(rec, "cache").to_pylist()
    assert (row["path"], row["hit_ratio"]) == ("all files", 0.065)


def test_who_evicted_and_for_want_of_memory(make: Make) -> None:
    """The command in its own context, kdamond, and a shell that drops caches; names of others are neighbours'."""
    evicted = {"ts_ns": T0, "interval_ns": 100, "dev": 1, "ino": 2, "estimated": False}
    rec = make(
        {
            "threads": [{"tid": 10, "tgid": 10, "comm": "reader", "start_ns": T0}],
            "neighbours": [{"tgid": 77, "comm": "kdamond.0"}, {"tgid": 78, "comm": "sh"}],
            "page_cache": [
                {**evicted, "tgid": 10, "evicted_pages": 60, "reclaimed_pages": 50},
                {**evicted, "tgid": 77, "evicted_pages": 30, "reclaimed_pages": 30},
                {**evicted, "tgid": 78, "evicted_pages": 8, "reclaimed_pages": 0},
                {**evicted, "tgid": 79, "evicted_pages": 2},
            ],
        }
    )
    assert [tuple(row.values())[:5] for row in run(rec, "evictions").to_pylist()] == [
        ("reader", 10, True, "reclaim", 50),
        ("kdamond.0", 77, False, "damon", 30),
        ("reader", 10, True, "dropped", 10),
        ("sh", 78, False, "dropped", 8),
        (None, 79, False, None, 2),
    ]


def test_what_others_made_dirty(make: Make) -> None:
    dirtied = {"ts_ns": T0, "interval_ns": 100, "dev": 1, "tgid": 78}
    rec = make(
        {
            "neighbours": [{"tgid": 78, "comm": "dd"}],
            "filesystems": [filesystem()],
            "dirtied_by_others": [{**dirtied, "pages": 3}, {**dirtied, "pages": 4}],
        }
    )
    row = run(rec, "dirtied-by-others").to_pylist()[0]
    assert (row["comm"], row["tgid"], row["pages"], row["bytes"]) == ("dd", 78, 7, 7 * 4096)


def test_pages_that_a_fault_maps_around_its_own_are_no_lookups(make: Make) -> None:
    """Readahead brought them, and they were used first without one: no share of hits is below zero."""
    rec = make(
        {
            "files": [file(2, "/lib.so")],
            "page_cache": [
                cached(0, 2, 26, demand_miss_pages=2, readahead_pages=331, prefetched_hit_pages=298)
            ],
        }
    )
    for row in run(rec, "cache").to_pylist():
        assert (row["hit_ratio"], row["prefetched_pages"]) == (0, 298)
    assert run(rec, "cache-over-time").to_pylist()[0]["hit_ratio"] == 0
