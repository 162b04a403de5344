"""What it costs a CPU to read what had been in the page cache, beyond finding it there."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes

#: Calls that found all they asked for, by which the cost of one is known.
ENOUGH = 16


class Missing(Struct, frozen=True):
    """Calls that had to wait for pages that had been in the cache.

    `cpu_ns` is what they took of a CPU beyond a call of the same length on the same file that waited for nothing (to make room,
    to send the request, to sleep and to be woken), `calls` is how many there were. Copying is not a part of it, which a call that
    finds all in the cache does as well; with readahead it may be next to nothing.
    """

    calls: float
    cpu_ns: float


# A call that waits for another thread's read, or for a lock, counts by what it takes more of a CPU, which is little.
_SUMS = f"""
WITH again AS (
  SELECT dev, ino, least(1, sum(refault_pages) / sum(added_pages)) AS part FROM file_cache
  WHERE refault_pages > 0 AND added_pages > 0 GROUP BY dev, ino
), c AS (
  SELECT s.name, s.dev, s.ino, s.ret, s.cpu_ns, s.blocked_ns > 0 AS waited, a.part
  FROM syscalls AS s JOIN again AS a ON a.dev = s.dev AND a.ino = s.ino
  WHERE s.name IN {classes.quoted(classes.DATA_READS)} AND s.ret > 0 AND s.cpu_ns IS NOT NULL
), found AS (
  SELECT name, dev, ino, ret, quantile_cont(cpu_ns, 0.5) AS cpu_ns FROM c WHERE NOT waited
  GROUP BY name, dev, ino, ret HAVING count(*) >= {ENOUGH}
)
SELECT sum(c.part) AS calls, sum(greatest(0, c.cpu_ns - f.cpu_ns) * c.part) AS cpu_ns
FROM c JOIN found AS f ON f.name = c.name AND f.dev = c.dev AND f.ino = c.ino AND f.ret = c.ret WHERE c.waited HAVING count(*) > 0
"""


def missing(relations: Relations) -> Missing | None:
    """By the single calls; None where they, or what a call that waits for nothing takes, are not known."""
    if not relations.has("syscalls") or not relations.has("page_cache"):
        return None
    return relations.first(Missing, _SUMS)
