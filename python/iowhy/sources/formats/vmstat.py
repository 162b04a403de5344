"""Linux `vmstat` (procps), plain, -a, -w, -t, -S and -n.

Columns and units: vmstat(8) of procps-ng. `bi` and `bo` are blocks of 1024 bytes per second
(pgpgin and pgpgout, which are KiB), `si` and `so` KiB per second, scaled by -S; memory in KiB,
scaled by -S. The first line is the average since boot and no load, unless -y left it out.
"""

import math
import re
from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import NS_PER_S, row

NAME = "vmstat"
HINT = r"^-*procs-*\s?-+\s?-*memory|^\s*(?:\S+\s+){0,2}r\s+b\s+swpd\s+free\s"

#: Without these columns a header is not one.
#: In other languages by shape: six groups of dashes, or 16 to 18 short names, above as many whole numbers whose last ones are
#: shares of the CPUs.
_GROUPS = r"^-{0,2}[^\W\d][\w.]*-*\s*(?:\s+-+[^\W\d][\w/]*-+){5}\s*$"
_NAMES = r"^\s*(?:[^\W\d][^\s:]{0,9}\s+){15,17}[^\W\d][^\s:]{0,9}\s*$"
HINT += f"|{_GROUPS}|{_NAMES}"
_ENGLISH = ("r", "b", "swpd", "free", "buff", "cache", "si", "so", "bi", "bo", "in", "cs", "us", "sy", "id", "wa", "st", "gu")  # fmt: skip

