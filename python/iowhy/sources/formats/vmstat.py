"""Linux `vmstat` (procps), plain, -a, -w, -t, -S and -n.

Columns and units: vmstat(8) of procps-ng. `bi` and `bo` are blocks of 1024 bytes per second
(pgpgin and pgpgout, which are KiB), `si` and `so` KiB per second, scaled by -S; memory in KiB,
scaled by -S. The first line is the average since boot and no load, unless -y left it out.
"""

from __future__ import annotations

from collections.abc import Sequence

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Claim, Interval, Parsed
from iowhy.sources.numbers import NS_PER_S, number

NAME = "vmstat"
TOOL = "vmstat"
HINT = r"^-*procs-*\s?-+\s?-*memory|^\s*r\s+b\s+swpd\s+free\s"

#: Without these columns a header is not one.
NEEDED = {"r", "b", "swpd", "free", "si", "so", "bi", "bo", "cs", "us", "sy", "id"}
#: -S letter → bytes (vmstat(8): k and m are 1000, K and M are 1024).
UNITS = {"k": 1000, "K": 1024, "m": 1_000_000, "M": 1_048_576}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner above the column names, or the column names when the banner is cut off."""
    if " swpd " in lines[at]:
        return Claim(0.9, again=True)
    if at + 1 < len(lines) and " swpd " in lines[at + 1]:
        return Claim(0.9, again=True)
    return None


def read(block: Block) -> Parsed:
    """Into cpu_samples, memory_samples and vm_samples."""
    command = block.command or ()
    unit = _unit(command)
    parsed = Parsed(
        TOOL,
        units=f"memory in units of {unit} bytes, bi and bo in blocks of 1024 bytes per second",
    )
    skip_first = not any(word.startswith("-") and "y" in word for word in command)
    interval_ns = interval_of(command)
    columns: list[str] = []
    rows: list[tuple[int | None, dict[str, float]]] = []
    for number_, line in enumerate(block.lines, block.first_line):
        words = line.split()
        if not words:
            continue
        if words[0].strip("-") == "procs":
            parsed.lines_understood += 1
        elif set(words) >= NEEDED:
            columns = words
            parsed.lines_understood += 1
        else:
            row = _row(columns, words)
            if row is None:
                parsed.reject(number_, line)
                continue
            parsed.lines_understood += 1
            rows.append((wall_ns(" ".join(words[_width(columns) :])), row))
    if skip_first and rows:
        parsed.note("the first line of vmstat is an average since boot, and not taken for load")
        rows = rows[1:]
        if not rows:
            parsed.missing.append("vmstat 1 10")
    _emit(parsed, rows, interval_ns, unit)
    return parsed


def _unit(command: Sequence[str]) -> int:
    for at, word in enumerate(command):
        if word == "-S" and at + 1 < len(command):
            return UNITS.get(command[at + 1], 1024)
        if word.startswith("-S") and len(word) == 3:
            return UNITS.get(word[2], 1024)
    return 1024


def _width(columns: Sequence[str]) -> int:
    """Columns of numbers: all but the time zone that -t puts above the date."""
    last = {"gu", "st", "wa", "id"}
    width = len(columns)
    while width and columns[width - 1] not in last:
        width -= 1
    return width


def _row(columns: Sequence[str], words: Sequence[str]) -> dict[str, float] | None:
    width = _width(columns)
    if width == 0 or len(words) < width:
        return None
    values = [number(word) for word in words[:width]]
    if any(value is None for value in values):
        return None
    return {name: value for name, value in zip(columns, values, strict=False) if value is not None}


def _emit(
    parsed: Parsed,
    rows: Sequence[tuple[int | None, dict[str, float]]],
    interval_ns: int | None,
    unit: int,
) -> None:
    dates = [wall for wall, _ in rows if wall is not None]
    dated = len(dates) == len(rows) and len(rows) > 0
    if dated and interval_ns is None and len(dates) > 1:
        interval_ns = round((dates[-1] - dates[0]) / (len(dates) - 1)) or None
    if interval_ns is None:
        interval_ns = NS_PER_S
        if rows:
            parsed.note("the interval of vmstat is not shown: 1 s is assumed")
    parsed.clock = "wall" if dated else "own"
    seconds = interval_ns / NS_PER_S
    for at, (wall, row) in enumerate(rows):
        end = wall if dated and wall is not None else (at + 1) * interval_ns
        start = end - interval_ns
        percent = interval_ns / 100
        cpu = {
            "user_ns": row["us"] + row.get("gu", 0.0),
            "system_ns": row["sy"],
            "idle_ns": row["id"],
        }
        if "wa" in row:
            cpu["iowait_ns"] = row["wa"]
        if "st" in row:
            cpu["steal_ns"] = row["st"]
        parsed.intervals.append(
            Interval(
                "cpu_samples",
                {"cpu": -1},
                start,
                interval_ns,
                {name: value * percent for name, value in cpu.items()},
            )
        )
        parsed.intervals.append(
            Interval(
                "vm_samples",
                {},
                start,
                interval_ns,
                {
                    "context_switches": row["cs"] * seconds,
                    "page_in_bytes": row["bi"] * 1024 * seconds,
                    "page_out_bytes": row["bo"] * 1024 * seconds,
                    "swap_in_pages": row["si"] * unit * seconds / 4096,
                    "swap_out_pages": row["so"] * unit * seconds / 4096,
                },
                {"procs_running": int(row["r"]), "procs_blocked": int(row["b"])},
            )
        )
        memory: dict[str, object] = {"ts_ns": end, "free_bytes": int(row["free"] * unit)}
        if "cache" in row and "buff" in row:
            memory["cached_bytes"] = int(row["cache"] * unit)
            memory["buffers_bytes"] = int(row["buff"] * unit)
        parsed.add("memory_samples", memory)
