"""Copies of /proc/meminfo (proc(5)): levels in KiB, which it calls kB."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._proc import copies
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


def read(block: Block) -> Parsed:
    """Into memory_samples, one row per copy."""
    parsed = Parsed(TOOL, units="KiB")
    for number, copy in enumerate(copies(block, parsed, _ROW, "MemTotal", NAMES)):
        row: dict[str, object] = {NAMES[name]: value * KIB for name, value in copy.items()}
        parsed.add("memory_samples", {"ts_ns": number * NS_PER_S, **row})
        if "total_bytes" in row:
            parsed.host["memory_bytes"] = row["total_bytes"]
    return parsed
