"""System calls that two inputs tell of: a log of single calls, and a table of their sums."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from iowhy.sources.paste import Part

LOGS = ("strace", "perf-trace")
SUMS = ("strace-c", "perf-trace-s")


def one_truth_of_calls(parts: Sequence[Part]) -> list[str]:
    """Take the calls of one of them, that with the more time in calls; notes on what was left out.

    A log and a table (strace and strace -c) are of the same program as a rule, and were they added, its
    calls would count twice. Two logs, or two tables, are of different ones.
    """
    logs = [part for part in parts if part.format in LOGS and part.parsed.tables.get("syscalls")]
    sums = [part for part in parts if part.format in SUMS]
    if not logs or not sums:
        return []
    taken, left = (logs, sums) if _time(logs) >= _time(sums) else (sums, logs)
    for part in left:
        for table in ("syscalls", "syscall_totals", "threads"):
            part.parsed.tables.pop(table, None)
    names = ", ".join(dict.fromkeys(part.parsed.tool for part in left))
    other = ", ".join(dict.fromkeys(part.parsed.tool for part in taken))
    return [
        f"the calls of {names} left out: {other} tells of the same calls, and of more time in them"
    ]


def _time(parts: Sequence[Part]) -> int:
    total = 0
    for part in parts:
        rows = part.parsed.tables.get("syscall_totals", [])
        if isinstance(rows, pa.Table):
            total += pc.sum(rows.column("total_ns")).as_py() or 0
        else:
            total += sum(int(str(row["total_ns"])) for row in rows)
    return total
