"""The page cache: asked for, missed, read ahead, evicted and read again."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations


class Cache(Struct, frozen=True):
    """Pages over the whole recording; None where the source does not say.

    `hit_ratio`: lookups of pages that were in memory before (see the relation cache_counts).
    `added` are pages that were read, on demand or ahead. `reread_share`: of the pages that had to be
    read, those that had been in the cache before. `passes` are hit ratios of one pass after the other
    over the file that was read most (`top_*`).

    A page costs what reading its file costs: `reread_cost` and `wasted_cost` are the parts of the time of all requests that
    read files in which pages came that had been there before, and pages that were read ahead and never used, of files whose look-ups are seen: none of it, where no
    page came, as of direct I/O. None if not known of which files the pages are. `costliest_*` is the file whose reads take most of the time of all requests that read
    data, and its part of that. `whole_share`: of the pages that were read, those of files that readahead's window holds whole.
    `written_past_share`: of them, those of files that the command itself wrote past the cache (O_DIRECT) in this recording.
    """

    known: bool
    lookups: float | None = None
    misses: float | None = None
    readahead: float | None = None
    prefetched_hits: float | None = None
    refaults: float | None = None
    hit_ratio: float | None = None
    worst_hit_ratio: float | None = None
    best_hit_ratio: float | None = None
    added: float | None = None
    reread_share: float | None = None
    wasted_share: float | None = None
    reread_cost: float | None = None
    wasted_cost: float | None = None
    costliest_path: str | None = None
    costliest_share: float | None = None
    top_path: str | None = None
    top_bytes: float | None = None
    top_times_read: float | None = None
    top_share: float | None = None
    passes: tuple[float, ...] = ()
    working_set_bytes: float | None = None
    whole_share: float | None = None
    written_past_share: float = 0.0


#: Files whose look-ups are seen, if there are any. What the kernel reads for itself (btrfs send and deduplication, a copy-up) and what is
#: only asked for ahead it looks up elsewhere, or not at all: that nobody is seen to use such pages says nothing.
_LOOKED_AT = """(lookup_pages IS NULL OR lookup_pages > 0
  OR coalesce(major_faults, 0) + coalesce(minor_faults, 0) > 0)"""

_SUMS = f"""
SELECT * REPLACE (
  CASE WHEN hit_ratio < 0 THEN 0.0 ELSE hit_ratio END AS hit_ratio,
  CASE WHEN worst_hit_ratio < 0 THEN 0.0 ELSE worst_hit_ratio END AS worst_hit_ratio,
  CASE WHEN best_hit_ratio < 0 THEN 0.0 ELSE best_hit_ratio END AS best_hit_ratio,
  CASE WHEN wasted_share < 0 THEN 0.0 ELSE wasted_share END AS wasted_share)
FROM (
SELECT sum(lookup_pages) AS lookups, sum(miss_pages) AS misses, sum(readahead_pages) AS readahead,
  (coalesce(sum(readahead_pages) FILTER (WHERE {_LOOKED_AT}), 0) - sum(prefetched_pages))
    / nullif(sum(readahead_pages), 0) AS wasted_share,
  sum(prefetched_pages) AS prefetched_hits, sum(refault_pages) AS refaults,
  sum(added_pages) AS added,
  sum(hit_pages) / nullif(sum(hit_of_pages), 0) AS hit_ratio,
  (SELECT quantile_cont(hit_pages / hit_of_pages, 0.1) FROM cache_counts WHERE hit_of_pages > 0)
    AS worst_hit_ratio,
  (SELECT quantile_cont(hit_pages / hit_of_pages, 0.9) FROM cache_counts WHERE hit_of_pages > 0)
    AS best_hit_ratio
FROM file_cache)
"""


#: Of the pages that were read, those whose files are known: with less, they do not speak for the others.
COVERED = 0.5

# Pages of a file on a disk that answers at once, or that are read while nobody waits, are no part of the waiting. A file that has
# requests and no pages is read past the cache.
_COSTS = f"""
WITH r AS (
  SELECT owner_dev AS dev, owner_ino AS ino, sum(time_ns) AS time_ns FROM request_sums
  WHERE op = 'read' AND in_scope AND owner_kind = 'data' GROUP BY owner_dev, owner_ino
), f AS (
  SELECT r.time_ns,
    CASE WHEN c.added_pages > 0 THEN c.refault_pages / c.added_pages ELSE 0 END AS reread,
    CASE WHEN c.added_pages > 0 AND {_LOOKED_AT}
      THEN greatest(0, c.readahead_pages - c.prefetched_pages) / c.added_pages ELSE 0 END AS wasted
  FROM r LEFT JOIN file_cache AS c ON c.dev = r.dev AND c.ino = r.ino
), known AS (
  SELECT sum(added_pages) FILTER (WHERE dev IS NOT NULL AND ino IS NOT NULL) >= {COVERED} * sum(added_pages)
    AND sum(added_pages) > 0 AS covered, sum(refault_pages) IS NOT NULL AS counted
  FROM file_cache
)
SELECT
  CASE WHEN any_value(covered AND counted) THEN sum(time_ns * least(1, reread)) / nullif(sum(time_ns), 0) END AS reread_cost,
  CASE WHEN any_value(covered) THEN sum(time_ns * least(1, wasted)) / nullif(sum(time_ns), 0) END AS wasted_cost,
  (SELECT n.path FROM (SELECT dev, ino FROM r ORDER BY time_ns DESC NULLS LAST, ino LIMIT 1) AS m
    LEFT JOIN named_files AS n ON n.dev = m.dev AND n.ino = m.ino) AS costliest_path,
  (SELECT max(time_ns) / nullif(sum(time_ns), 0) FROM r) AS costliest_share
