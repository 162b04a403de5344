"""FreeBSD `iostat -x`: extended statistics per disk, old (wait svc_t) and new (ms/r ms/w) columns.

Manual: iostat(8) of FreeBSD. kr/s and kw/s are KiB; times are ms; the first report is since boot.
"""

from __future__ import annotations

from collections.abc import Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "freebsd-iostat"
TOOL = "iostat"
HINT = r"^\s*extended device statistics|^device\s+r/[si]\s+w/[si]\s+kr/[si]"

MS = 1_000_000


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The column names, or the title above them."""
    for line in lines[at : at + 2]:
        if line.split()[:3] == ["device", "r/s", "w/s"] and "actv" not in line:
            return Claim(0.9, again=True)
    return None


def read(block: Block) -> Parsed:
    """Into disk_samples."""
    parsed = Parsed(TOOL, units="KiB per second, times in ms")
    parsed.host["os"] = "FreeBSD"
    columns: list[str] = []
    reports: list[dict[str, dict[str, float]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] == "extended":
            continue
        if words[:2] == ["device", "r/s"]:
            columns = words[1:]
            reports.append({})
            continue
        values = [number(word) for word in words[1:]]
        whole = [value for value in values if value is not None]
        if reports and len(whole) == len(values) >= len(columns) > 0:
            # tty and cpu columns (-C) may follow; they have no place here.
            reports[-1][words[0]] = dict(zip(columns, whole, strict=False))
        else:
            parsed.reject(at, line)
    if reports:
        parsed.note("the first report of iostat is an average since boot, and not taken for load")
    if len(reports) < 2:
        parsed.missing.append("iostat -x -w 1 -c 10")
    interval = parsed.length_ns(interval_of(block.command), reports[1:])
    for at, report in enumerate(reports[1:]):
        for name, row in report.items():
            counters = _counters(row, interval)
            if counters is not None:
                key = {"dev": block.names.disk(name)}
                parsed.intervals.add(
                    "disk_samples",
                    key,
                    at * interval,
                    interval,
                    counters,
                    {"in_flight": int(row["qlen"])} if "qlen" in row else {},
                )
    return parsed


def _counters(row: dict[str, float], interval: int) -> dict[str, float] | None:
    if not {"r/s", "w/s", "kr/s", "kw/s"} <= row.keys():
        return None
    seconds = interval / NS_PER_S
    reads, writes = row["r/s"] * seconds, row["w/s"] * seconds
    counters = {
        "reads": reads,
        "writes": writes,
        "read_bytes": row["kr/s"] * KIB * seconds,
        "written_bytes": row["kw/s"] * KIB * seconds,
    }
    both = row.get("svc_t")
    read_wait, write_wait = row.get("ms/r", both), row.get("ms/w", both)
    if read_wait is not None and write_wait is not None:
        counters["read_ns"] = read_wait * MS * reads
        counters["write_ns"] = write_wait * MS * writes
    if "%b" in row:
        counters["busy_ns"] = min(row["%b"] / 100, 1.0) * interval
    return counters
