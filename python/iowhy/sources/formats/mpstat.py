"""Linux `mpstat` (sysstat): CPU time by state, for all CPUs and (-P) each.

Manual: mpstat(1). Without an interval it prints averages since boot.
"""

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.formats._iostat import cpu_counters

NAME = "mpstat"
_HEAD = rf"(?:{_sysstat.TIME}|{_sysstat.AVERAGE})\s+CPU\s+%usr?\b.*%idle"
HINT = _sysstat.BANNER + "|^" + _HEAD


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner with mpstat's header below it, or that header alone (it has %irq, sar -u not)."""
    line = lines[at]
    banner = line.startswith("Linux ")
    head = _sysstat.first_row(lines, at) if banner else line
    words = _sysstat.stripped(head).split()
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
    dropped = 0
    for row in rows:
        start = row.start_ns if row.start_ns is not None else row.end_ns - (usual or 0)
        interval = row.end_ns - start
        values = {name.lstrip("%"): value for name, value in row.numbers().items()}
        if interval <= 0 or "idle" not in values or row.columns[0] != "CPU":
            dropped += 1
            continue
        label = row.cells[0]
        if label != "all" and not label.isdigit():
            dropped += 1
            continue
        parsed.intervals.add(
            "cpu_samples",
            {"cpu": -1 if label == "all" else int(label)},
            start,
            interval,
            cpu_counters(values, interval),
        )
    if rows and not parsed.intervals:
        parsed.note("mpstat without an interval prints averages since boot: not taken for load")
        parsed.missing.append("mpstat -P ALL 1 10")
    return parsed
