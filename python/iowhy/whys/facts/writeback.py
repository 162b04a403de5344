"""Writeback: how many inodes the passes hop over, how much each writes, who was paused for it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


#: A worker goes from inode to inode in microseconds, unless it waits for the device; its next round
#: comes half a second later or more (dirty_writeback_interval is five).
SWEEP_NS = 10_000_000


@dataclass(frozen=True)
class Writeback:
    """`background` passes are those of kernel workers; the rest are callers' own (fsync).

    `passes` are over one inode each; `sweeps` are passes of one thread with less than 10 ms between them,
    which is what the kernel's worker does in one go; a caller's own pass is a sweep of its own.
    `inodes_per_second`: how many different inodes the passes of one second touch, in the median.
    """

    known: bool
    passes: int = 0
    sweeps: int = 0
    inodes: int = 0
    background_passes: int = 0
    background_inodes: int = 0
    pages: float = 0.0
    background_pages: float = 0.0
    median_pages: float | None = None
    median_background_pages: float | None = None
    inodes_per_second: float | None = None
    pauses: int = 0
    pause_ns: float = 0.0
    dirty_pages: float | None = None
    limit_pages: float | None = None


def measure(facts: "Facts") -> Writeback:
    """From writeback and dirty_throttle."""
    pauses: dict[str, float | None] = {}
    if facts.has("dirty_throttle"):
        pauses = facts.numbers(
            """SELECT count(*) AS n, sum(pause_ns) AS t, median(dirty_pages) AS dirty,
            median(limit_pages) AS lim FROM dirty_throttle WHERE pause_ns > 0
            AND (tgid IN (SELECT tgid FROM threads) OR NOT EXISTS (SELECT 1 FROM threads))"""
        )
    passes: dict[str, float | None] = {}
    if facts.has("writeback"):
        passes = facts.numbers(
            f"""
            WITH w AS (SELECT *, reason <> 'fsync' AS background FROM writeback
              WHERE pages_written > 0 AND {facts.own_filesystems()}),
            p AS (SELECT reason, ts_ns - coalesce(dur_ns, 0) - lag(ts_ns) OVER one AS rest,
                lag(reason) OVER one AS before
              FROM w WINDOW one AS (PARTITION BY dev, tid ORDER BY ts_ns)),
            s AS (SELECT ts_ns // 1000000000 AS second, count(DISTINCT (dev, ino)) AS inodes
              FROM w GROUP BY second)
            SELECT count(*) AS n,
              (SELECT sum(CASE WHEN reason <> 'fsync' AND before = reason AND rest < {SWEEP_NS} THEN 0
                ELSE 1 END) FROM p) AS sweeps, count(DISTINCT (dev, ino)) AS inodes,
              sum(CASE WHEN background THEN 1 ELSE 0 END) AS bg,
              count(DISTINCT CASE WHEN background THEN (dev, ino) END) AS bg_inodes,
              sum(pages_written) AS pages,
              sum(CASE WHEN background THEN pages_written END) AS bg_pages,
              median(pages_written) AS middle,
              median(CASE WHEN background THEN pages_written END) AS bg_middle,
              (SELECT median(inodes) FROM s) AS per_second
            FROM w
            """
        )
    return Writeback(
        known=bool(passes) or facts.recording.ran("writeback"),
        passes=int(passes.get("n") or 0),
        sweeps=int(passes.get("sweeps") or 0),
        inodes=int(passes.get("inodes") or 0),
        background_passes=int(passes.get("bg") or 0),
        background_inodes=int(passes.get("bg_inodes") or 0),
        pages=passes.get("pages") or 0.0,
        background_pages=passes.get("bg_pages") or 0.0,
        median_pages=passes.get("middle"),
        median_background_pages=passes.get("bg_middle"),
        inodes_per_second=passes.get("per_second"),
        pauses=int(pauses.get("n") or 0),
        pause_ns=pauses.get("t") or 0.0,
        dirty_pages=pauses.get("dirty"),
        limit_pages=pauses.get("lim"),
    )
