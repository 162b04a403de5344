"""Writeback: how many inodes the passes hop over, how much each writes, who was paused for it."""

from msgspec import Struct

from iowhy.relations import Relations

#: A worker goes from inode to inode in microseconds, unless it waits for the device; its next round
#: comes half a second later or more (dirty_writeback_interval is five).
SWEEP_NS = 10_000_000


class Writeback(Struct, frozen=True):
    """`background` passes are those of kernel workers; the rest are callers' own (fsync).

    `passes` are over one inode each; `runs_of_passes` are passes of one thread with less than 10 ms between them,
    which is what the kernel's worker does in one go; a caller's own pass is counted separately.
    `inodes_per_second`: how many different inodes the passes of one second touch, in the median.
    """

    known: bool
    passes: int = 0
    runs_of_passes: int = 0
    inodes: int = 0
    background_passes: int = 0
    background_inodes: int = 0
    pages: float = 0.0
    median_background_pages: float | None = None
    inodes_per_second: float | None = None
    pauses: int = 0
    pause_ns: float = 0.0
    dirty_pages: float | None = None
    limit_pages: float | None = None


_PAUSES = """
SELECT count(*) AS pauses, coalesce(sum(pause_ns), 0) AS pause_ns, median(dirty_pages) AS dirty_pages,
  median(limit_pages) AS limit_pages FROM dirty_pauses
"""


_PASSES = f"""
WITH w AS (SELECT * FROM writeback_passes WHERE own
), s AS (
  SELECT ts_ns // 1000000000 AS second, count(DISTINCT (dev, ino)) AS inodes FROM w GROUP BY second
)
SELECT count(*) AS passes,
  count(*) FILTER (WHERE (background AND rest_ns < {SWEEP_NS}) IS NOT TRUE) AS runs_of_passes,
  count(DISTINCT (dev, ino)) AS inodes,
  count(*) FILTER (WHERE background) AS background_passes,
  count(DISTINCT CASE WHEN background THEN (dev, ino) END) AS background_inodes,
  coalesce(sum(pages_written), 0) AS pages,
  median(CASE WHEN background THEN pages_written END) AS median_background_pages,
  (SELECT median(inodes) FROM s) AS inodes_per_second
FROM w
"""


def measure(relations: Relations) -> Writeback:
    """From the relations writeback_passes and dirty_pauses."""
    queries = (("dirty_throttle", _PAUSES), ("writeback", _PASSES))
    return relations.one(
        Writeback,
        *(sql for table, sql in queries if relations.has(table)),
        known=relations.has("writeback") or "writeback" in relations.facts.ran,
    )


#: By file, as a pass's requests may be handed over only after it (a plug holds those of several files).
_REQUESTED = """
WITH passes AS (
  SELECT dev, ino, count(*) AS passes FROM writeback_passes WHERE own AND background GROUP BY dev, ino
), written AS (
  SELECT owner_dev AS dev, owner_ino AS ino, sum(bytes) AS bytes FROM block_requests
  WHERE op = 'write' AND owner_kind = 'data' AND owner_ino IS NOT NULL GROUP BY owner_dev, owner_ino
)
SELECT CAST(median(w.bytes / p.passes) AS DOUBLE) AS bytes
FROM passes AS p JOIN written AS w ON w.dev = p.dev AND w.ino = p.ino
"""


def requested_bytes(relations: Relations) -> float | None:
    """What a pass of the kernel's worker over one file asked the device to write, in the median of the files; None where not known.

    `pages_written` counts a folio as a whole, however little of it is dirty (wbc->nr_to_write): of a file that is in memory in
    large folios it is more than what is written.
    """
    if not relations.has("writeback") or not relations.has("block_requests"):
        return None
    return relations.value(float, _REQUESTED)
