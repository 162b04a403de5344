"""The summary of `perf trace -s` (and -S): per thread, calls of each name with their times.

Layout: perf-trace(1), builtin-trace.c: milliseconds; the column of errors is missing in older versions.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import numbers

NAME = "perf-trace-s"
TOOL = "perf trace"
HINT = r"^ ?Summary of events:|^ ?\S.* \(\d+\), \d+ events, |^ ?total, \d+ events"

_THREAD = re.compile(r" ?(\S.*) \((\d+)\), (\d+) events, ([\d.,]+)%(?:, [\d.,]+ msec)?\s*$")


#: --summary-mode=total: all threads in one table.
_TOTAL = re.compile(r" ?total, (\d+) events(?:, .*)?\s*$")
BEGINS = r"\s*Summary of events:\s*$"
NEAR = (rf"^\s*Summary of events:\s*$|^{_THREAD.pattern}|^{_TOTAL.pattern}", 1)


def read(block: Block) -> Parsed:
    """Into syscall_totals, one interval for all."""
    parsed = Parsed(TOOL, units="milliseconds")
    tid = 0
    errors = False
    rows: list[dict[str, object]] = []
    busy: dict[int, int] = {}
    for n, line in parsed.lines(block):
        words = line.split()
        if match := _THREAD.match(line[:300]):
            tid = int(match[2])
            block.names.thread(tid, tid, match[1].strip())
        elif _TOTAL.match(line[:300]):
            tid = 0
            parsed.note("perf trace's totals are of all threads together: no single one is known")
        elif words[0] == "syscall":
            errors = "errors" in words
        elif (
            line.strip() == "Summary of events:"
            or words[0] in ("(msec)",)
            or set(words[0]) == {"-"}
        ):
            pass
        elif (row := _row(words, errors)) is not None:
            rows.append(row | {"tgid": tid, "tid": tid})
            busy[tid] = busy.get(tid, 0) + int(str(row["total_ns"]))
        else:
            parsed.reject(n, line)
    interval = max(busy.values(), default=1) or 1
    for row in rows:
        parsed.add("syscall_totals", row | {"ts_ns": 0, "interval_ns": interval})
    if rows:
        parsed.note("perf trace does not part a call's time on a CPU from its waiting")
        parsed.missing.append("sudo perf trace -a -T -o trace.txt sleep 10")
    return parsed


def _row(words: Sequence[str], errors: bool) -> dict[str, object] | None:
    """`name calls [errors] total min avg max stddev%`."""
    values = numbers(words[1:])
    if values is None or len(values) < (7 if errors else 6):
        return None
    if not re.fullmatch(r"[a-z_]\w*", words[0]):
        return None
    at = 2 if errors else 1
    return {
        "name": words[0],
        "calls": int(values[0]),
        "errors": int(values[1]) if errors else 0,
        "total_ns": round(values[at] * 1e6),
        "max_ns": round(values[at + 3] * 1e6),
    }
