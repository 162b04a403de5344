"""Copies of /proc/vmstat: counters since boot (mm/vmstat.c); pgpgin and pgpgout are KiB."""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed, Reading
from iowhy.sources.numbers import KIB

NAME = "proc-vmstat"
TOOL = "cat /proc/vmstat"
HINT = r"^nr_free_pages \d+"

_ROW = re.compile(r"([a-z][a-z0-9_]*) (-?\d{1,19})")
COUNTERS = {
    "pgpgin": ("page_in_bytes", KIB),
    "pgpgout": ("page_out_bytes", KIB),
    "pswpin": ("swap_in_pages", 1),
    "pswpout": ("swap_out_pages", 1),
    "pgmajfault": ("major_faults", 1),
    "pgscan_direct": ("direct_scan_pages", 1),
    "pgscan_kswapd": ("kswapd_scan_pages", 1),
    "workingset_refault_file": ("refault_file_pages", 1),
    "workingset_refault_anon": ("refault_anon_pages", 1),
}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, with another of its kind below."""
    below = lines[at + 1] if at + 1 < len(lines) else ""
    return Claim(0.9, again=True) if _ROW.fullmatch(below.strip()) else None


def read(block: Block) -> Parsed:
    """Into vm_samples; nr_free_pages begins each copy."""
    parsed = Parsed(TOOL, units="pages; pgpgin and pgpgout in KiB")
    copies: list[dict[str, int]] = []
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            continue
        match = _ROW.fullmatch(text)
        if match is None:
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
        if match[1] == "nr_free_pages" or not copies:
            copies.append({})
        if match[1] in COUNTERS:
            name, unit = COUNTERS[match[1]]
            copies[-1][name] = min(int(match[2]), 2**50) * unit
    for number, values in enumerate(copies):
        if values:
            parsed.readings.append(Reading("vm_samples", {}, number, values))
    if len(copies) < 2:
        parsed.missing.append("cat /proc/vmstat; sleep 10; cat /proc/vmstat")
    return parsed
