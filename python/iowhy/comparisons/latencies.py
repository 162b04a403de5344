"""How long requests and calls took on both sides: the middle, what few exceed, and the longest."""

from msgspec import Struct

from iowhy.relations import Relations

MOST = 6
POINTS = ("p50_ns", "p90_ns", "p99_ns", "p999_ns", "max_ns")

_REQUESTS = """SELECT coalesce(d.name, CAST(p.dev AS VARCHAR)) || ' ' || p.op
        || CASE WHEN p.whose = 'shared' THEN ' (shared)' ELSE '' END AS what, t.total_ns,
    p.p50_ns, p.p90_ns, p.p99_ns, p.p999_ns, p.max_ns
FROM request_percentiles p
JOIN (
    SELECT dev, op, whose, sum(complete_ns - queue_ns) AS total_ns FROM counted_requests
    WHERE counted AND whose <> 'others' GROUP BY dev, op, whose
) t ON t.dev = p.dev AND t.op = p.op AND t.whose = p.whose
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) d ON d.dev = p.dev
WHERE p.p50_ns IS NOT NULL"""

_CALLS = """SELECT l.name AS what, t.total_ns, l.p50_ns, l.p90_ns, l.p99_ns, l.p999_ns, l.max_ns
FROM call_percentiles l
JOIN (SELECT name, sum(dur_ns) AS total_ns FROM file_operations GROUP BY name) t ON t.name = l.name
WHERE l.p50_ns IS NOT NULL"""

Points = tuple[float | None, ...]


class Latency(Struct, frozen=True):
    """Of one device and operation, or of the calls of one name, POINTS in ns on both sides; None: not known, or not done there."""

    what: str
    before: Points
    after: Points


def latencies(before: Relations, after: Relations) -> tuple[Latency, ...]:
    """Those that take most of the time on either side, of requests of the command, and of those that can be charged to nobody alone (flushes, journal), by device and operation.

    A device is the same on both sides by its name. Raises Problem for a recording that cannot be read.
    """
    return _side_by_side(_of(before, _REQUESTS), _of(after, _REQUESTS))


def call_latencies(before: Relations, after: Relations) -> tuple[Latency, ...]:
    """The calls of the command that take most of the time on either side, by name: those that are kept one by one.

    Raises Problem for a recording that cannot be read.
    """
    return _side_by_side(_of(before, _CALLS), _of(after, _CALLS))


_Side = dict[str, tuple[float, Points]]


def _side_by_side(first: _Side, second: _Side) -> tuple[Latency, ...]:
    total = {
        name: max(side[name][0] for side in (first, second) if name in side)
        for name in (*first, *second)
    }
    unknown: Points = (None,) * len(POINTS)
    return tuple(
        Latency(
            name,
            first[name][1] if name in first else unknown,
            second[name][1] if name in second else unknown,
        )
        for name in sorted(total, key=lambda one: (-total[one], one))[:MOST]
    )


def _of(relations: Relations, asked: str) -> _Side:
    with relations.recording.damage_named():
        return {
            str(name): (_number(total) or 0.0, tuple(map(_number, points)))
            for name, total, *points in relations.rows(asked)
        }


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None