NEEDED = {"r", "b", "swpd", "free", "si", "so", "bi", "bo", "cs", "us", "sy", "id"}
#: Columns that are used.
USED = (
    "r", "b", "free", "buff", "cache", "si", "so", "bi", "bo", "cs", "us", "gu", "sy", "id", "wa", "st",
)  # fmt: skip
UNDATED = -(2**63)
#: -S letter → bytes (vmstat(8): k and m are 1000, K and M are 1024).
UNITS = {"k": 1000, "K": 1024, "m": 1_000_000, "M": 1_048_576}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner above the column names, or the column names when the banner is cut off."""
    if " swpd " in lines[at]:
        return Claim(0.9, again=True)
    if at + 1 < len(lines) and " swpd " in lines[at + 1]:
        return Claim(0.9, again=True)
    names = at if re.match(_NAMES, lines[at]) else at + 1
    return Claim(0.85, again=True) if _translated(lines, names) else None


def _translated(lines: Sequence[str], at: int) -> bool:
    """Whether names of columns are at this line, by the row of numbers below them."""
    if at + 1 >= len(lines) or not re.match(_NAMES, lines[at]):
        return False
    row = lines[at + 1].split()
    if len(row) < len(lines[at].split()) or not all(cell.isdigit() for cell in row[:16]):
        return False
    return 97 <= sum(int(cell) for cell in row[12:18] if cell.isdigit()) <= 103


def read(block: Block) -> Parsed:
    """Into cpu_samples, memory_samples and vm_samples."""
    command = block.command or ()
    unit = _unit(command)
    parsed = Parsed(
        NAME,
        units=f"memory in units of {unit} bytes, bi and bo in blocks of 1024 bytes per second",
    )
    skip_first = not any(word.startswith("-") and "y" in word for word in command)
    interval_ns = interval_of(command)
    columns: list[str] = []
    lead = 0
    day = Day(None)
    rows = _Rows()
    for number_, line in parsed.lines(block):
        words = line.split()
        if words[0].strip("-") == "procs" or re.match(_GROUPS, line):
            pass
        elif set(words) >= NEEDED:
            # Collectors (ExaWatcher, OSWatcher) put the time of day before the columns.
            lead = words.index("r")
            columns = words[lead:]
        elif _translated(block.lines, number_ - block.first_line):
            lead, columns = 0, list(_ENGLISH[: len(words)])
        else:
            one = _row(columns, words[lead:])
            if one is None:
                parsed.reject(number_, line)
                continue
            timed = day.split(line.strip()) if lead else None
            if timed is not None:
                rows.add(timed[0], one)
            else:
                rows.add(wall_ns(" ".join(words[_width(columns) :])), one)
    if skip_first and len(rows):
        parsed.note("the first line of vmstat is an average since boot, and not taken for load")
        rows.drop_first()
        if not len(rows):
            parsed.missing.append("vmstat 1 10")
    _emit(parsed, rows, interval_ns, unit)
    if lead:
        parsed.note("vmstat's times have no date: the first day is taken as 1970-01-01")
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
    return row(columns[:width], words[:width])


class _Rows:
    """Lines as columns of what is used of them, NaN where a line has no such column."""

    def __init__(self) -> None:
        self._columns = {name: array("d") for name in USED}
        self._walls: array[int] = array("q")

    def __len__(self) -> int:
        return len(self._walls)

    def add(self, wall: int | None, row: dict[str, float]) -> None:
        self._walls.append(UNDATED if wall is None else wall)
        for name, values in self._columns.items():
            values.append(row.get(name, math.nan))

    def drop_first(self) -> None:
        del self._walls[:1]
        for values in self._columns.values():
            del values[:1]

    def __getitem__(self, name: str) -> Any:
        return np.array(self._columns[name])

    def walls(self) -> Any | None:
        """The dates, if all lines have one."""
        walls = np.array(self._walls)
        return walls if len(walls) and (walls != UNDATED).all() else None


def _emit(parsed: Parsed, rows: _Rows, interval_ns: int | None, unit: int) -> None:
    walls = rows.walls()
    interval_ns = parsed.length_ns(interval_ns, len(rows), () if walls is None else walls.tolist())
    parsed.clock = "own" if walls is None else "wall"
    seconds, percent = interval_ns / NS_PER_S, interval_ns / 100
    ends = np.arange(1, len(rows) + 1) * interval_ns if walls is None else walls
    cpu = {
        "user_ns": rows["us"] + np.nan_to_num(rows["gu"]),
        "system_ns": rows["sy"],
        "idle_ns": rows["id"],
        "iowait_ns": rows["wa"],
        "steal_ns": rows["st"],
    }
    # Lines of older versions, and of newer ones, in one paste: a column is for those that have it.
    for kind in _kinds(~np.isnan(cpu["iowait_ns"]), ~np.isnan(cpu["steal_ns"])):
        shares = {name: values[kind] * percent for name, values in cpu.items()}
        parsed.intervals.extend(
            "cpu_samples",
            {"cpu": -1},
            ends[kind] - interval_ns,
            interval_ns,
            {name: values for name, values in shares.items() if not np.isnan(values).any()},
        )
    parsed.intervals.extend(
        "vm_samples",
        {},
        ends - interval_ns,
        interval_ns,
        {
            "context_switches": rows["cs"] * seconds,
            "page_in_bytes": rows["bi"] * 1024 * seconds,
            "page_out_bytes": rows["bo"] * 1024 * seconds,
            "swap_in_pages": rows["si"] * unit * seconds / 4096,
            "swap_out_pages": rows["so"] * unit * seconds / 4096,
        },
        {"procs_running": rows["r"], "procs_blocked": rows["b"]},
    )
    if len(rows):
        memory = {"ts_ns": ends.astype(np.int64), "free_bytes": _bytes(rows["free"] * unit)}
        apart = np.isnan(rows["cache"]) | np.isnan(rows["buff"])
        if not apart.all():
            memory["cached_bytes"] = _bytes(rows["cache"] * unit, apart)
            memory["buffers_bytes"] = _bytes(rows["buff"] * unit, apart)
        parsed.tables["memory_samples"] = StoredRows.of(memory)


def _bytes(values: Any, unknown: Any = None) -> Any:
    return np.ma.masked_array(np.nan_to_num(values).astype(np.int64), unknown)


def _kinds(*has: Any) -> Iterator[Any]:
    """The lines of each set of columns that occurs."""
    if len(has[0]):
        for wanted in sorted(set(zip(*(one.tolist() for one in has), strict=True))):
            yield np.logical_and.reduce(
                [one == want for one, want in zip(has, wanted, strict=True)]
            )
