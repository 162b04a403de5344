"""The processes that sampling tools list (pidstat, top): whose CPU time and whose I/O, the busiest first."""

from msgspec import Struct

from iowhy.relations import Relations

_MOST = 5

_SQL = f"""
WITH cpu AS (
  SELECT regexp_replace(subject, ' \\(\\d+\\)$', '') AS name,
    TRY_CAST(regexp_extract(subject, '\\((\\d+)\\)$', 1) AS BIGINT) AS tgid,
    sum(value) / (SELECT count(DISTINCT ts_ns) FROM measurements WHERE metric = 'cpu_share') AS cpu
  FROM measurements WHERE metric = 'cpu_share' AND tool IN ('pidstat', 'top') GROUP BY ALL
), io AS (
  SELECT tgid, (max(read_bytes) - min(read_bytes)) * 1e9 / (max(ts_ns) - min(ts_ns)) AS read,
    (max(written_bytes) - min(written_bytes)) * 1e9 / (max(ts_ns) - min(ts_ns)) AS written
  FROM process_io GROUP BY tgid HAVING max(ts_ns) > min(ts_ns)
), named AS (
  SELECT tgid, any_value(comm) AS comm FROM threads WHERE tid = tgid GROUP BY tgid
)
SELECT coalesce(name, comm, '?') AS process, tgid AS pid, cpu, read AS read_bytes_per_s, written AS written_bytes_per_s
FROM cpu FULL JOIN io USING (tgid) LEFT JOIN named USING (tgid)
WHERE coalesce(cpu, 0) >= 0.005 OR coalesce(read, 0) + coalesce(written, 0) > 0
ORDER BY coalesce(cpu, 0) + (coalesce(read, 0) + coalesce(written, 0)) / 1e8 DESC, tgid LIMIT {_MOST}
"""


class BusyProcess(Struct, frozen=True):
    """One process; `cpu` are the CPUs it used, on average. None is unknown."""

    process: str
    pid: int | None
    cpu: float | None
    read_bytes_per_s: float | None
    written_bytes_per_s: float | None


def busiest(relations: Relations) -> list[BusyProcess]:
    """The busiest five."""
    return relations.read(BusyProcess, _SQL)
