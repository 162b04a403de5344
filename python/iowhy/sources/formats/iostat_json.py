"""`iostat -o JSON` (sysstat 11.6 and later)."""

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import Report, emit
from iowhy.sources.formats._json import host_of, items, mapping, reals, value_of

NAME = "iostat-json"
TOOL = "iostat"
LONG_LINES = True
HINT = r'^\s*\{\s*"sysstat"|^\s*\{\s*$'
BEGINS = ""
FIRST = (r'(?![\s\S]*"(?:file-date|cpu-load)")(?=[\s\S]*"hosts")[\s\S]*"date"', 24)


def read(block: Block) -> Parsed:
    """As `iostat`, into the same tables."""
    parsed = Parsed(TOOL, units="kB of 1024 bytes, waits in ms")
    value = mapping(mapping(value_of(block, parsed)).get("sysstat"))
    for host in items(value.get("hosts")):
        facts = mapping(host)
        host_of(parsed, facts)
        reports = []
        for entry in items(facts.get("statistics")):
            statistics = mapping(entry)
            stamp = statistics.get("timestamp")
            report = Report(wall_ns(stamp) if isinstance(stamp, str) else None)
            report.cpu = reals(statistics.get("avg-cpu"))
            for disk in items(statistics.get("disk")):
                row = mapping(disk)
                name = row.get("disk_device")
                if isinstance(name, str):
                    columns = reals(row)
                    if "util" in columns:
                        columns["%util"] = columns.pop("util")
                    report.devices[name] = columns
                    report.has_devices = True
            reports.append(report)
        flags = "".join(w[1:] for w in block.command or () if w.startswith("-"))
        emit(
            parsed,
            reports,
            block.names,
            since_boot="y" not in flags,
            interval_ns=interval_of(block.command),
        )
    return parsed
