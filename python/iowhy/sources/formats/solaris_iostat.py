"""Solaris and illumos `iostat -x` and `-xn`: extended statistics per disk.

Manual: iostat(8) of illumos. kr/s and kw/s are KiB; wait are requests queued, actv those that the device has;
svc_t, wsvc_t and asvc_t are ms; %b is the share of time with a request under way. The first report is since boot.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_disk
from iowhy.sources.numbers import NS_PER_S, number

NAME = "solaris-iostat"
TOOL = "iostat"
HINT = r"^\s*extended device statistics|^\s*(?:device\s+)?r/[si]\s+w/[si]\s+[kM]r/[si]\s+[kM]w/[si]\s+wait\s+actv"
SURE = 0.95

_RENAMED = {"r": "r/s", "w": "w/s", "kr": "rkB/s", "kw": "wkB/s", "Mr": "rMB/s", "Mw": "wMB/s", "%b": "%util"}  # fmt: skip
_HEADER = re.compile(r"\s*(?:device\s+)?r/[si]\s+w/[si]\s+[kM]r/[si]\s+[kM]w/[si]\s+wait\s+actv\b")
NEAR = ("^" + _HEADER.pattern, 2)


def read(block: Block) -> Parsed:
    """Into disk_samples."""
    parsed = Parsed(TOOL, units="KiB per second, times in ms", host={"os": "Solaris"})
    columns: list[str] = []
    reports: list[dict[str, dict[str, float]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] == "extended":
            continue
        if _HEADER.match(line):
            columns = words
            reports.append({})
            continue
        row = _row(columns, words)
        if reports and row is not None:
            reports[-1][row[0]] = row[1]
        else:
            parsed.reject(at, line)
    _emit(parsed, reports, block)
    return parsed


def _row(columns: Sequence[str], words: Sequence[str]) -> tuple[str, dict[str, float]] | None:
    """The device's name is first (-x) or last (-xn)."""
    if "device" not in columns or len(words) != len(columns):
        return None
    cells = dict(zip(columns, words, strict=True))
    name = cells.pop("device")
    values = {column: number(cell) for column, cell in cells.items()}
    known = {column: value for column, value in values.items() if value is not None}
    return (name, known) if len(known) == len(values) else None


def _emit(parsed: Parsed, reports: Sequence[dict[str, dict[str, float]]], block: Block) -> None:
    more = "iostat -xn 1 10"
    layouts = {name: row for report in reports for name, row in report.items()}
    for report, start, interval in parsed.load(reports, "report of iostat", block, more):
        for name in layouts:
            # With -z an idle device is not printed.
            row = report.get(name) or dict.fromkeys(layouts[name], 0.0)
            add_disk(parsed, block.names, name, _rates(row, interval), start, interval)


def _rates(row: dict[str, float], interval: int) -> dict[str, float]:
    """As iostat of Linux has them; -I prints counts of the interval instead of rates."""
    per, seconds = ("s", 1.0) if "r/s" in row else ("i", interval / NS_PER_S)
    renamed = {
        _RENAMED.get(name.removesuffix(f"/{per}"), name): value for name, value in row.items()
    }
    rates = {
        name: value / seconds if name.endswith("/s") else value for name, value in renamed.items()
    }
    # Time in the queue and at the device together, as Linux counts it.
    times = [row[name] for name in ("svc_t", "wsvc_t", "asvc_t") if name in row]
    rates |= {"await": sum(times)} if times else {}
    if "wait" in row and "actv" in row:
        rates["aqu-sz"] = row["wait"] + row["actv"]
    return rates
