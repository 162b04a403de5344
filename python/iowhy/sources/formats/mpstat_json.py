"""`mpstat -o JSON` (sysstat 11.6 and later): each CPU's time by state."""

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.formats._json import host_of, items, mapping, reals, value_of
from iowhy.sources.formats._sysstat import cpu_of

NAME = "mpstat-json"
TOOL = "mpstat"
LONG_LINES = True
HINT = r'^\s*\{\s*"sysstat"|^\s*\{\s*$'
SURE = 0.92
BEGINS = ""
FIRST = (r'(?![\s\S]*"file-date")(?=[\s\S]*"date")(?=[\s\S]*"hosts")[\s\S]*"cpu-load"', 24)


def read(block: Block) -> Parsed:
    """Into cpu_samples. Times of day are next to the date; without an interval it is since boot."""
    parsed = Parsed(TOOL, units="percent of each CPU's time")
    value = mapping(mapping(value_of(block, parsed)).get("sysstat"))
    for host in items(value.get("hosts")):
        facts = mapping(host)
        host_of(parsed, facts)
        entries = [mapping(entry) for entry in items(facts.get("statistics"))]
        ends = [wall_ns(f"{facts.get('date')} {entry.get('timestamp')}") for entry in entries]
        dates = [end for end in ends if end is not None]
        interval = interval_of(block.command)
        if interval is None and len(dates) > 1:
            interval = round((dates[-1] - dates[0]) / (len(dates) - 1)) or None
        if interval is None:
            parsed.note("mpstat without an interval prints averages since boot: not taken for load")
            parsed.missing.append("mpstat -P ALL 1 10")
            continue
        dated = bool(entries) and len(dates) == len(entries)
        parsed.clock = "wall" if dated else "own"
        for at, entry in enumerate(entries):
            when = ends[at]
            end = when if dated and when is not None else (at + 1) * interval
            _cpus(parsed, entry, end - interval, interval)
    return parsed


def _cpus(parsed: Parsed, entry: dict[str, object], start: int, interval: int) -> None:
    for one in items(entry.get("cpu-load")):
        row = mapping(one)
        cpu, shares = cpu_of(str(row.get("cpu"))), reals(row)
        if "idle" not in shares or cpu is None:
            continue
        add_cpu(parsed, shares, start, interval, cpu)
