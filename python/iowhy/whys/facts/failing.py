"""Requests that a device failed: errors of its medium, of the way to it, or no answer in time."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.whys.facts.uneven import waited_share

#: EIO, EBADE, ENODATA (a medium error), ENOLINK, EILSEQ (protection information), ETIMEDOUT, EREMOTEIO. Not what a full thin pool,
#: a command that a disk does not know, or a request that was not to wait ends in.
ERRORS = (5, 52, 61, 67, 84, 110, 121)


class Failing(Struct, frozen=True):
    """`failed` of `requests` reads, writes and flushes of one device, and the part of their time that is; of another device than the one that is waited for most, of all waiting.

    `op` is what most of them were, `error` the errno of most; `first_ns`, `last_ns`: when they ended, since the start; `path`: the file that most
    were of, None: of none.
    """

    dev: int
    name: str
    op: str
    error: int
    failed: int
    requests: int
    part: float
    first_ns: int
    last_ns: int
    path: str | None


def failing(relations: Relations, used: int | None, *, whole: bool) -> Failing | None:
    """Of several, the one that the command uses (`used`), then the one with most errors. `whole`: any device of the machine counts."""
    if not relations.has("block_requests"):
        return None
    concerned = "true" if whole else "q.in_scope IS DISTINCT FROM false"
    found = relations.first(
        Failing,
        f"""
        WITH e AS (
          SELECT * FROM counted_requests WHERE error IN {ERRORS} AND op IN ('read', 'write', 'flush')
        ), f AS (
          SELECT q.dev, mode(q.op) AS op, mode(q.error) AS error, count(*) AS failed, sum(complete_ns - sent_ns) AS ns,
            min(complete_ns) AS first_ns, max(complete_ns) AS last_ns,
            mode((q.owner_dev, q.owner_ino)) FILTER (q.owner_ino IS NOT NULL) AS owner
          FROM e AS q WHERE {concerned} GROUP BY q.dev
        ), w AS (
          SELECT dev, count(*) AS requests, sum(complete_ns - sent_ns) AS ns FROM counted_requests
          WHERE dev IN (SELECT dev FROM f) AND op IN ('read', 'write', 'flush') GROUP BY dev
        )
        SELECT f.dev, coalesce(d.name, (f.dev >> 20) || ':' || (f.dev & 1048575)) AS name, f.op, f.error, f.failed, w.requests,
          coalesce(f.ns / nullif(w.ns, 0), 0)::DOUBLE AS part, f.first_ns - r.start_ns AS first_ns, f.last_ns - r.start_ns AS last_ns, p.path
        FROM f JOIN w USING (dev) CROSS JOIN recording AS r
        LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS d ON d.dev = f.dev
        LEFT JOIN named_files AS p ON p.dev = f.owner[1] AND p.ino = f.owner[2]
        ORDER BY f.dev = {used or -1} DESC, f.failed DESC, f.dev LIMIT 1
        """,
    )
    if found is None or found.dev == used:
        return found
    return replace(found, part=found.part * waited_share(relations, found.dev))
