"""The same system calls in two inputs: a log of single calls, and a table of their totals."""

from collections.abc import Sequence

from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Part

LOGS = ("strace", "perf-trace")
TOTALS = ("strace-c", "perf-trace-s")


def deduplicate_calls(parts: Sequence[Part]) -> list[str]:
    """Take the calls of one of them, that with the more time in calls; notes on what was left out.

    A log and a table (strace and strace -c) are of the same program as a rule, and were they added, its
    calls would count twice. Two logs, or two tables, are of different ones.
    """
    logs = [part for part in parts if part.format in LOGS and part.parsed.tables.get("syscalls")]
    totals = [part for part in parts if part.format in TOTALS]
    if not logs or not totals:
        return []
    taken, left = (logs, totals) if _time(logs) >= _time(totals) else (totals, logs)
    for part in left:
        for table in ("syscalls", "syscall_totals", "threads"):
            part.parsed.tables.pop(table, None)
    names = ", ".join(dict.fromkeys(part.parsed.tool for part in left))
    other = ", ".join(dict.fromkeys(part.parsed.tool for part in taken))
    return [f"the calls of {names} left out: {other} has the same calls, and more time in them"]


def _time(parts: Sequence[Part]) -> int:
    total = 0
    for part in parts:
        rows = part.parsed.tables.get("syscall_totals", [])
        if isinstance(rows, StoredRows):
            total += int(rows.value("sum(total_ns)") or 0)
        else:
            total += sum(int(str(row["total_ns"])) for row in rows)
    return total
