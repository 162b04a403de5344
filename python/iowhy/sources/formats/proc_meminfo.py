"""Copies of /proc/meminfo (proc(5)): levels in KiB, which it calls kB."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.numbers import KIB, NS_PER_S

NAME = "proc-meminfo"
TOOL = "cat /proc/meminfo"
HINT = r"^MemTotal:\s+\d+ kB"

_ROW = re.compile(r"([A-Za-z0-9_()]+):\s+(\d{1,15})(?: kB)?")
NAMES = {
    "MemTotal": "total_bytes",
    "MemFree": "free_bytes",
    "MemAvailable": "available_bytes",
    "Cached": "cached_bytes",
    "Buffers": "buffers_bytes",
    "Dirty": "dirty_bytes",
    "Writeback": "writeback_bytes",
    "AnonPages": "anonymous_bytes",
    "Slab": "slab_bytes",
    "SwapTotal": "swap_total_bytes",
    "SwapFree": "swap_free_bytes",
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line."""
    del lines, at
    return Claim(0.9, again=True)


def read(block: Block) -> Parsed:
    """Into memory_samples, one row per copy."""
    parsed = Parsed(TOOL, units="KiB")
    copies: list[dict[str, object]] = []
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            continue
        match = _ROW.fullmatch(text)
        if match is None:
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
        if match[1] == "MemTotal" or not copies:
            copies.append({"ts_ns": len(copies) * NS_PER_S})
        if match[1] in NAMES:
            copies[-1][NAMES[match[1]]] = int(match[2]) * KIB
    for copy in copies:
        parsed.add("memory_samples", copy)
        if "total_bytes" in copy:
            parsed.host["memory_bytes"] = copy["total_bytes"]
    return parsed
