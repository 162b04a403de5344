"""The page cache: asked for, missed, read ahead, evicted and read again."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts

PAGE_BYTES = 4096


@dataclass(frozen=True)
class Cache:
    """Pages over the whole recording; None where the source does not tell.

    `hit_ratio` = 1 - pages added by reads / pages asked for. `reread_share`: of the pages that had
    to be read, those that had been in the cache before. `passes` are hit ratios of one pass after
    the other over the file that was read most (`top_*`).
    """

    known: bool
    estimated: bool = False
    lookups: float | None = None
    misses: float | None = None
    readahead: float | None = None
    prefetched_hits: float | None = None
    evicted: float | None = None
    dirtied: float | None = None
    refaults: float | None = None
    major_faults: float | None = None
    hit_ratio: float | None = None
    worst_hit_ratio: float | None = None
    best_hit_ratio: float | None = None
    added: float | None = None
    reread_share: float | None = None
    wasted_share: float | None = None
    top_path: str | None = None
    top_bytes: float | None = None
    top_asked_bytes: float | None = None
    top_times_read: float | None = None
    top_share: float | None = None
    passes: tuple[float, ...] = ()
    working_set_bytes: float | None = None


_SUMS = """
SELECT sum(lookup_pages) AS lookups, sum(demand_miss_pages) AS misses,
  sum(readahead_pages) AS readahead, sum(prefetched_hit_pages) AS prefetched,
  sum(evicted_pages) AS evicted, sum(dirtied_pages) AS dirtied, sum(refault_pages) AS refaults,
  sum(major_faults) AS major, max(CASE WHEN estimated THEN 1 ELSE 0 END) AS estimated,
  quantile_cont(CASE WHEN lookup_pages > 0 THEN
    1 - least(1.0, (demand_miss_pages + coalesce(readahead_pages, 0)) / lookup_pages) END, 0.1)
    AS worst,
  quantile_cont(CASE WHEN lookup_pages > 0 THEN
    1 - least(1.0, (demand_miss_pages + coalesce(readahead_pages, 0)) / lookup_pages) END, 0.9)
    AS best
FROM page_cache
"""

_TOP = """
WITH p AS (
  SELECT dev, ino, sum(lookup_pages) AS asked,
    sum(coalesce(demand_miss_pages, 0) + coalesce(readahead_pages, 0)) AS added,
    sum(refault_pages) AS refaults
  FROM page_cache WHERE ino IS NOT NULL AND dev IS NOT NULL GROUP BY dev, ino
), k AS (
  SELECT p.*, f.path, f.size_bytes, f.kind FROM p LEFT JOIN why_files AS f
    ON f.dev = p.dev AND f.ino = p.ino)
SELECT dev, ino, path, size_bytes, asked, added, refaults,
  added / nullif(sum(added) OVER (), 0) AS share,
  sum(CASE WHEN refaults > 0 THEN added - refaults END) OVER () AS working
FROM k ORDER BY added DESC, asked DESC LIMIT 1
"""


def measure(facts: "Facts") -> Cache:
    """From page_cache and files."""
    if not facts.has("page_cache"):
        return Cache(known=facts.recording.ran("page_cache") and not facts.run.pasted)
    sums = facts.numbers(_SUMS)
    misses, readahead, lookups = sums["misses"], sums["readahead"], sums["lookups"]
    added = None if misses is None else misses + (readahead or 0.0)
    refaults = sums["refaults"]
    if refaults is None and not facts.run.pasted:
        group = facts.machine.group_refault_pages
        refaults = group if group is not None else None
    top = facts.rows(_TOP)
    path, bytes_, asked, times, share, working = None, None, None, None, None, None
    passes: tuple[float, ...] = ()
    if top:
        dev, ino, name, size, asked_pages, added_pages, again, part, working_set = top[0]
        path = None if name is None else str(name)
        bytes_ = _number(size)
        if added_pages is not None and again is not None:
            # What was read at least once, which may be less than the file.
            once = (float(str(added_pages)) - float(str(again))) * PAGE_BYTES
            bytes_ = once if not bytes_ or once < bytes_ / 2 else bytes_
        asked = None if asked_pages is None else float(str(asked_pages)) * PAGE_BYTES
        share = _number(part)
        working = None if working_set is None else float(str(working_set)) * PAGE_BYTES
        if bytes_ and added_pages is not None:
            times = float(str(added_pages)) * PAGE_BYTES / bytes_
        if bytes_:
            passes = _passes(facts, int(str(dev)), int(str(ino)), bytes_)
    prefetched = sums["prefetched"]
    return Cache(
        known=True,
        estimated=bool(sums["estimated"]),
        lookups=lookups,
        misses=misses,
        readahead=readahead,
        prefetched_hits=prefetched,
        evicted=sums["evicted"],
        dirtied=sums["dirtied"],
        refaults=refaults,
        major_faults=sums["major"],
        hit_ratio=None if not lookups or added is None else max(0.0, 1 - added / lookups),
        worst_hit_ratio=sums["worst"],
        best_hit_ratio=sums["best"],
        added=added,
        reread_share=None if refaults is None or not added else min(1.0, refaults / added),
        wasted_share=None
        if prefetched is None or not readahead
        else max(0.0, 1 - prefetched / readahead),
        top_path=path,
        top_bytes=bytes_,
        top_asked_bytes=asked,
        top_times_read=times,
        top_share=share,
        passes=passes,
        working_set_bytes=working,
    )


def _passes(facts: "Facts", dev: int, ino: int, size_bytes: float) -> tuple[float, ...]:
    """Hit ratio per pass over a file: a pass ends when as many pages were asked for as it has.

    Valid for passes that read the file from end to end; at most the first eight.
    """
    pages = max(1, round(size_bytes / PAGE_BYTES))
    rows = facts.rows(
        f"""
        WITH i AS (
          SELECT ts_ns, sum(lookup_pages) AS asked,
            sum(coalesce(demand_miss_pages, 0) + coalesce(readahead_pages, 0)) AS added
          FROM page_cache WHERE dev = {dev} AND ino = {ino} GROUP BY ts_ns
        ), c AS (SELECT *, sum(asked) OVER (ORDER BY ts_ns) - asked / 2 AS done FROM i)
        SELECT CAST(floor(done / {pages}) AS BIGINT) AS pass, sum(asked), sum(added) FROM c
        WHERE asked > 0 OR added > 0 GROUP BY pass ORDER BY pass LIMIT 8
        """
    )
    return tuple(
        max(0.0, 1 - float(str(added)) / float(str(asked)))
        for _, asked, added in rows
        if asked is not None and float(str(asked)) >= pages / 8
    )


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
