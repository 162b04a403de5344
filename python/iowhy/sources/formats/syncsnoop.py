"""bcc's, libbpf-tools' and bpftrace's `syncsnoop`: each call of sync, fsync and the like, with its time but not its length.

Columns: TIME(s) and CALL (bcc); TIME(s), COMM, PID, CALL (libbpf-tools); TIME, PID, COMM, EVENT (bpftrace).
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import NS_PER_S

NAME = "syncsnoop"
HINT = (
    r"^TIME(?:\(s\))?\s+(?:COMM\s+PID\s+|PID\s+COMM\s+)?(?:CALL|EVENT)\s*$|^Tracing sync syscalls"
)
SURE = 0.95
BEGINS = "Tracing"

_CALL = r"(?:tracepoint:syscalls:sys_enter_)?(?P<call>(?:f|fdata|m)?sync(?:fs|_file_range2?)?|arm_sync_file_range|sync_file_range)(?:\(\))?"
_SECONDS = re.compile(
    rf"(?P<time>\d{{1,12}}\.\d{{1,9}})\s+(?:(?P<comm>\S.*?)\s+(?P<pid>\d{{1,9}})\s+)?{_CALL}\s*"
)
_CLOCK = re.compile(
    rf"(?P<time>\d\d:\d\d:\d\d)\s+(?P<pid>\d{{1,9}})\s+(?P<comm>\S.*?)\s+{_CALL}\s*"
)


def read(block: Block) -> Parsed:
    """Into measurements: calls of each name and process, and how often they come."""
    parsed = Parsed(NAME, units="seconds")
    day = Day(None)
    times: dict[tuple[str, str], list[int]] = {}
    for at, line in parsed.lines(block):
        text = line.strip()
        row = _SECONDS.fullmatch(text) or _CLOCK.fullmatch(text)
        if row is not None:
            timed = day.split(row["time"])
            when = timed[0] if timed is not None else round(float(row["time"]) * NS_PER_S)
            who = "" if row["comm"] is None else f" of {row['comm']} ({row['pid']})"
            times.setdefault((row["call"], who), []).append(when)
            if row["comm"] is not None:
                block.names.thread(int(row["pid"]), int(row["pid"]), row["comm"])
        elif not text.startswith(("TIME", "Tracing sync", "^C", "Detaching")):
            parsed.reject(at, line)
    for (call, who), when_called in times.items():
        parsed.measure(f"{call}{who}", "sync_calls", float(len(when_called)))
        parsed.measure(f"{call}{who}", "sync_calls_per_s", _per_s(when_called))
    if times:
        whole = [when for when_called in times.values() for when in when_called]
        rate = _per_s(whole)
        often = "" if rate is None else f", {rate:,.1f} a second"
        calls = "call" if len(whole) == 1 else "calls"
        parsed.note(
            f"{len(whole):,} sync {calls}{often}: how long they take is not in the text of syncsnoop"
        )
        parsed.missing.append("sudo perf trace -a -T -e fsync,fdatasync,sync,syncfs,msync sleep 10")
        parsed.partial = "only that sync calls were made"
    return parsed


def _per_s(times: Sequence[int]) -> float | None:
    """How often, by the gaps between the calls, which are one less than they; None if there is none to measure."""
    spanned = max(times) - min(times)
    return (len(times) - 1) * NS_PER_S / spanned if spanned else None
