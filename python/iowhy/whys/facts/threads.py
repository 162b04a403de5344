"""The command's threads: how many, and which one works most."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


@dataclass(frozen=True)
class Threads:
    """`top_share` is the busiest thread's CPU time over the elapsed time."""

    count: int | None
    processes: int | None
    top_share: float | None
    top_name: str | None
    cores_used: float | None
    cores_wanted: float | None


_TOP = """
SELECT tid, sum(coalesce(cpu_user_ns, 0) + coalesce(cpu_kernel_ns, 0)) AS cpu_ns,
  sum(coalesce(runnable_ns, 0)) AS runnable_ns, any_value(tgid)
FROM thread_time GROUP BY tid
"""


def measure(facts: "Facts") -> Threads:
    """From thread_time and threads."""
    elapsed = facts.run.elapsed_ns
    if not facts.has("thread_time") or not elapsed:
        return Threads(None, None, None, None, None, None)
    row = facts.numbers(
        f"SELECT count(*) AS n, sum(cpu_ns) AS cpu, sum(runnable_ns) AS runnable, "
        f"max(cpu_ns) AS top, arg_max(tid, cpu_ns) AS tid, "
        f"count(DISTINCT tgid) AS processes FROM ({_TOP}) AS t(tid, cpu_ns, runnable_ns, tgid)"
    )
    name = None
    if facts.has("threads") and row["tid"] is not None:
        found = facts.rows(f"SELECT comm FROM threads WHERE tid = {int(row['tid'])} LIMIT 1")
        name = str(found[0][0]) if found else None
    cpu, runnable = row["cpu"] or 0.0, row["runnable"] or 0.0
    return Threads(
        count=int(row["n"] or 0),
        processes=int(row["processes"] or 0),
        top_share=(row["top"] or 0.0) / elapsed,
        top_name=name,
        cores_used=cpu / elapsed,
        cores_wanted=(cpu + runnable) / elapsed,
    )
