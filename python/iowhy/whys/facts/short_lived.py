"""Processes that were started to do little each: a program for each file, commands in the loop of a script."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts.copied_up import OPENS
from iowhy.whys.facts.subject import SHELLS

#: So many processes, of so much CPU time each at the most, are an own kind of work: a process that only starts and ends takes
#: some half of a millisecond to two.
MANY = 100
SHORT_NS = 10_000_000
#: Of longer ones so many, if each spends this part of its life on what all of them open, before it opens a file of its own: an
#: interpreter that reads its modules. Fewer have no file that all open.
FEW = 8
STARTING = 0.5


class ShortLived(Struct, frozen=True):
    """The processes that one program started; `program` is the name of most of them, `cpu_share` their part of all CPU time.

    `starting`: the part of their lives in which they do what each of them does: all of those that are short.
    """

    starter: str
    program: str
    processes: int
    cpu_ns: float
    cpu_share: float
    starting: float = 1.0


_FIRST = """
spent AS (
  SELECT tgid, sum(cpu_ns) AS cpu_ns FROM thread_totals GROUP BY tgid
), first AS (
  SELECT tgid, ppid, comm, start_ns, end_ns FROM threads WHERE tid = tgid
), started AS (
  SELECT c.tgid, s.comm AS starter, c.comm AS program, c.start_ns, c.end_ns, p.cpu_ns
  FROM first AS c
  JOIN spent AS p ON p.tgid = c.tgid
  JOIN first AS s ON s.tgid = c.ppid
  WHERE c.end_ns IS NOT NULL AND c.start_ns > s.start_ns
    -- A server's processes for each client are its own program; a shell's are parts of a script.
    AND (c.comm <> s.comm OR s.comm IN {shells})
)
"""
_SHORT = f"""
WITH {_FIRST}
SELECT starter, mode(program ORDER BY program) AS program, count(*) AS processes, sum(cpu_ns) AS cpu_ns,
  sum(cpu_ns) / nullif((SELECT sum(cpu_ns) FROM spent), 0) AS cpu_share
FROM started
GROUP BY starter
HAVING count(*) >= {MANY} AND sum(cpu_ns) <= {SHORT_NS} * count(*)
ORDER BY sum(cpu_ns) DESC, starter
LIMIT 1
"""
# A file that less than half of the processes open is one's own; what each does until it opens the last one before, all do. After its
# last write a process only ends: what it worked for is written.
_LONGER = f"""
WITH {_FIRST}, opened AS (
  SELECT p.starter, p.program, p.tgid, s.dev, s.ino, s.ts_ns
  FROM syscalls AS s JOIN started AS p ON p.tgid = s.tgid
  WHERE s.name IN {{opens}} AND s.ino IS NOT NULL AND s.ret >= 0
), alike AS (
  SELECT starter, program, count(*) AS processes FROM started GROUP BY starter, program HAVING count(*) >= {FEW}
), files AS (
  SELECT starter, program, dev, ino, count(DISTINCT tgid) AS openers FROM opened GROUP BY starter, program, dev, ino
), marked AS (
  SELECT o.tgid, o.ts_ns, 2 * f.openers < a.processes AS own
  FROM opened AS o
  JOIN files AS f ON f.starter = o.starter AND f.program = o.program AND f.dev = o.dev AND f.ino = o.ino
  JOIN alike AS a ON a.starter = o.starter AND a.program = o.program
), own AS (
  SELECT tgid, min(ts_ns) AS ts_ns FROM marked WHERE own GROUP BY tgid
), begun AS (
  SELECT m.tgid, max(m.ts_ns) AS ts_ns FROM marked AS m JOIN own AS o ON o.tgid = m.tgid WHERE m.ts_ns < o.ts_ns GROUP BY m.tgid
), written AS (
  SELECT s.tgid, max(s.ts_ns + coalesce(s.dur_ns, 0)) AS ts_ns FROM syscalls AS s JOIN begun AS b ON b.tgid = s.tgid
  WHERE s.name IN {{writes}} AND s.ts_ns > b.ts_ns GROUP BY s.tgid
), lives AS (
  SELECT p.*, b.ts_ns - p.start_ns + coalesce(p.end_ns - w.ts_ns, 0) AS starting_ns
  FROM started AS p LEFT JOIN begun AS b ON b.tgid = p.tgid LEFT JOIN written AS w ON w.tgid = p.tgid
)
SELECT p.starter, p.program, count(*) AS processes, sum(p.cpu_ns) AS cpu_ns,
  sum(p.cpu_ns) / nullif((SELECT sum(cpu_ns) FROM spent), 0) AS cpu_share,
  sum(p.starting_ns) / sum(p.end_ns - p.start_ns) AS starting
FROM lives AS p
GROUP BY p.starter, p.program
HAVING count(*) >= {FEW} AND sum(p.starting_ns) >= {STARTING} * sum(p.end_ns - p.start_ns)
ORDER BY sum(p.cpu_ns) DESC, p.starter, p.program
LIMIT 1
"""


def measure(relations: Relations) -> ShortLived | None:
    """From the relation thread_totals and the files that are opened; None if no program started such processes."""
    if not (relations.has("threads") and relations.has("thread_time")):
        return None
    words = {
        "shells": classes.quoted(SHELLS),
        "opens": classes.quoted(OPENS),
        "writes": classes.quoted(classes.DATA_WRITES | classes.SYNC_CALLS),
    }
    found = relations.first(ShortLived, _SHORT.format(**words))
    if found is not None or not relations.has("syscalls"):
        return found
    return relations.first(ShortLived, _LONGER.format(**words))