FROM known LEFT JOIN f ON true
"""


#: The kernel's default window of readahead (read_ahead_kb): a smaller file is read by one request.
WINDOW_BYTES = 128 * 1024
#: Of what was written to a file, past the cache from which it counts as written so: less is its last block.
PAST = 0.5

_KINDS = f"""
SELECT sum(c.added_pages) FILTER (n.size_bytes <= {WINDOW_BYTES}) / nullif(sum(c.added_pages), 0)::DOUBLE AS whole_share,
  coalesce({{past}}, 0) AS written_past_share
FROM file_cache AS c
LEFT JOIN named_files AS n ON n.dev = c.dev AND n.ino = c.ino
{{calls}}
"""
_PAST = f"""sum(c.added_pages) FILTER (
    f.written_bytes - coalesce(c.dirtied_pages, 0) * {{page}} >= {PAST} * f.written_bytes
    AND f.written_bytes >= {PAST} * c.added_pages * {{page}}
  ) / nullif(sum(c.added_pages), 0)::DOUBLE"""


class _Top(Struct, frozen=True):
    dev: int
    ino: int
    path: str | None
    size_bytes: int | None
    added: int | None
    refaults: int | None
    share: float | None
    working: int | None


_TOP = """
SELECT p.dev, p.ino, f.path, f.size_bytes, p.added_pages AS added,
  p.refault_pages AS refaults,
  p.added_pages / nullif(sum(p.added_pages) OVER (), 0) AS share,
  sum(CASE WHEN p.refault_pages > 0 THEN p.added_pages - p.refault_pages END) OVER () AS working
FROM file_cache AS p LEFT JOIN named_files AS f ON f.dev = p.dev AND f.ino = p.ino
WHERE p.ino IS NOT NULL AND p.dev IS NOT NULL
ORDER BY p.added_pages DESC NULLS LAST, p.lookup_pages DESC NULLS LAST, p.ino LIMIT 1
"""


def measure(relations: Relations, pasted: bool, group_refault_pages: float | None) -> Cache:
    """From page_cache and files; refaults, where the events have none, from the control group."""
    if not relations.has("page_cache"):
        return Cache(known="page_cache" in relations.facts.ran and not pasted)
    costs = [_COSTS] if relations.has("block_requests") else []
    found = relations.one(Cache, _SUMS, *costs, _kinds(relations), known=True)
    refaults = found.refaults
    if refaults is None and not pasted:
        refaults = group_refault_pages
    again = None if refaults is None or not found.added else min(1.0, refaults / found.added)
    found = replace(found, refaults=refaults, reread_share=again)
    top = relations.first(_Top, _TOP)
    return found if top is None else _with_top(relations, found, top)


def _kinds(relations: Relations) -> str:
    """SQL: what kinds of files the pages that were read are of."""
    called = relations.has("syscalls")
    past = _PAST.format(page=relations.facts.page_bytes) if called else "NULL"
    calls = "LEFT JOIN file_calls AS f ON f.dev = c.dev AND f.ino = c.ino" if called else ""
    return _KINDS.format(past=past, calls=calls)


def _with_top(relations: Relations, common: Cache, top: _Top) -> Cache:
    page_bytes = relations.facts.page_bytes
    bytes_ = None if top.size_bytes is None else float(top.size_bytes)
    if top.added is not None and top.refaults is not None:
        # What was read at least once, which may be less than the file.
        once = float(top.added - top.refaults) * page_bytes
        bytes_ = once if not bytes_ or once < bytes_ / 2 else bytes_
    times = None
    if bytes_ and top.added is not None:
        times = top.added * page_bytes / bytes_
    return replace(
        common,
        top_path=top.path,
        top_bytes=bytes_,
        top_times_read=times,
        top_share=top.share,
        passes=_passes(relations, top, bytes_) if bytes_ else (),
        working_set_bytes=None if top.working is None else float(top.working) * page_bytes,
    )


def _passes(relations: Relations, top: _Top, size_bytes: float) -> tuple[float, ...]:
    """Hit ratio per pass over a file: a pass ends when as many pages were asked for as it has.

    Valid for passes that read the file from end to end; at most the first eight.
    """
    pages = max(1, round(size_bytes / relations.facts.page_bytes))
    return tuple(
        relations.values(
            float,
            f"""
        WITH i AS (
          SELECT ts_ns, sum(lookup_pages) AS asked, sum(added_pages) AS added,
            sum(hit_pages) AS hits, sum(hit_of_pages) AS of_pages
          FROM cache_counts WHERE dev = {top.dev} AND ino = {top.ino} GROUP BY ts_ns
        ), c AS (SELECT *, sum(asked) OVER (ORDER BY ts_ns) - asked / 2 AS done FROM i)
        SELECT CASE WHEN hit_pages < 0 THEN 0 ELSE hit_pages / of_pages END FROM (
          SELECT floor(done / {pages}) AS number, sum(of_pages) AS of_pages, sum(hits) AS hit_pages
          FROM c WHERE done IS NOT NULL AND (asked > 0 OR added > 0)
          GROUP BY number ORDER BY number LIMIT 8)
        WHERE hit_pages IS NOT NULL AND of_pages >= {pages} / 8 ORDER BY number
        """,
        )
    )
