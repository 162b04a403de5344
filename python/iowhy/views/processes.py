"""The processes that sampling tools list (pidstat, top): whose CPU time and whose I/O, the busiest first."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from iowhy import units
from iowhy.recording import Recording
from iowhy.views.terminal import Field, rows

SHOWN = 5

_SQL = """
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
SELECT coalesce(name, comm, '?') AS process, tgid, cpu, read, written
FROM cpu FULL JOIN io USING (tgid) LEFT JOIN named USING (tgid)
WHERE coalesce(cpu, 0) >= 0.005 OR coalesce(read, 0) + coalesce(written, 0) > 0
ORDER BY coalesce(cpu, 0) + (coalesce(read, 0) + coalesce(written, 0)) / 1e8 DESC, tgid LIMIT ?
"""


def listed(recording: Recording) -> list[dict[str, object]]:
    """The busiest: process, pid, cpu (CPUs used, mean), read_bytes_per_s, written_bytes_per_s."""
    found = recording.connection().execute(_SQL, [SHOWN]).fetchall()
    names = ("process", "pid", "cpu", "read_bytes_per_s", "written_bytes_per_s")
    return [dict(zip(names, row, strict=True)) for row in found]


def show(out: Console, recording: Recording) -> None:
    """A table of them, where a tool lists processes."""
    found = listed(recording)
    if not found:
        return
    fields = [
        Field("process", str, left=True),
        Field("pid", str),
        Field("of a CPU", lambda v: units.percent(_number(v))),
        Field("read", lambda v: units.rate(_number(v))),
        Field("written", lambda v: units.rate(_number(v))),
    ]
    out.print()
    out.print(Text.assemble(("Processes", "bold"), ("  the busiest that the inputs list", "dim")))
    for line in rows(fields, [list(row.values()) for row in found], out.width):
        out.print(line, soft_wrap=True)


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
