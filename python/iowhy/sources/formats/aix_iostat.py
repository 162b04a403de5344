"""AIX `iostat`: CPU and, per disk, busy share, transfers and KiB of each interval.

Manual: iostat command, AIX Commands Reference. Kb_read and Kb_wrtn are KiB of the interval, tps counts both
directions. The first report is since boot.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.formats.aix_vmstat import configuration
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "aix-iostat"
TOOL = "iostat"
HINT = r"^System [Cc]onfiguration: *lcpu=|^tty:\s+tin\s+tout|^Disks:\s+% tm_act"

_CONFIGURATION = re.compile(r"System [Cc]onfiguration:.*?lcpu=(\d+)(?:.*?mem=(\d+)MB)?")
BEGINS = "System"
NEAR = (r"^(?:tty:|Disks:)", 4)


def read(block: Block) -> Parsed:
    """Into cpu_samples and measurements (reads and writes are not counted apart)."""
    parsed = Parsed(TOOL, units="KiB", host={"os": "AIX"})
    reports: list[tuple[dict[str, float], dict[str, dict[str, float]]]] = []
    cpu_columns: list[str] = []
    disk_columns: list[str] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if match := _CONFIGURATION.match(line.strip()):
            configuration(parsed, match)
            continue
        if words[0] == "tty:":
            cpu_columns = line.split("avg-cpu:")[-1].replace("%", " ").split()
            disk_columns = []
            reports.append(({}, {}))
            continue
        if words[0] == "Disks:":
            disk_columns = line.replace("% tm_act", "tm_act").split()[1:]
            if not cpu_columns or (reports and reports[-1][1]):
                reports.append(({}, {}))
            continue
        values = [value for word in words if (value := number(word)) is not None]
        if disk_columns and len(values) == len(disk_columns) == len(words) - 1:
            reports[-1][1][words[0]] = dict(zip(disk_columns, values, strict=True))
        elif reports and cpu_columns and len(values) == len(words) == 2 + len(cpu_columns):
            reports[-1][0].update(zip(cpu_columns, values[2:], strict=True))
        else:
            parsed.reject(at, line)
    for name, row in reports[0][1].items() if reports else ():
        _disk(parsed, name, row, None, 0)
    what, more = "report of iostat", "iostat -D 1 10"
    for (cpu, disks), start, interval in parsed.load(reports, what, block, more):
        if cpu:
            add_cpu(parsed, cpu, start, interval)
        for name, row in disks.items():
            _disk(parsed, name, row, start + interval, interval)
    return parsed


def _disk(
    parsed: Parsed, name: str, row: dict[str, float], ts_ns: int | None, interval: int
) -> None:
    seconds = interval / NS_PER_S
    metrics = {
        "operations_per_s": row.get("tps"),
        "bytes_per_s": row["Kbps"] * KIB if "Kbps" in row else None,
        "busy_share": row["tm_act"] / 100 if "tm_act" in row else None,
    }
    if ts_ns is not None:
        # Of the first report these are totals since boot, of the others totals of the interval.
        for column, metric in (
            ("Kb_read", "read_bytes_per_s"),
            ("Kb_wrtn", "written_bytes_per_s"),
        ):
            if column in row:
                metrics[metric] = row[column] * KIB / seconds
    for metric, value in metrics.items():
        parsed.measure(name, metric if ts_ns is not None else f"since_boot_{metric}", value, ts_ns)
