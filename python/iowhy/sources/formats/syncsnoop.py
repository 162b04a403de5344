"""bcc's, libbpf-tools' and bpftrace's `syncsnoop`: each call of sync, fsync and the like, with its time but not its length.

Columns: TIME(s) and CALL (bcc); TIME(s), COMM, PID, CALL (libbpf-tools); TIME, PID, COMM, EVENT (bpftrace).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats._measure import measure
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import NS_PER_S

NAME = "syncsnoop"
TOOL = "syncsnoop"
HINT = (
    r"^TIME(?:\(s\))?\s+(?:COMM\s+PID\s+|PID\s+COMM\s+)?(?:CALL|EVENT)\s*$|^Tracing sync syscalls"
)

_CALL = r"(?:tracepoint:syscalls:sys_enter_)?(?P<call>(?:f|fdata|sync_file_|ms)?sync(?:fs|_file_range2?)?|arm_sync_file_range|sync_file_range)(?:\(\))?"
_SECONDS = re.compile(
    rf"(?P<time>\d{{1,12}}\.\d{{1,9}})\s+(?:(?P<comm>\S.*?)\s+(?P<pid>\d{{1,9}})\s+)?{_CALL}\s*"
)
_CLOCK = re.compile(
    rf"(?P<time>\d\d:\d\d:\d\d)\s+(?P<pid>\d{{1,9}})\s+(?P<comm>\S.*?)\s+{_CALL}\s*"
)


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The titles, or the first line of bpftrace's."""
    return Claim(0.95, again=lines[at].startswith("TIME"))


def read(block: Block) -> Parsed:
    """Into measurements: calls of each name and process, and how often they come."""
    parsed = Parsed(TOOL, units="seconds")
    day = Day(None)
    times: list[float] = []
    calls: Counter[tuple[str, str]] = Counter()
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            continue
        row = _SECONDS.fullmatch(text) or _CLOCK.fullmatch(text)
        if row is not None:
            timed = day.split(row["time"])
            times.append(timed[0] / NS_PER_S if timed is not None else float(row["time"]))
            who = "" if row["comm"] is None else f" of {row['comm']} ({row['pid']})"
            calls[row["call"], who] += 1
            if row["comm"] is not None:
                block.names.thread(int(row["pid"]), int(row["pid"]), row["comm"])
        elif not text.startswith(("TIME", "Tracing sync", "^C", "Detaching")):
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
    seconds = max(times, default=0.0) - min(times, default=0.0)
    for (call, who), count in calls.items():
        measure(parsed, f"{call}{who}", "sync_calls", float(count))
        if seconds > 0:
            measure(parsed, f"{call}{who}", "sync_calls_per_s", count / seconds)
    if calls:
        total = sum(calls.values())
        often = f", {total / seconds:,.1f} a second" if seconds > 0 else ""
        parsed.note(
            f"{total:,} sync calls{often}: how long they take is not in the text of syncsnoop"
        )
        parsed.missing.append("strace -f -T -e trace=fsync,fdatasync,sync,syncfs,msync -p PID")
        parsed.partial = "only that sync calls were made"
    return parsed
