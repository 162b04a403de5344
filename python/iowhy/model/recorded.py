"""What a recording has for the model: requests, waits, and what each thread's time is worth of the elapsed time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.relations import Relations

#: Requests and waits that are executed again; of more, those of some stretches of the run.
MOST = 120_000
STRETCHES = 8
#: The elapsed time is cut into so many slices, in each of which a thread's waits become longer or shorter as one.
SLICES = 64

Columns = Mapping[str, Any]


class Slice(Struct, frozen=True):
    """What one thread did in one slice of the elapsed time, in ns; `worth`: of the elapsed time.

    `path_ns` is how much of what it did was on the critical path.
    """

    tid: int
    slice: int
    cpu_ns: float
    runnable_ns: float
    waiting_ns: float
    path_ns: float
    cpu_worth_ns: float
    runnable_worth_ns: float
    waiting_worth_ns: float
    recorder_worth_ns: float


class Recorded(Struct, frozen=True):
    """Times in ns from the start of the run; `elapsed_ns` is without the recorder, `part` how much of the run the requests and waits are of."""

    elapsed_ns: float
    cpus: int | None
    requests: Columns
    waits: Columns
    slices: tuple[Slice, ...]
    threads: frozenset[int]
    slice_ns: float
    part: float


_REQUESTS = """
SELECT
    CASE WHEN op <> 'flush' AND list_contains(flags, 'preflush') THEN sent_ns ELSE queue_ns END - {start} AS begin_ns,
    complete_ns - {start} AS done_ns,
    dev,
    coalesce(sector, 0) * 512 AS place,
    bytes,
    CASE op WHEN 'read' THEN 0 WHEN 'write' THEN 1 ELSE 2 END AS kind,
    coalesce(tid, 0) AS tid,
    whose <> 'others' AS own,
    coalesce(owner_kind, 'unknown') AS of,
    coalesce(owner_ino, 0) AS ino,
    coalesce(owner_page, -1) AS page,
    owner_page IS NOT NULL OR owner_kind = 'metadata' AS cached
FROM counted_requests
WHERE counted AND complete_ns > queue_ns AND (op = 'flush' OR (op IN ('read', 'write') AND bytes > 0)) AND {within}
ORDER BY begin_ns, done_ns
"""

#: A wait's `of` is its class; those that collect wait for what is in flight.
_WAITS = """
SELECT ts_ns - {start} AS begin_ns, dur_ns, tid, class AS of, coalesce(k.kind, '') = 'sync' OR class = 'sync' AS syncs,
    coalesce(reason, '') AS reason
FROM (
    SELECT w.ts_ns, w.dur_ns, w.tid, c.class, w.syscall, w.reason
    FROM uninterruptible_waits w
    JOIN wait_classes c
        ON c.reason IS NOT DISTINCT FROM w.reason
        AND c.syscall IS NOT DISTINCT FROM w.syscall
        AND c.io IS NOT DISTINCT FROM w.io
    UNION ALL
    SELECT ts_ns, dur_ns, tid, class, syscall, '' FROM storage_sleeps
) AS w
LEFT JOIN call_kinds k ON k.name = w.syscall
WHERE dur_ns > 0 AND {within}
ORDER BY begin_ns, dur_ns
"""

_SLICES = f"""
SELECT
    t.tid,
    CAST(r.cell * {SLICES} // (g.last_cell + 1) AS BIGINT) AS slice,
    sum(r.user_parts + r.kernel_parts) / 16 AS cpu_ns,
    sum(r.runnable_parts) / 16 AS runnable_ns,
    sum(r.waiting_parts) / 16 AS waiting_ns,
    sum((r.user_parts + r.kernel_parts) * (1 - r.cpu_slack) + r.runnable_parts * (1 - r.runnable_slack)
        + r.waiting_parts * (1 - r.waiting_slack)) / 16 AS path_ns,
    sum((r.user_parts + r.kernel_parts) * ((1 - r.cpu_slack) * b.critical_share + r.cpu_slack * b.slack_share)) / 16
        AS cpu_worth_ns,
    sum(r.recorder_parts * ((1 - r.cpu_slack) * b.critical_share + r.cpu_slack * b.slack_share)) / 16 AS recorder_worth_ns,
    sum(r.runnable_parts * ((1 - r.runnable_slack) * b.critical_share + r.runnable_slack * b.slack_share)) / 16
        AS runnable_worth_ns,
    sum(r.waiting_parts * ((1 - r.waiting_slack) * b.critical_share + r.waiting_slack * b.slack_share)) / 16
        AS waiting_worth_ns
FROM cell_times r
JOIN budget_cells b ON b.cell = r.cell
JOIN thread_intervals t ON t.row_id = r.row_id
CROSS JOIN budget_grid g
GROUP BY 1, 2
"""


def recorded(relations: Relations) -> Recorded:
    """All that is executed again. Raises DuckDB's errors."""
    facts = relations.facts
    start, elapsed = facts.start_ns, facts.elapsed_ns
    events = relations.size("block_requests") + relations.size("waits")
    part = min(1.0, MOST / max(events, 1))
    requests = _columns(
        relations,
        _REQUESTS.format(start=start, within=_within("queue_ns", start, elapsed, part)),
    )
    waits = _columns(
        relations, _WAITS.format(start=start, within=_within("ts_ns", start, elapsed, part))
    )
    slices = relations.read(Slice, _SLICES)
    recorder = sum(one.recorder_worth_ns for one in slices)
    threads = frozenset(one.tid for one in slices)
    return Recorded(
        elapsed - recorder,
        facts.cpus,
        requests,
        waits,
        tuple(slices),
        threads,
        elapsed / SLICES,
        part,
    )


def _within(column: str, start: int, elapsed: int, part: float) -> str:
    """Of a long run, stretches as far from each other."""
    if part >= 1:
        return "true"
    whole = elapsed // STRETCHES
    return f"({column} - {start}) % {max(1, whole)} < {int(whole * part)}"


def _columns(relations: Relations, sql: str) -> Columns:
    names, rows = relations.table(sql)
    columns = list(zip(*rows, strict=True)) or [()] * len(names)
    return {name: np.array(column) for name, column in zip(names, columns, strict=True)}
