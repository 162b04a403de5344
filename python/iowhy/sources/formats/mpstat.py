"""Linux `mpstat` (sysstat): CPU time by state, for all CPUs and (-P) each.

Manual: mpstat(1). Without an interval it prints averages since boot.
"""

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.formats._iostat import add_cpu

NAME = "mpstat"
_HEAD = rf"(?:{_sysstat.TIME}|{_sysstat.AVERAGE})\s+CPU\s+%usr?\b.*%idle"
HINT = _sysstat.BANNER + "|^" + _HEAD


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner with mpstat's header below it, or that header alone (it has %irq, sar -u not)."""
    words, banner = _sysstat.titles(lines, at)
    if words[:1] == ["CPU"] and "%irq" in words and "%usr" in words:
        # `sar -u ALL` has nearly the same columns; there %guest comes before %irq never.
        order = words.index("%irq") < words.index("%steal") if "%steal" in words else True
        if order:
            return Claim(0.9, again=not banner)
    return None


def read(block: Block) -> Parsed:
    """Into cpu_samples, one series per CPU."""
    parsed = Parsed(NAME, units="percent of each CPU's time")
    rows = _sysstat.rows(block, parsed)
    usual = _sysstat.length(rows, block.command)
    for row in rows:
        start = row.start_ns if row.start_ns is not None else row.end_ns - (usual or 0)
        interval = row.end_ns - start
        values = {name.lstrip("%"): value for name, value in row.numbers().items()}
        cpu = _sysstat.cpu_of(row.cells[0])
        if interval <= 0 or "idle" not in values or row.columns[0] != "CPU" or cpu is None:
            continue
        add_cpu(parsed, values, start, interval, cpu)
    if rows and not parsed.intervals:
        parsed.note("mpstat without an interval prints averages since boot: not taken for load")
        parsed.missing.append("mpstat -P ALL 1 10")
    return parsed
