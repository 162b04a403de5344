"""The command's threads: how many, and which one works most."""

from msgspec import Struct

from iowhy.relations import Relations


class Threads(Struct, frozen=True):
    """`top_share` is the busiest thread's CPU time over the elapsed time, `top_name` its name: of several as busy the first."""

    count: int | None = None
    processes: int | None = None
    top_share: float | None = None
    top_name: str | None = None
    cores_used: float | None = None
    cores_wanted: float | None = None


_SUMS = """
SELECT count(*) AS count, count(DISTINCT t.tgid) AS processes, sum(cpu_ns) / {elapsed_ns} AS cores_used,
  -- Without a record of who waits for a CPU, only what runs is known.
  (sum(cpu_ns) + sum(runnable_ns)) / {elapsed_ns} AS cores_wanted, max(cpu_ns) / {elapsed_ns} AS top_share,
  arg_max(n.comm, (cpu_ns, -t.tid)) FILTER (WHERE cpu_ns IS NOT NULL) AS top_name
FROM thread_totals AS t LEFT JOIN named_threads AS n ON n.tgid = t.tgid AND n.tid = t.tid
"""


class Program(Struct, frozen=True):
    """Processes of one container, service or session, else of one name, and what of the CPUs they use together."""

    name: str
    processes: int
    cores: float


_BUSIEST = """
WITH spent AS (
  SELECT g.group_key, g.container, g.comm, g.program, p.cpu_ns
  FROM (SELECT tgid, sum(cpu_ns) AS cpu_ns FROM thread_totals GROUP BY tgid) AS p
  JOIN process_groups AS g ON g.tgid = p.tgid
  WHERE p.cpu_ns > 0 AND g.comm IS NOT NULL
), named AS (
  -- What all of them are in distinguishes none.
  SELECT CASE WHEN (SELECT count(DISTINCT group_key) FROM spent) > 1 THEN group_key ELSE program END AS group_key,
    CASE WHEN (SELECT count(DISTINCT group_key) FROM spent) > 1 THEN container END AS container,
    comm, program, cpu_ns
  FROM spent
)
SELECT coalesce(max(container), CASE WHEN count(DISTINCT comm) > 1 THEN max(program) ELSE max(comm) END) AS name,
  count(*) AS processes, sum(cpu_ns) / {elapsed_ns} AS cores
FROM named GROUP BY group_key ORDER BY sum(cpu_ns) DESC, name LIMIT 3
"""


def busiest(relations: Relations) -> tuple[Program, ...]:
    """The three groups of processes that use most of the CPUs (the relation process_groups); none if not known."""
    elapsed_ns = relations.facts.elapsed_ns
    if not relations.has("thread_time") or not elapsed_ns:
        return ()
    return tuple(relations.read(Program, _BUSIEST.format(elapsed_ns=elapsed_ns)))


#: Threads that want a CPU for a hundredth of all their time are not asked. Where CPUs are more than the mask has bits, all
#: threads must have the same ones.
_ALLOWED = """
WITH busy AS (
  SELECT t.tid, t.cpu_ns + coalesce(t.runnable_ns, 0) AS ns FROM thread_totals AS t
), bound AS (
  SELECT b.tid, max(n.allowed_cpus) AS cpus, max(n.allowed_mask) AS mask
  FROM busy AS b JOIN threads AS n ON n.tid = b.tid
  WHERE b.ns * 100 >= (SELECT sum(ns) FROM busy)
  GROUP BY b.tid
)
SELECT CASE
    WHEN count(cpus) < count(*) THEN NULL
    WHEN min(cpus) = max(cpus) AND min(mask) = max(mask) THEN max(cpus)
    WHEN bool_and(cpus = bit_count(mask)) THEN bit_count(bit_or(mask))
  END AS cpus
FROM bound
"""


def measure(relations: Relations) -> Threads:
    """From the relation thread_totals."""
    elapsed_ns = relations.facts.elapsed_ns
    if not relations.has("thread_time") or not elapsed_ns:
        return Threads()
    return relations.one(Threads, _SUMS.format(elapsed_ns=elapsed_ns))


def allowed_cpus(relations: Relations) -> int | None:
    """The CPUs that threads which want one may run on, together; None if not known."""
    return relations.value(int, _ALLOWED) if relations.has("thread_time") else None
