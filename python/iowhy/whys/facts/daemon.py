"""What the process that serves a filesystem (FUSE) does while the command waits for it: its CPU, its disk, or neither."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.whys.facts.machine import Machine
from iowhy.whys.facts.threads import Threads


class Daemon(Struct, frozen=True):
    """Lengths of time in ns, None where not known. `cpu_ns` is `exact` of one that was `recorded` too, or that the kernel accounts for, else all that
    others than the command used of the CPUs, which is the most that it can be. `disk_ns`: with a request of its own in flight, to `disk`, mostly for
    files below `mount`. `peer`: to whom it has a connection.

    `user`, `kernel` and `runnable` (0..1): of one that was recorded, its part of the time of all threads of these kinds.
    """

    tgid: int
    name: str | None
    recorded: bool
    cpu_ns: float | None
    exact: bool = False
    peer: str | None = None
    disk_ns: float = 0.0
    disk: str | None = None
    mount: str | None = None
    user: float = 0.0
    kernel: float = 0.0
    runnable: float = 0.0


_OWN = """
SELECT count(*) FILTER (WHERE t.tgid = {tgid}) > 0 AS recorded,
  (SELECT coalesce(max(title), arg_min(comm, abs(tid - tgid))) FROM threads WHERE tgid = {tgid}) AS name,
  CAST(sum(cpu_ns) FILTER (WHERE t.tgid = {tgid}) AS BIGINT) AS cpu_ns,
  coalesce(sum(cpu_user_ns) FILTER (WHERE t.tgid = {tgid}) / nullif(sum(cpu_user_ns), 0), 0) AS user,
  coalesce(sum(cpu_kernel_ns) FILTER (WHERE t.tgid = {tgid}) / nullif(sum(cpu_kernel_ns), 0), 0) AS kernel,
  coalesce(sum(runnable_ns) FILTER (WHERE t.tgid = {tgid}) / nullif(sum(runnable_ns), 0), 0) AS runnable
FROM thread_totals AS t
"""


# The lengths of time with a request of its own, which may overlap: each counts from where those before it have ended.
_DISK = """
WITH r AS (
  SELECT dev, owner_dev, queue_ns AS a, complete_ns AS z,
    max(complete_ns) OVER (ORDER BY queue_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM block_requests WHERE tgid = {tgid} AND complete_ns > queue_ns
)
SELECT coalesce(sum(greatest(0, z - greatest(a, coalesce(before_ns, a)))), 0) AS disk_ns,
  (SELECT d.name FROM devices AS d WHERE d.dev = arg_max(r.dev, r.z - r.a)) AS disk,
  (SELECT min(f.mount) FROM filesystems AS f WHERE f.dev = mode(r.owner_dev)) AS mount
FROM r
"""


def daemon(
    relations: Relations, tgid: int | None, machine: Machine, threads: Threads
) -> Daemon | None:
    """What a process did; None if it is not known which one it is, or threads were not timed."""
    if tgid is None or not relations.has("thread_time"):
        return None
    queries = [_OWN, *([_DISK] if relations.has("block_requests") else [])]
    found = relations.one(Daemon, *(sql.format(tgid=tgid) for sql in queries), tgid=tgid)
    accounted, peer = _accounted(relations, tgid)
    cpu_ns = found.cpu_ns if found.recorded else accounted
    return replace(
        found,
        name=found.name or _neighbour(relations, tgid),
        cpu_ns=_of_others(relations, machine, threads) if cpu_ns is None else cpu_ns,
        exact=cpu_ns is not None,
        peer=peer,
    )


def _accounted(relations: Relations, tgid: int) -> tuple[float | None, str | None]:
    """What the kernel counts of its CPU time, and its peer."""
    ((cpu_ns, peer),) = relations.rows(
        f"SELECT max(daemon_cpu_ns), max(daemon_peer) FROM served_filesystems WHERE daemon_tgid = {tgid}"
    )
    return cpu_ns, peer


def _of_others(relations: Relations, machine: Machine, threads: Threads) -> float | None:
    if machine.busy is None or machine.cpus is None or threads.cores_used is None:
        return None
    return max(0.0, machine.busy * machine.cpus - threads.cores_used) * relations.facts.elapsed_ns


def _neighbour(relations: Relations, tgid: int) -> str | None:
    if not relations.has("neighbours"):
        return None
    return relations.value(
        str, f"SELECT coalesce(max(title), max(comm)) FROM neighbours WHERE tgid = {tgid}"
    )
