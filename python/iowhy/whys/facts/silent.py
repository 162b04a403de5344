"""A device that answers nobody: requests are in flight, and none completes."""

from msgspec import Struct

from iowhy.relations import Relations

#: So long at least: a disk that empties its write cache completes nothing for a second.
SILENT_NS = 2_000_000_000
#: Whoever waits notices so long a time, however little it is of all.
NOTICED_NS = 1_000_000_000


class Silent(Struct, frozen=True):
    """`requests` in flight at the end, none of which completed in the last `silent_ns`; `mount`: of its filesystem."""

    dev: int
    name: str
    requests: int
    silent_ns: int
    mount: str | None


def silent(relations: Relations) -> Silent | None:
    """By the kernel's counters; of several, one with a filesystem, then that with most requests."""
    if not (relations.has("disk_samples") and relations.has("devices")):
        return None
    return relations.first(
        Silent,
        f"""
        WITH s AS (
          SELECT dev, before_ns, ts_ns, in_flight, silent FROM disk_steps
        ), ended AS (
          SELECT dev, max(ts_ns) AS end_ns, arg_max(in_flight, ts_ns) AS requests FROM s GROUP BY dev
        ), since AS (
          SELECT dev, coalesce(
            max(ts_ns) FILTER (NOT silent),
            min(before_ns)) AS begin_ns
          FROM s GROUP BY dev
        )
        SELECT d.dev, d.name, e.requests, e.end_ns - b.begin_ns AS silent_ns, f.mount
        FROM ended AS e JOIN since AS b USING (dev) JOIN devices AS d USING (dev)
        LEFT JOIN (
          SELECT disk_dev, min(mount) AS mount FROM filesystems GROUP BY disk_dev
        ) AS f ON f.disk_dev = d.dev
        WHERE e.requests > 0 AND e.end_ns - b.begin_ns >= {SILENT_NS}
        ORDER BY f.mount IS NULL, e.requests DESC, d.name LIMIT 1
        """,
    )


class Pause(Struct, frozen=True):
    """A time in which a device completed nothing by its counters, at least; `at_ns` is since the first reading."""

    at_ns: int
    lasted_ns: int
    #: Summed over the requests that it had; tools that count those that completed have it in the next reading.
    waited_ns: float


class Paused(Struct, frozen=True):
    """A device that completes nothing for a while, and requests at other times: `pauses`, the longest first.

    `share`: of all the time, and of that in which it is busy (`busy_share`). `per_s`: what it completes while it is at work. `written`: of
    its requests.
    """

    dev: int
    name: str
    pauses: tuple[Pause, ...]
    share: float
    busy_share: float
    per_s: float
    written: float


def paused(relations: Relations, least_ns: float = NOTICED_NS) -> Paused | None:
    """By counters, of the device that is silent for longest. Not while it flushes: it may empty its cache then; nor all of the time, unless
    it is counted what it has in flight."""
    if not relations.has("disk_samples"):
        return None
    rows = relations.rows(_PAUSES.format(least=round(least_ns)))
    if not rows:
        return None
    dev, name, silent, share, busy, per_s, written = rows[0][3:]
    pauses = tuple(Pause(at, lasted, waited) for at, lasted, waited, *_ in rows)
    return Paused(dev, name, pauses, share, min(1.0, silent / max(busy, silent, 1)), per_s, written)


_PAUSES = """
WITH s AS (
  SELECT *, coalesce(lead(flush_ns) OVER (PARTITION BY dev ORDER BY ts_ns), 0) AS flushed_ns,
    coalesce(lead(queue_ns) OVER (PARTITION BY dev ORDER BY ts_ns), 0) AS queued_ns,
    row_number() OVER (PARTITION BY dev ORDER BY ts_ns)
      - row_number() OVER (PARTITION BY dev, silent ORDER BY ts_ns) AS island
  FROM disk_steps
), p AS (
  SELECT dev, min(before_ns) AS begin_ns, max(ts_ns) - min(before_ns) AS lasted_ns,
    coalesce(nullif(sum(queue_ns), 0), arg_max(queued_ns, ts_ns)) AS waited_ns
  FROM s WHERE silent GROUP BY dev, island
  HAVING lasted_ns >= {least} AND arg_max(flushed_ns, ts_ns) < lasted_ns / 2
), t AS (
  SELECT dev, sum(lasted_ns) AS silent_ns FROM p GROUP BY dev
), d AS (
  SELECT s.dev, min(before_ns) AS first_ns, max(ts_ns) - min(before_ns) AS all_ns, sum(busy_ns) AS busy_ns,
    count(in_flight) AS levels, sum(reads + writes) AS done, sum(writes) AS writes, coalesce(sum(dur_ns) FILTER (reads + writes > 0), 0) AS works_ns
  FROM s GROUP BY s.dev
)
SELECT p.begin_ns - d.first_ns AS at_ns, p.lasted_ns, greatest(p.waited_ns, p.lasted_ns)::DOUBLE, d.dev,
  coalesce(n.name, (d.dev >> 20) || ':' || (d.dev & 1048575)) AS name, t.silent_ns, t.silent_ns / d.all_ns, coalesce(d.busy_ns, 0),
  coalesce(d.done * 1e9 / nullif(d.works_ns, 0), 0), coalesce(d.writes / nullif(d.done, 0), 0)
FROM p JOIN d USING (dev) JOIN t USING (dev)
LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS n USING (dev)
WHERE d.dev = (SELECT dev FROM t JOIN d USING (dev) WHERE done > 0 OR levels > 0 ORDER BY silent_ns DESC, dev LIMIT 1)
ORDER BY p.lasted_ns DESC, at_ns
"""


def waits_for(relations: Relations, dev: int) -> bool:
    """Whether the command waits for this device; a wait of which the file is not known may be for any."""
    sql = "SELECT DISTINCT dev FROM waited_devices WHERE NOT everywhere AND waited_ns > 0"
    return not relations.has("waits") or bool({(dev,), (None,)} & set(relations.rows(sql)))
