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
from iowhy.sources.numbers import number, numbers, size

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
    reader = _Reader()
    for at, line in enumerate(block.lines, block.first_line):
        reader.line(at, line)
    reader.end()
    parsed = reader.parsed
    if not reader.reports:
        return parsed
    command = block.command or ()
    flags = "".join(word[1:] for word in command if re.fullmatch(r"-[a-zA-Z]+", word))
    emit(
        parsed,
        reader.reports,
        block.names,
        since_boot=reader.has_banner and "y" not in flags,
        interval_ns=interval_of(command),
    )
    return parsed


class _Reader:
    """Goes through the lines; `state` is what the last header announced: "cpu", "rows" or nothing."""

    def __init__(self) -> None:
        self.parsed = Parsed(TOOL, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms")
        self.reports: list[Report] = []
        self.has_banner = False
        self._columns: list[str] = []
        self._state = ""
        self._stamp: int | None = None
        #: A long device name stands on a line of its own in old versions and with -h.
        self._pending: tuple[int, str] | None = None

    def line(self, at: int, line: str) -> None:
        words = line.split()
        if self._pending is not None and (
            self._state != "rows" or len(words) < 2 or _HEADER.match(line)
        ):
            self.end()
        if not words:
            if self._state == "rows":
                self._state = ""
        elif self._head(line, words) or self._values(words):
            self.parsed.lines_understood += 1
        elif self._state == "rows" and len(words) == 1 and number(words[0]) is None:
            self._pending = (at, line.strip())
        else:
            self.parsed.reject(at, line)

    def end(self) -> None:
        """A name whose numbers did not come is not understood."""
        if self._pending is not None:
            self.parsed.reject(*self._pending)
            self._pending = None

    def _head(self, line: str, words: Sequence[str]) -> bool:
        """Whether it is a banner, a date or the header of a section."""
        if found := _sysstat.banner(line):
            _sysstat.apply(self.parsed, found)
            self.has_banner = True
            self._state = ""
        elif _CPU.match(line):
            self._columns = [word.lstrip("%") for word in words[1:]]
            self._report("cpu")
            self._state = "cpu"
        elif _HEADER.match(line):
            self._columns = [word.rstrip(":") for word in words]
            cells = [name for name in self._columns if name != "Device"]
            current = self._report("device", cells)
            current.has_devices = True
            current.sections |= set(cells)
            self._state = "rows"
        elif (when := wall_ns(line)) is not None:
            self._stamp = when
            self._state = ""
        else:
            return False
        return True

    def _values(self, words: Sequence[str]) -> bool:
        """Whether it is a row below the header."""
        if self._state == "cpu":
            values = numbers(words)
            if not values or len(values) != len(self._columns):
                return False
            self.reports[-1].cpu = dict(zip(self._columns, values, strict=True))
            self._state = ""
            return True
        if self._state != "rows":
            return False
        row = _row(self._columns, words, self._pending[1] if self._pending is not None else "")
        if row is None:
            return False
        self.reports[-1].devices.setdefault(row[0], {}).update(row[1])
        if self._pending is not None:
            self.parsed.lines_understood += 1
            self._pending = None
        return True

    def _report(self, part: str, names: Sequence[str] = ()) -> Report:
        """The report that a section belongs to: a section that it has already begins the next."""
        last = self.reports[-1] if self.reports else None
        if (
            last is None
            or self._stamp is not None
            or (part == "cpu" and (last.cpu or last.has_devices))
            or (part == "device" and last.sections & set(names))
        ):
            last = Report(self._stamp)
            self._stamp = None
            self.reports.append(last)
        return last


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
