"""What iostat, mpstat, pidstat and sar share: the banner, time stamps, and rows under a header.

sysstat prints kB as 1024 bytes and counts a sector as 512 (its manual pages). The decimal sign
follows the locale; dates follow it too, unless S_TIME_FORMAT=ISO.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import AMBIGUOUS, NS_PER_S, number

#: "Linux 4.4.0-1072-aws (host) 12/18/2018 _x86_64_ (16 CPU)"
#: The name is taken out of many a paste, and sysstat before 10 prints neither machine nor CPUs.
#: The date is in the machine's language; where the machine follows, it may have words.
_HEAD = r"^Linux (?P<kernel>\d\S*)(?:\s+\((?P<name>[^)]*)\))?\s+"
_END = r"\s+_(?P<machine>\w+)_(?:\s+\((?P<cpus>\d+) [^)]{1,12}\))?\s*$"
_BANNER = re.compile(rf"{_HEAD}(?P<date>\S+(?:\s+\S+){{0,5}}?){_END}")
_SHORT = re.compile(rf"{_HEAD}(?P<date>\d\S*)\s*$")
BANNER = re.sub(r"\?P<\w+>", "", f"{_BANNER.pattern}|{_SHORT.pattern}")

#: A time of day in any language: 22:53:12, 10:53:12 PM, 22时53分12秒, 下午 10時53分12秒.
_APART = r"(?::|[^\x00-\x7f]{1,2}\s?)"
_WORD = r"[^\x00-\x7f]\S{0,11}"
TIME = rf"(?:{_WORD}\s+)?\d{{1,2}}{_APART}\d{{2}}{_APART}\d{{2}}[^\x00-\x7f]?(?:\s+(?:[AP]M|{_WORD}))?(?=\s|$)"
_CLOCK = re.compile(
    rf"(?:({_WORD})\s+)?(\d{{1,2}}){_APART}(\d{{2}}){_APART}(\d{{2}})[^\x00-\x7f]?(?:\s+([AP]M|{_WORD}))?(?=\s|$)"
)

#: What is printed instead of the time before the averages over all intervals: one word and a colon, in any language.
AVERAGE = r"[^\W\d][\w.]{1,15}\s?[:：]"
_AVERAGE = re.compile(rf"{AVERAGE}(?=\s)")
#: Columns of numbers, whatever the report.
_OF_NUMBERS = re.compile(r"%|/s$|-sz$|await$|^svctm$|^tps$|^kb")
_HALF_DAY_NS = 43_200 * NS_PER_S
DAY_NS = 86_400 * NS_PER_S


class Banner(Struct):
    """The first line: the machine, and the day (wall clock of its midnight, None if not read)."""

    host: dict[str, object]
    midnight_ns: int | None


def banner(line: str) -> Banner | None:
    """Read the first line of a sysstat tool's output; None when it is not one."""
    match = _BANNER.match(line) or _SHORT.match(line)
    if match is None:
        return None
    found = match.groupdict()
    host: dict[str, object] = {"kernel": found["kernel"], "os": "Linux"}
    host |= {name: found[name] for name in ("name", "machine") if found.get(name)}
    if found.get("cpus"):
        host["cpus"] = int(found["cpus"])
    date = found["date"]
    if year := re.fullmatch(r"(\d{4})\D{1,2}(\d{1,2})\D{1,2}(\d{1,2})\D{0,2}", date):
        date = f"{year[1]}-{int(year[2]):02}-{int(year[3]):02}"
    return Banner(host, wall_ns(f"{date} 00:00:00"))


def first_row(lines: Sequence[str], at: int, reach: int = 6) -> str:
    """The first line after the banner that is neither empty nor a date."""
    for line in lines[at + 1 : at + 1 + reach]:
        if line.strip() and wall_ns(line) is None:
            return line
    return ""


def titles(lines: Sequence[str], at: int) -> tuple[list[str], bool]:
    """The words of a header at a line, or below the banner at it, without the time; and whether it is a banner."""
    banner = lines[at].startswith("Linux ")
    return stripped(first_row(lines, at) if banner else lines[at]).split(), banner


def cpu_of(label: str) -> int | None:
    """A CPU's number; -1 is all of them, None no CPU."""
    if label in {"all", "-1"}:
        return -1
    return int(label) if label.isdigit() else None


class Day:
    """Turns times of day into wall-clock time, over midnight too.

    Without a date the first time of day is 0.
    """

    def __init__(self, midnight_ns: int | None) -> None:
        self.dated = midnight_ns is not None
        self._midnight = midnight_ns if midnight_ns is not None else 0
        self._last: int | None = None

    def split(self, line: str) -> tuple[int, str] | None:
        """(time in ns, rest of the line) of a line that begins with a time of day, else None."""
        match = _CLOCK.match(line)
        if match is None:
            return None
        hours = int(match[2])
        half = match[1] or match[5]
        if half:
            hours = hours % 12 + (12 if half == "PM" else 0)
        within = (hours * 3600 + int(match[3]) * 60 + int(match[4])) * NS_PER_S
        when = self._midnight + within
        if half and not half.isascii() and self._last is not None:
            # Which half of the day a word means is known by the order alone.
            while when < self._last - _HALF_DAY_NS // 2:
                self._midnight += _HALF_DAY_NS
                when += _HALF_DAY_NS
        if self._last is not None and when < self._last - DAY_NS // 2:
            self._midnight += DAY_NS
            when += DAY_NS
        self._last = when
        return when, line[match.end() :].strip()


