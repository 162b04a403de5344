"""Processes that were started to do little each: a program for each file, commands in the loop of a script."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts.subject import SHELLS

#: So many processes, of so much CPU time each at the most, are an own kind of work: a process that only starts and ends takes
#: some half of a millisecond to two.
MANY = 100
SHORT_NS = 10_000_000


class ShortLived(Struct, frozen=True):
    """The processes that one program started; `program` is the name of most of them, `cpu_share` their part of all CPU time."""

    starter: str
    program: str
    processes: int
    cpu_ns: float
    cpu_share: float


_SHORT = """
WITH spent AS (
  SELECT tgid, sum(cpu_ns) AS cpu_ns FROM thread_totals GROUP BY tgid
), first AS (
  SELECT tgid, ppid, comm, start_ns, end_ns FROM threads WHERE tid = tgid
)
SELECT s.comm AS starter, mode(c.comm ORDER BY c.comm) AS program, count(*) AS processes, sum(p.cpu_ns) AS cpu_ns,
  sum(p.cpu_ns) / nullif((SELECT sum(cpu_ns) FROM spent), 0) AS cpu_share
FROM first AS c
JOIN spent AS p ON p.tgid = c.tgid
JOIN first AS s ON s.tgid = c.ppid
WHERE c.end_ns IS NOT NULL AND c.start_ns > s.start_ns
  -- A server's processes for each client are its own program; a shell's are parts of a script.
  AND (c.comm <> s.comm OR s.comm IN {shells})
GROUP BY s.comm
HAVING count(*) >= {many} AND sum(p.cpu_ns) <= {short_ns} * count(*)
ORDER BY sum(p.cpu_ns) DESC, s.comm
LIMIT 1
"""


def measure(relations: Relations) -> ShortLived | None:
    """From the relation thread_totals; None where no program started many such processes."""
    if not (relations.has("threads") and relations.has("thread_time")):
        return None
    sql = _SHORT.format(many=MANY, short_ns=SHORT_NS, shells=classes.quoted(SHELLS))
    return relations.first(ShortLived, sql)
