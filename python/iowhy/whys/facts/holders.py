"""What threads wait for that another holds: where, and whether one of the recording can have held it."""

from collections.abc import Iterable

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations

#: Times are compared in steps of this: the threads' states are read ten times a second.
STEP_NS = 100_000_000

_HELD = """
WITH active AS (
  -- What a thread did but sleep, in each step that its interval touches, spread evenly.
  SELECT tid, unnest(range(ts_ns // {step}, (ts_ns + interval_ns - 1) // {step} + 1)) AS step,
    (coalesce(cpu_user_ns, 0) + coalesce(cpu_kernel_ns, 0) + coalesce(runnable_ns, 0)
      + coalesce(blocked_ns, 0))::DOUBLE
      / ((ts_ns + interval_ns - 1) // {step} - ts_ns // {step} + 1) AS ns
  FROM thread_time WHERE interval_ns > 0 AND interval_ns < {longest}
), by_thread AS (SELECT step, tid, sum(ns) AS ns FROM active GROUP BY step, tid
), by_all AS (SELECT step, sum(ns) AS ns FROM by_thread GROUP BY step
), spans AS (
  -- Many waits are in the same steps: they are spread together.
  SELECT tid, ts_ns // {step} AS first_step, (ts_ns + dur_ns - 1) // {step} AS last_step, sum(dur_ns)::DOUBLE AS ns
  FROM uninterruptible_waits WHERE reason IN ({reasons}) AND {recorded} AND dur_ns > 0 AND dur_ns < {longest}
  GROUP BY tid, first_step, last_step
), parts AS (
  SELECT tid, unnest(range(first_step, last_step + 1)) AS step, ns / (last_step - first_step + 1) AS ns FROM spans
), waited AS (SELECT step, tid, sum(ns) AS ns FROM parts GROUP BY step, tid
)
SELECT sum(least(w.ns, greatest(0, coalesce(a.ns, 0) - coalesce(t.ns, 0)))) / sum(w.ns) AS share
FROM waited AS w LEFT JOIN by_all AS a ON a.step = w.step
LEFT JOIN by_thread AS t ON t.step = w.step AND t.tid = w.tid
"""

#: What other rows tell the reason of, where a block is under way (relation metadata_block_io).
LOCKED_BLOCK = "metadata_lock"

#: Intervals of sleep alone may be of any length; what is longer than this is one, or no wait for a lock.
_LONGEST_NS = 60_000_000_000


def held_share(relations: Relations, reasons: frozenset[str]) -> float | None:
    """Of the waits for some reasons, the share (0..1) in which another thread of the recording was at work.

    Who waits for a lock while nobody else works waits for no thread: a buffer or page that is under way to or
    from the device is locked as well. None where the threads' times or the waits were not recorded.
    """
    if not reasons or not relations.has("waits") or not relations.has("thread_time"):
        return None
    sql = _HELD.format(
        step=STEP_NS,
        longest=_LONGEST_NS,
        reasons=_listed(sorted(reasons)),
        recorded=_recorded(reasons),
    )
    return relations.value(float, sql)


_WHILE = """
WITH found AS MATERIALIZED (
  SELECT ts_ns, dur_ns, CAST(reason IN ({locked}) AS INTEGER) AS locked,
    CAST(reason IN ({reading}) AS INTEGER) AS reading
  FROM uninterruptible_waits WHERE (reason IN ({locked}) OR reason IN ({reading})) AND {recorded}
), moments AS (
  SELECT ts_ns AS t_ns, locked, reading FROM found
  UNION ALL
  SELECT ts_ns + dur_ns, -locked, -reading FROM found
), steps AS (
  SELECT lead(t_ns) OVER w - t_ns AS ns, sum(locked) OVER w AS locked, sum(reading) OVER w AS reading
  FROM moments WINDOW w AS (ORDER BY t_ns ROWS UNBOUNDED PRECEDING)
)
SELECT sum(CASE WHEN reading > 0 THEN ns * locked::DOUBLE ELSE 0 END) / sum(ns * locked::DOUBLE) AS share
FROM steps WHERE locked > 0
"""


def share_while_reading(
    relations: Relations, locked: frozenset[str], reading: frozenset[str]
) -> float | None:
    """Of the waits for some reasons, the share (0..1) in which another thread waited for others (it reads, and holds).

    None if there are no such waits.
    """
    if not relations.has("waits"):
        return None
    sql = _WHILE.format(
        locked=_listed(sorted(locked)),
        reading=_listed(sorted(reading)),
        recorded=_recorded(locked | reading),
    )
    return relations.value(float, sql)


class Waited(Struct, frozen=True):
    """The waits in one call (None in a page fault) for one file."""

    call: str | None
    path: str | None
    ino: int | None
    waits: int
    total_ns: int
    threads: int


def waited_longest(relations: Relations, reasons: Iterable[str]) -> Waited | None:
    """In which call and for which file threads waited longest for some reasons."""
    listed = _listed(reasons)
    if not listed or not relations.has("waits"):
        return None
    return relations.first(
        Waited,
        f"""
        WITH summed AS (
          SELECT syscall, dev, ino, tid, count(*) AS waits, sum(dur_ns) AS total_ns
          FROM waits WHERE reason IN ({listed}) GROUP BY syscall, dev, ino, tid
        )
        SELECT w.syscall AS call, f.path, w.ino, sum(w.waits) AS waits, sum(w.total_ns) AS total_ns,
          count(DISTINCT w.tid) AS threads
        FROM summed AS w LEFT JOIN named_files AS f ON f.dev = w.dev AND f.ino = w.ino
        GROUP BY w.syscall, f.path, w.ino ORDER BY total_ns DESC LIMIT 1
        """,
    )


def _recorded(reasons: frozenset[str]) -> str:
    """What the rows of such waits were recorded with, by which others are not read (metadata_block_io)."""
    return f"recorded_reason IN ({_listed(sorted(reasons | {LOCKED_BLOCK}))})"


def _listed(reasons: Iterable[str]) -> str:
    return ", ".join(map(text_literal, reasons))