class Row(Struct, frozen=True):
    """One row of a table with times of day; `start_ns` is where its interval begins."""

    line: int
    start_ns: int | None
    end_ns: int
    columns: Sequence[str]
    cells: Sequence[str]

    def number(self, name: str) -> float | None:
        """The value of a column, None when there is no such column or it is not a number."""
        for column, cell in zip(self.columns, self.cells, strict=False):
            if column == name:
                return number(cell)
        return None

    def numbers(self) -> dict[str, float]:
        """All columns that hold numbers."""
        found = {c: number(cell) for c, cell in zip(self.columns, self.cells, strict=False)}
        return {column: value for column, value in found.items() if value is not None}


def rows(block: Block, parsed: Parsed) -> list[Row]:
    """The rows of a sysstat report with times of day; notes its machine and its clock in `parsed`.

    "Average:" rows are left out, as they repeat the others, but if they are all that there is. `# Time` headers (pidstat -h) have
    the time as a column, as time of day or as seconds since the epoch.
    """
    day = Day(None)
    dated = False
    columns: list[str] = []
    width = 0
    found: list[tuple[int, int, list[str], list[str]]] = []
    averages: list[tuple[int, list[str]]] = []
    times: set[int] = set()
    for at, line in parsed.lines(block):
        words = line.split()
        if (head := banner(line)) is not None:
            apply(parsed, head)
            day = Day(head.midnight_ns)
            dated = day.dated
            continue
        if words[0] == "#" and len(words) > 2 and words[1] == "Time":
            columns, width = words[2:], len(words) - 2
            continue
        if average := _AVERAGE.match(line):
            averages.append((at, line[average.end() :].split()))
            continue
        timed = day.split(line.strip())
        if timed is None and re.fullmatch(r"1\d{9}", words[0]):
            timed = int(words[0]) * NS_PER_S, " ".join(words[1:])
            dated = True
        if timed is None:
            parsed.reject(at, line)
            continue
        when, rest = timed
        cells = rest.split()
        if not cells or "RESTART" in rest:
            parsed.note("the machine was restarted in between") if cells else None
            columns = []
        elif all(number(cell) is None for cell in cells) and len(cells) > 1:
            columns, width = cells, len(cells)
            times.add(when)
        elif columns and len(cells) >= width and _is_row(columns, cells):
            found.append((at, when, columns, cells))
            times.add(when)
        else:
            parsed.reject(at, line)
    if not found and averages:
        return _averaged(parsed, averages)
    parsed.clock = "wall" if dated else "own"
    return _timed(found, times, dated)


def _is_row(columns: Sequence[str], cells: Sequence[str]) -> bool:
    """Whether a number is in each column that has numbers; how large one with a comma is may be open."""
    return all(
        number(cell) is not None or AMBIGUOUS.fullmatch(cell)
        for column, cell in zip(columns, cells, strict=False)
        if _OF_NUMBERS.search(column)
    )


def _timed(
    found: Sequence[tuple[int, int, list[str], list[str]]], times: set[int], dated: bool
) -> list[Row]:
    """Rows with the times at which their intervals begin: where the one before ended."""
    ordered = sorted(times)
    before: dict[int, int | None] = dict(zip(ordered[1:], ordered, strict=False))
    first = ordered[0] if ordered and not dated else 0
    result = []
    for at, when, names, cells in found:
        start = before.get(when)
        result.append(Row(at, None if start is None else start - first, when - first, names, cells))
    return result


def _averaged(parsed: Parsed, averages: Sequence[tuple[int, list[str]]]) -> list[Row]:
    """The averages as one interval, of a length that is not in the text."""
    parsed.note(f"only the averages of {parsed.tool}: the time that they cover is taken as 1 s")
    parsed.partial = f"only the averages of {parsed.tool}"
    columns: list[str] = []
    found = []
    for at, cells in averages:
        if len(cells) > 1 and all(number(cell) is None for cell in cells):
            columns = cells
        elif columns and len(cells) >= len(columns):
            found.append(Row(at, 0, NS_PER_S, columns, cells))
    return found


def length(rows_: Sequence[Row], command: Sequence[str] | None) -> int | None:
    """The usual interval of a report: from its rows, else from its command line."""
    lengths = sorted(row.end_ns - row.start_ns for row in rows_ if row.start_ns is not None)
    return lengths[len(lengths) // 2] if lengths else interval_of(command)


def stripped(line: str) -> str:
    """A line's text after the time of day, or the word that is in its place."""
    if average := _AVERAGE.match(line):
        return line[average.end() :].strip()
    return _CLOCK.sub("", line.strip(), count=1).strip()


def apply(parsed: Parsed, found: Banner) -> None:
    """Note the machine of a banner."""
    parsed.host.update(found.host)
