"""`cachestat` of bcc, of libbpf-tools and of perf-tools: page cache hits and misses of the whole machine.

A miss is a page added to the cache that was not just dirtied, so pages read ahead count as misses; hits are
estimated from mark_page_accessed (the tools' own documentation says so).
"""

import re

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import MIB, NS_PER_S, row

NAME = "cachestat"
HINT = r"^Counting cache functions|^\s*(?:TIME\s+)?(?:TOTAL\s+)?(?:HITS\s+MISSES|MISSES\s+HITS)\s+DIRTIES\b"
BEGINS = "Counting"

_EVERY = re.compile(r"Output every (\d{1,6}(?:\.\d{1,9})?) seconds")


def read(block: Block) -> Parsed:
    """Into page_cache (all files together) and memory_samples."""
    parsed = Parsed(NAME, units="pages; memory in MiB")
    interval = interval_of(block.command)
    shown = interval is not None
    columns: list[str] = []
    timed = False
    rows: list[tuple[int | None, dict[str, float]]] = []
    day = Day(None)
    for at, line in parsed.lines(block):
        words = line.split()
        if match := _EVERY.search(line):
            interval = round(float(match[1]) * NS_PER_S) or NS_PER_S
            shown = True
        elif {"HITS", "MISSES", "DIRTIES"} <= set(words):
            columns, timed = words, words[0] == "TIME"
        elif words[0] in {"^C", "^CEnding", "Ending", "Detaching..."} or line.startswith("Tracing"):
            pass
        elif (found := row(columns[timed:], words[timed:])) is not None:
            when = day.split(line.strip()) if timed else None
            rows.append((when[0] if when else None, found))
        else:
            parsed.reject(at, line)
    times = [when for when, _ in rows if when is not None]
    if not shown and len(times) > 1:
        interval = round((times[-1] - times[0]) / (len(times) - 1)) or NS_PER_S
        shown = True
    if interval is None:
        interval = NS_PER_S
    if not shown and rows:
        parsed.note("the interval of cachestat is not shown: 1 s (its default) is assumed")
    if rows:
        parsed.note("cachestat counts pages read ahead as misses")
    for index, (_, one) in enumerate(rows):
        _emit(parsed, one, index * interval, interval)
    return parsed


def _emit(parsed: Parsed, one: dict[str, float], start: int, interval: int) -> None:
    # bcc corrects its estimate below 0 in some versions; what is left negative is no count.
    hits, misses = max(one["HITS"], 0.0), max(one["MISSES"], 0.0)
    parsed.add(
        "page_cache",
        {
            "ts_ns": start,
            "interval_ns": interval,
            "lookup_pages": int(hits + misses),
            "demand_miss_pages": int(misses),
            "dirtied_pages": int(one["DIRTIES"]),
            "estimated": True,
        },
    )
    memory: dict[str, object] = {"ts_ns": start + interval}
    for column, name in (
        ("BUFFERS_MB", "buffers_bytes"),
        ("CACHE_MB", "cached_bytes"),
        ("CACHED_MB", "cached_bytes"),
    ):
        if column in one:
            memory[name] = int(one[column] * MIB)
    if len(memory) > 1:
        parsed.add("memory_samples", memory)
