"""The devices that emptied their write caches for the command: its files may be on several."""

from msgspec import Struct

from iowhy.relations import Relations


class Flushed(Struct, frozen=True):
    """One device: its flushes for the command, and their times from queue to completion, summed."""

    dev: int
    device: str
    count: int
    time_ns: float


class _MayFlush(Struct, frozen=True):
    any: bool


_FLUSHED = """
SELECT f.dev, coalesce(max(d.name), (f.dev >> 20) || ':' || (f.dev & 1048575)) AS device, f.count,
  f.time_ns::DOUBLE AS time_ns
FROM (
  SELECT dev, sum(flushes) AS count, coalesce(sum(time_ns), 0) AS time_ns
  FROM flush_totals WHERE of_command AND counted GROUP BY dev
) AS f LEFT JOIN devices AS d ON d.dev = f.dev
GROUP BY f.dev, f.count, f.time_ns ORDER BY f.time_ns DESC, f.dev
"""

_WALL_OF_ONE = "SELECT sum(busy_ns)::DOUBLE AS wall_ns FROM flushing_times WHERE dev = {dev}"

_WALL = """
WITH s AS (
  SELECT begin_ns, end_ns, max(end_ns) OVER (
    ORDER BY begin_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM flushing_spans WHERE dev IN ({devs})
)
SELECT sum(greatest(end_ns - greatest(begin_ns, coalesce(before_ns, begin_ns)), 0))::DOUBLE AS wall_ns FROM s
"""


class _Wall(Struct, frozen=True):
    wall_ns: float | None


def flushed(relations: Relations) -> tuple[Flushed, ...]:
    """From block_requests, most time first."""
    found = relations.one(
        _MayFlush,
        "SELECT EXISTS (SELECT 1 FROM request_sums WHERE op = 'flush' OR empty) AS any",
    )
    return tuple(relations.read(Flushed, _FLUSHED)) if found.any else ()


def flushing_ns(relations: Relations, devices: tuple[Flushed, ...]) -> float | None:
    """Time in which one of some devices was emptying its cache, for anybody; None without a device."""
    if not devices:
        return None
    if len(devices) == 1:
        return relations.one(_Wall, _WALL_OF_ONE.format(dev=devices[0].dev)).wall_ns
    return relations.one(
        _Wall, _WALL.format(devs=", ".join(str(one.dev) for one in devices))
    ).wall_ns
