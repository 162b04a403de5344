"""The devices that emptied their write caches for the command: its files may be on several."""

from msgspec import Struct

from iowhy.relations import Relations


class Flushed(Struct, frozen=True):
    """One device: its flushes for the command, and their times from queue to completion, summed."""

    dev: int
    device: str
    count: int
    time_ns: float


_FLUSHED = """
SELECT f.dev, coalesce(max(d.name), (f.dev >> 20) || ':' || (f.dev & 1048575)) AS device, f.count,
  f.time_ns::DOUBLE AS time_ns
FROM (
  SELECT dev, sum(flushes) AS count, coalesce(sum(time_ns), 0) AS time_ns
  FROM flush_totals WHERE of_command AND counted GROUP BY dev
) AS f LEFT JOIN devices AS d ON d.dev = f.dev
GROUP BY f.dev, f.count, f.time_ns ORDER BY f.time_ns DESC, f.dev
"""

_WALL_OF_ONE = "SELECT sum(busy_ns)::DOUBLE AS wall_ns FROM flushing_times WHERE dev = {devs}"

_WALL = """
WITH s AS (
  SELECT begin_ns, end_ns, max(end_ns) OVER (
    ORDER BY begin_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM flushing_spans WHERE dev IN ({devs})
)
SELECT sum(greatest(end_ns - greatest(begin_ns, coalesce(before_ns, begin_ns)), 0))::DOUBLE AS wall_ns FROM s
"""


def flushed(relations: Relations) -> tuple[Flushed, ...]:
    """From block_requests, most time first."""
    any_ = "SELECT EXISTS (SELECT 1 FROM request_sums WHERE op = 'flush' OR empty)"
    return tuple(relations.read(Flushed, _FLUSHED)) if relations.value(bool, any_) else ()


def flushing_ns(relations: Relations, devices: tuple[Flushed, ...]) -> float | None:
    """Time in which one of some devices was emptying its cache, for anybody; None without a device."""
    if not devices:
        return None
    sql = _WALL_OF_ONE if len(devices) == 1 else _WALL
    return relations.value(float, sql.format(devs=", ".join(str(one.dev) for one in devices)))


# Bytes that were written since the flush before are in the cache that it empties.
_OF_LITTLE = """
WITH events AS (
  SELECT dev, begin_ns AS at_ns, 0 AS bytes, complete_ns - begin_ns AS flush_ns FROM flush_requests
  WHERE dev IN ({devs}) AND counted AND complete_ns IS NOT NULL
  UNION ALL
  SELECT dev, complete_ns, bytes, NULL FROM counted_requests
  WHERE dev IN ({devs}) AND op = 'write' AND complete_ns IS NOT NULL
), summed AS (
  SELECT dev, at_ns, flush_ns, sum(bytes) OVER (PARTITION BY dev ORDER BY at_ns, flush_ns NULLS FIRST ROWS UNBOUNDED PRECEDING) AS written
  FROM events
), each AS (
  SELECT flush_ns, written - coalesce(lag(written) OVER (PARTITION BY dev ORDER BY at_ns), 0) AS bytes
  FROM summed WHERE flush_ns IS NOT NULL
)
SELECT sum(flush_ns) FILTER (WHERE bytes <= {most})::DOUBLE / nullif(sum(flush_ns), 0) FROM each
"""


def share_of_little(
    relations: Relations, devices: tuple[Flushed, ...], most: float
) -> float | None:
    """Of the time of their flushes, the share (0..1) of those that had at most so many bytes to write; None: not known."""
    if not devices:
        return None
    sql = _OF_LITTLE.format(devs=", ".join(str(one.dev) for one in devices), most=most)
    return relations.value(float, sql)
