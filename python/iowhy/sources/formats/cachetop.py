"""bcc's `cachetop` on a file or a pipe: page cache hits and misses per process and interval."""

import re

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import MIB, NS_PER_S, number

NAME = "cachetop"
HINT = r"^\d\d:\d\d:\d\d Buffers MB:|^\s*PID\s+UID\s+CMD\s+HITS\s+MISSES"
SURE = 0.95

_SUMMARY = re.compile(
    r"(?P<time>\d\d:\d\d:\d\d) Buffers MB: (?P<buffers>\d+) / Cached MB: (?P<cached>\d+)\b.*"
)
_ROW = re.compile(
    r"\s*(?P<pid>\d+)\s+(?P<user>\S+)\s+(?P<comm>\S.*?)\s+(?P<hits>\d+)\s+(?P<misses>\d+)\s+"
    r"(?P<dirties>\d+)\s+[\d.,]+%\s+[\d.,]+%\s*"
)
#: cachetop(8): the interval is 5 s when none is given.
DEFAULT_NS = 5 * NS_PER_S


def read(block: Block) -> Parsed:
    """Into page_cache (per process) and memory_samples."""
    parsed = Parsed(NAME, units="pages; memory in MiB")
    day = Day(None)
    first: int | None = None
    index = -1
    interval = interval_of(block.command)
    times: list[int] = []
    rows: list[tuple[int, re.Match[str]]] = []
    memory: list[tuple[int, re.Match[str]]] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _SUMMARY.fullmatch(text):
            timed = day.split(match["time"])
            if timed is not None:
                first = timed[0] if first is None else first
                times.append(timed[0])
            index += 1
            memory.append((index, match))
        elif text.split()[:3] == ["PID", "UID", "CMD"]:
            index = max(index, 0)
        elif match := _ROW.fullmatch(line):
            rows.append((max(index, 0), match))
        else:
            parsed.reject(at, line)
    if interval is None and len(times) > 1 and times[-1] > times[0]:
        interval = round((times[-1] - times[0]) / (len(times) - 1))
    if interval is None:
        interval = DEFAULT_NS
        parsed.note("the interval of cachetop is not shown: 5 s (its default) is assumed")
    for at, match in memory:
        parsed.add(
            "memory_samples",
            {
                "ts_ns": (at + 1) * interval,
                "buffers_bytes": int(match["buffers"]) * MIB,
                "cached_bytes": int(match["cached"]) * MIB,
            },
        )
    for at, match in rows:
        pid = int(match["pid"])
        block.names.thread(pid, pid, match["comm"])
        values = {name: number(match[name]) or 0.0 for name in ("hits", "misses", "dirties")}
        parsed.add(
            "page_cache",
            {
                "ts_ns": at * interval,
                "interval_ns": interval,
                "tgid": pid,
                "lookup_pages": int(values["hits"] + values["misses"]),
                "demand_miss_pages": int(values["misses"]),
                "dirtied_pages": int(values["dirties"]),
                "estimated": True,
            },
        )
    return parsed
