"""A device that answers nobody: requests are in flight, and none completes."""

from msgspec import Struct

from iowhy.relations import Relations

#: So long at least: a disk that empties its write cache completes nothing for a second.
SILENT_NS = 2_000_000_000


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
          SELECT dev, before_ns, ts_ns, in_flight,
            reads + writes + coalesce(discards, 0) + coalesce(flushes, 0) AS completed
          FROM disk_steps
        ), ended AS (
          SELECT dev, max(ts_ns) AS end_ns, arg_max(in_flight, ts_ns) AS requests FROM s GROUP BY dev
        ), since AS (
          SELECT dev, coalesce(
            max(ts_ns) FILTER (completed > 0 OR coalesce(in_flight, 0) = 0),
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


def waits_for(relations: Relations, dev: int) -> bool:
    """Whether the command waits for this device; a wait of which the file is not known may be for any."""
    sql = "SELECT DISTINCT dev FROM waited_devices WHERE NOT everywhere AND waited_ns > 0"
    return not relations.has("waits") or bool({(dev,), (None,)} & set(relations.rows(sql)))
