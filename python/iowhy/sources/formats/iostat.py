"""Linux `iostat` (sysstat): plain, -c, -d, -x, -t, -m, -h, -z, -p; layouts of versions 9 to 12.

Manual: iostat(1). The first report covers the time since boot, unless -y left it out.
"""

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.formats._iostat import Report, emit, idle_left_out
from iowhy.sources.numbers import number, numbers, size

NAME = "iostat"
# -h puts the name last, and breaks -x into four tables: reads, writes, discards, flushes.
# The word for a device, and the names of plain -d, are in the machine's language. BSD's begin with "device", sar's with "DEV".
_DEVICE = (
    r"(?:Device:?\s.*(?:tps|[rwdf]/s|rrqm/s)|\s*(?:tps|[rwdf]/s|rrqm/s)\s.*\sDevice:?\s*$"
    r"|(?!device\b|DEV\b)[^\W\d][\w.]*\s?:?\s+(?:tps\s|rrqm/s\s|r/s\s.*(?:kB|MB|sec)/s).*)"
)
#: Plain -d: its columns in order, in the unit that the first of them names.
_PLAIN = ("tps", "{}_read/s", "{}_wrtn/s", "{}_dscd/s", "{}_read", "{}_wrtn", "{}_dscd")
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
    command = block.command or ()
    flags = "".join(word[1:] for word in command if re.fullmatch(r"-[a-zA-Z]+", word))
    left_out = "z" in flags or idle_left_out(reader.reports[:-1])
    reader.close(idle_left_out=left_out)
    parsed = reader.parsed
    if not reader.reports:
        return parsed
    emit(
        parsed,
        reader.reports,
        block.names,
        since_boot=reader.has_banner and "y" not in flags,
        interval_ns=interval_of(command),
        left_out=left_out,
    )
    return parsed


class _Reader:
    """Goes through the lines; `state` is what the last header announced: "cpu", "rows" or nothing."""

    def __init__(self) -> None:
        self.parsed = Parsed(NAME, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms")
        self.reports: list[Report] = []
        self.has_banner = False
        self._columns: list[str] = []
        self._state = ""
        self._stamp: int | None = None
        #: The last header, until a row of it comes.
        self._bare: tuple[int, str] | None = None
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
            if self._state == "rows" and _HEADER.match(line):
                self._bare = (at, line)
        elif self._state == "rows" and len(words) == 1 and number(words[0]) is None:
            self._pending = (at, line.strip())
        else:
            if self._state == "rows":
                self.reports[-1].cut, self._bare = True, None
            self.parsed.reject(at, line)

    def end(self) -> None:
        """A name whose numbers did not come is not understood."""
        if self._pending is not None:
            self.reports[-1].cut = True
            self.parsed.reject(*self._pending)
            self._pending = None

    def close(self, *, idle_left_out: bool) -> None:
        """A header at the end whose rows did not come is not understood, unless idle devices have none."""
        self.end()
        last = self.reports[-1] if self.reports else None
        if self._bare is not None and last is not None and not (last.devices or idle_left_out):
            last.cut = True
            self.parsed.lines_understood -= 1
            self.parsed.reject(*self._bare)
        extended = [one for one in self.reports if "r/s" in one.sections and one.devices]
        if extended and not any(
            "%util" in one.sections or "util" in one.sections for one in extended
        ):
            self.parsed.partial = "the table of iostat is cut off on the right"

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
            self._columns = _columns(words)
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
            # Without the idle time the table is cut off, and the rest is no whole.
            if not values or len(values) != len(self._columns) or "idle" not in self._columns:
                return False
            self.reports[-1].cpu = dict(zip(self._columns, values, strict=True))
            self._state = ""
            return True
        if self._state != "rows":
            return False
        row = _row(self._columns, words, self._pending[1] if self._pending is not None else "")
        if row is None:
            return False
        known = self.reports[-1].devices.get(row[0], {})
        if known.keys() & row[1].keys():
            # The same device again below one header: the rows of the next report.
            following = self._report("device", list(row[1]))
            following.has_devices, following.sections = True, set(row[1])
            known = following.devices.get(row[0], {})
        self.reports[-1].devices[row[0]] = known | row[1]
        self._bare = None
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


def _columns(words: Sequence[str]) -> list[str]:
    """The names of a header's columns, in English."""
    names = [word.rstrip(":") for word in words if word != ":"]
    if "Device" not in names:
        names[0] = "Device"
    if names[1] == "tps" and not any(name.endswith(("_read/s", "_wrtn/s")) for name in names):
        unit = re.match(r"kB|MB|Blk", names[2] if len(names) > 2 else "")
        order = [name.format(unit[0] if unit else "kB") for name in _PLAIN]
        if len(names) < 8:
            order = [name for name in order if "dscd" not in name]
        names[1:] = order[: len(names) - 1]
    return names


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
