"""`truss -c` of AIX, Solaris and FreeBSD: calls and seconds by system call.

On AIX and Solaris the seconds are CPU time inside the call (truss command reference); FreeBSD's are
elapsed (truss(1)). Which one it is shows in the totals at the end: AIX and Solaris print `sys totals`.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S

NAME = "truss"
TOOL = "truss -c"
HINT = r"^syscall\s+seconds\s+calls\s+errors"
SURE = 0.95
BEGINS = ""

_ROW = re.compile(r"(\w+)\s+((?:\d+(?:[.,]\d+)?|[.,]\d+))\s+(\d+)(?:\s+(\d+))?")
_TOTAL = re.compile(
    r"(sys totals|usr time|elapsed):\s+((?:\d+(?:[.,]\d+)?|[.,]\d+))(?:\s+(\d+)(?:\s+(\d+))?)?"
)
_BARE_TOTAL = re.compile(r"(?:\d+(?:[.,]\d+)?|[.,]\d+)\s+\d+(?:\s+\d+)?")


def read(block: Block) -> Parsed:
    """Into syscall_totals; the process is not known (0)."""
    parsed = Parsed(TOOL, units="seconds")
    calls: list[tuple[str, float, int, int]] = []
    totals: dict[str, float] = {}
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-", " "}:
            continue
        if text.split()[:2] == ["syscall", "seconds"] or text.startswith("signals ---"):
            pass
        elif match := _TOTAL.fullmatch(text):
            totals[match[1]] = _decimal(match[2])
        elif match := _ROW.fullmatch(text):
            calls.append((match[1], _decimal(match[2]), int(match[3]), int(match[4] or 0)))
        elif not _BARE_TOTAL.fullmatch(text):
            parsed.reject(at, line)
    elapsed = totals.get("elapsed")
    cpu = "sys totals" in totals
    parsed.units = "seconds of CPU time" if cpu else "seconds elapsed"
    if cpu:
        parsed.note("truss -c counts CPU time in each call: waiting does not show in it")
        parsed.missing.append("truss -D -p {pid}")
    interval = round((elapsed or sum(call[1] for call in calls)) * NS_PER_S)
    for name, seconds, count, errors in calls:
        spent = round(seconds * NS_PER_S)
        parsed.add(
            "syscall_totals",
            {
                "ts_ns": 0,
                "interval_ns": interval,
                "tgid": 0,
                "tid": 0,
                "name": name,
                "calls": count,
                "errors": errors,
                "total_ns": spent,
                "cpu_ns": spent if cpu else None,
            },
        )
    return parsed


def _decimal(text: str) -> float:
    """truss prints ".02" without a leading zero."""
    try:
        return float(text.replace(",", "."))
    except ValueError:
        return 0.0
