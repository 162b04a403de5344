"""Linux `iostat` (sysstat): plain, -c, -d, -x, -t, -m, -h, -z, -p; layouts of versions 9 to 12.

Manual: iostat(1). The first report covers the time since boot, unless -y left it out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.formats._iostat import Report, emit
from iowhy.sources.numbers import number, size

NAME = "iostat"
TOOL = "iostat"
# -h puts the name last, and breaks -x into four tables: reads, writes, discards, flushes.
_DEVICE = r"(?:Device:?\s.*(?:tps|[rwdf]/s|rrqm/s)|\s*(?:tps|[rwdf]/s|rrqm/s)\s.*\sDevice:?\s*$)"
HINT = _sysstat.BANNER + r"|^avg-cpu:\s+%user|^" + _DEVICE

_HEADER = re.compile(_DEVICE)
_CPU = re.compile(r"avg-cpu:\s+%user")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner with a report below it, or a report whose banner is cut off."""
    line = lines[at]
    if line.startswith("Linux "):
        below = _sysstat.first_row(lines, at)
        if _CPU.match(below) or _HEADER.match(below):
            return Claim(0.95)
        return None
    if _CPU.match(line) or (_HEADER.match(line) and "extended device" not in line):
        # FreeBSD's and AIX' headers have other words behind.
        return Claim(0.8, again=True)
    return None


def read(block: Block) -> Parsed:
    """Into cpu_samples and disk_samples; plain `-d` (no reads apart from writes): measurements."""
    parsed = Parsed(TOOL, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms")
    reports: list[Report] = []
    columns: list[str] = []
    state = ""
    stamp: int | None = None
    pending: tuple[int, str] | None = None
    has_banner = False

    def report(part: str, names: Sequence[str] = ()) -> Report:
        """The report that a section belongs to: a section that it has already begins the next."""
        nonlocal stamp
        last = reports[-1] if reports else None
        if (
            last is None
            or stamp is not None
            or (part == "cpu" and (last.cpu or last.has_devices))
            or (part == "device" and last.sections & set(names))
        ):
            last = Report(stamp)
            stamp = None
            reports.append(last)
        return last

    for index, line in enumerate(block.lines):
        at = block.first_line + index
        words = line.split()
        if pending is not None and (state != "rows" or len(words) < 2 or _HEADER.match(line)):
            parsed.reject(*pending)
            pending = None
        if not words:
            if state == "rows":
                state = ""
            continue
        if found := _sysstat.banner(line):
            _sysstat.apply(parsed, found)
            has_banner = True
            state = ""
        elif _CPU.match(line):
            columns = [word.lstrip("%") for word in words[1:]]
            report("cpu")
            state = "cpu"
            parsed.lines_understood += 1
        elif _HEADER.match(line):
            columns = [word.rstrip(":") for word in words]
            cells = [name for name in columns if name != "Device"]
            current = report("device", cells)
            current.has_devices = True
            current.sections |= set(cells)
            state = "rows"
            parsed.lines_understood += 1
        elif (when := wall_ns(line)) is not None:
            stamp = when
            state = ""
            parsed.lines_understood += 1
        elif state == "cpu" and (values := _values(words)) and len(values) == len(columns):
            reports[-1].cpu = dict(zip(columns, values, strict=True))
            state = ""
            parsed.lines_understood += 1
        elif state == "rows" and len(words) == 1 and number(words[0]) is None:
            # A long device name stands on a line of its own in old versions and with -h.
            pending = (at, line.strip())
        elif state == "rows" and (
            row := _row(columns, words, pending[1] if pending is not None else "")
        ):
            name, row_values = row
            reports[-1].devices.setdefault(name, {}).update(row_values)
            parsed.lines_understood += 1 if pending is None else 2
            pending = None
        else:
            parsed.reject(at, line)
    if pending is not None:
        parsed.reject(*pending)
    if not reports:
        return parsed
    command = block.command or ()
    flags = "".join(word[1:] for word in command if re.fullmatch(r"-[a-zA-Z]+", word))
    emit(
        parsed,
        reports,
        block.names,
        since_boot=has_banner and "y" not in flags,
        interval_ns=interval_of(command),
    )
    return parsed


def _values(words: Sequence[str]) -> list[float] | None:
    values = [number(word) for word in words]
    if any(value is None for value in values):
        return None
    return [value for value in values if value is not None]


def _row(
    columns: Sequence[str], words: Sequence[str], pending: str
) -> tuple[str, dict[str, float]] | None:
    at = columns.index("Device")
    rest = [name for name in columns if name != "Device"]
    if pending and len(words) == len(rest):
        name, cells = pending, list(words)
    elif len(words) == len(columns):
        name, cells = words[at], [word for i, word in enumerate(words) if i != at]
    else:
        return None
    row: dict[str, float] = {}
    for column, cell in zip(rest, cells, strict=True):
        value = number(cell)
        if value is None:
            # -h prints "1.2M" where the header says kB: the number is then in bytes.
            scaled = size(cell)
            if scaled is None:
                return None
            value = scaled / _unit(column)
        row[column] = value
    return name, row


def _unit(column: str) -> float:
    if "kB" in column or column.endswith("areq-sz"):
        return 1024.0
    if "MB" in column:
        return 1024.0**2
    return 512.0 if "sec/s" in column or "Blk" in column else 1.0
