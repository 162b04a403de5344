"""`dstat`, `dool` and `pcp dstat`: -c -d -r -m -g -s -y -p -l -t and --disk-util, as text and as CSV (--output).

Manual: dstat(1). Rates are per second; bytes have letters of powers of 1024, in CSV none. The first row is an average since
boot. "paging" are bytes of swap; "dsk/total" is what vmstat calls bi and bo.
"""

import csv
import re
from collections.abc import Mapping, Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import KIB, size

NAME = "dstat"
#: Words of the second title, each of which is of one group.
_COLUMNS = r"usr sys idl wai|read  writ|run blk new|used  (?:buff|free)|int   csw"
COMMAS_PART = True
HINT = rf'^-+[^\W\d].*-\s?-+[\w/]+|^(?:[ \w:]+[|:])?\s*(?:{_COLUMNS})|^"(?:Dstat|Dool|pcp-dstat) [\w.]+ CSV [Oo]utput"|^"usr","sys"|^You did not select any stats'

_TITLE = re.compile(r"-+([\w/.:* -]*?)-+(?=\s|$)")
_NAMES = re.compile(r"[\s|:]*(?:(?:[a-z][\w/]*|1?[15]m)(?:[\s|:]+|$))+")
_SWAP_PAGE = 4096
#: Columns of the group of CPUs → those of mpstat.
_CPU = {"usr": "user", "sys": "system", "idl": "idle", "wai": "iowait", "hiq": "irq", "siq": "soft", "stl": "steal"}  # fmt: skip
_MEMORY = {"free": "kbmemfree", "buff": "kbbuffers", "cach": "kbcached"}
#: --disk-util, --disk-wait.
_OF_DISKS = {"util": "%util", "rawa": "r_await", "wawa": "w_await"}
_PER_S = {("system", "csw"): "cswch/s", ("procs", "new"): "proc/s"}
_LEVELS = {("procs", "run"): "runq-sz", ("procs", "blk"): "blocked"}

_KEPT = frozenset({"cpu", "memory", "paging", "procs", "system", "swap"})
#: What is printed where a figure could not be had.
_UNKNOWN = frozenset({"-", "missed"})

#: One column: its group ("dsk/sda") and its name ("read").
_Column = tuple[str, str]


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Both lines of titles, the second one alone, or the head of a CSV file."""
    line = lines[at]
    if line.startswith("You did not"):
        return Claim(0.9)
    if line.startswith('"'):
        return Claim(0.9, again=not re.match(r'"(?:Dstat|Dool|pcp-dstat) ', line))
    if re.search(rf"(?:^|[|:]|\s)(?:{_COLUMNS})\b", line):
        return Claim(0.8, again=True)
    below = lines[at + 1] if at + 1 < len(lines) else ""
    titled = _TITLE.match(line) is not None and re.search(rf"(?:{_COLUMNS})\b", below) is not None
    return Claim(0.9, again=True) if titled else None


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples, memory_samples, disk_samples; rates of disks alone into measurements."""
    parsed = Parsed(NAME, units="bytes a second, letters are powers of 1024; percent of all CPUs")
    rows: list[dict[_Column, str]] = []
    titles: list[str] = []
    above = ""
    columns: list[_Column] = []
    for at, line in enumerate(block.lines, block.first_line):
        if not line.strip() or line.startswith("You did not select any stats"):
            parsed.lines_understood += bool(line.strip())
            continue
        if line.lstrip().startswith('"') or (columns and "," in line and "|" not in line):
            cells = next(csv.reader([line.strip()]), [])
            if all(re.fullmatch(r"[a-z][\w/ ]*:[\w ]+", cell) for cell in cells):
                cells = [cell.rpartition(":")[2] for cell in cells]  # PCP's: "dsk/total:read"
            if _csv_head(parsed, cells):
                pass
            elif "usr" in cells or "read" in cells or "run" in cells or "1m" in cells:
                columns = _filled(titles, cells)
            elif columns and len(cells) >= len(columns):
                rows.append(dict(zip(columns, cells, strict=False)))
            elif not columns or not any(re.fullmatch(r"[\d.]+", cell) for cell in cells):
                titles = cells
            else:
                parsed.reject(at, line)
                continue
        elif _TITLE.match(line.strip()):
            titles = [found.strip("- ") for found in _TITLE.findall(line.strip())]
            above = line
        elif _NAMES.fullmatch(line):
            columns = _columns(_above(above, line) or titles, line)
        elif columns and (row := _row(columns, line)) is not None:
            rows.append(row)
        else:
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
    _emit(parsed, rows, block)
    return parsed


def _csv_head(parsed: Parsed, cells: Sequence[str]) -> bool:
    """The lines about the run, before the titles."""
    first = cells[0] if cells else ""
    if first == "Host:" and len(cells) > 1 and cells[1]:
        parsed.host.setdefault("name", cells[1])
    if first == "Cmdline:" and len(cells) > 1:
        interval = interval_of(cells[1].split())
        if interval is not None:
            parsed.host["_interval"] = interval
    return first.endswith(("CSV output", "CSV Output", "Author:", "Host:", "Cmdline:", "URL:"))


def _filled(titles: Sequence[str], names: Sequence[str]) -> list[_Column]:
    """A group's title is above its first column only."""
    group = ""
    columns = []
    for at, name in enumerate(names):
        title = titles[at] if at < len(titles) else ""
        group = title or group
        columns.append((_group(group, [name]), name))
    return columns


def _columns(titles: Sequence[str], line: str) -> list[_Column]:
    """The groups, one for each stretch between bars, with the names of their columns."""
    parts = [part.split() for part in re.split(r"[|:]", line)]
    parts = [part for part in parts if part]
    named = titles if len(titles) == len(parts) else [""] * len(parts)
    return [
        (_group(title, part), name)
        for title, part in zip(named, parts, strict=True)
        for name in (part if part[0] not in {"time", "date/time"} else ["time"])
    ]


def _above(titles: str, line: str) -> list[str]:
    """Each stretch's title, which is right above it; none where a paste lost the blanks.

    Titles of disks in one group touch: `--dsk/sda-----dsk/sdb--`, and their stretches are parted by colons.
    """
    spans = [found.span() for found in re.finditer(r"[^|:]+", line.rstrip())]
    spans = [(start, end) for start, end in spans if line[start:end].strip()]
    cut = any(re.match(r"\w\w", titles[max(0, start - 1) : start + 1]) for start, _ in spans)
    if cut or abs(len(titles.rstrip()) - len(line.rstrip())) > 2:
        return []
    return [titles[start:end].strip("- ") for start, end in spans]


def _group(title: str, names: Sequence[str]) -> str:
    """What a group is of; without a title, by names that no other group has."""
    for word, group in (("cpu", "cpu"), ("total usage", "cpu"), ("total-usage", "cpu"), ("memory", "memory"), ("paging", "paging"), ("procs", "procs"),
                        ("system", "system"), ("swap", "swap")):  # fmt: skip
        if word in title and not (group == "system" and "time" in names):
            return group
    if title:
        return title
    return {"usr": "cpu", "run": "procs", "int": "system", "in": "paging"}.get(
        names[0] if names else "", "?"
    )


def _row(columns: Sequence[_Column], line: str) -> dict[_Column, str] | None:
    """The cells by column; a date has its own blank, and two large numbers may touch."""
    whole = line
    timed = re.match(r"\s*(?:\d{1,4}[-/]\d\d(?:[-/]\d{2,4})?\s+)?(\d\d:\d\d:\d\d)\s*[|:]", line)
    if timed is not None:
        whole = line[timed.end() :]
    cells = [timed[1]] if timed is not None else []
    cells += re.sub(r"[|:]", " ", whole).split()
    if len(cells) < len(columns):
        return None
    # Columns that are not kept may hold names (--top-io); those that are hold amounts.
    if any(
        size(cell.removesuffix("%")) is None and cell not in _UNKNOWN
        for (group, name), cell in zip(columns, cells, strict=False)
        if (group in _KEPT or name in {"read", "writ"}) and name != "time"
    ):
        return None
    return dict(zip(columns, cells, strict=False))


def _emit(parsed: Parsed, rows: Sequence[Mapping[_Column, str]], block: Block) -> None:
    known = parsed.host.pop("_interval", None)
    interval = interval_of(block.command) or (known if isinstance(known, int) else None)
    if rows:
        parsed.note("the first row of dstat is an average since boot, and not taken for load")
    if len(rows) < 2:
        parsed.missing.append("vmstat 1 10; iostat -x 1 10")
    day = Day(None)
    times = [
        timed[0]
        for row in rows
        for (_, name), cell in row.items()
        if name == "time" and (timed := day.split(cell)) is not None
    ]
    interval = parsed.length_ns(interval, rows[1:], times if len(times) == len(rows) else ())
    for at, row in enumerate(rows[1:]):
        now = Collected(at * interval, (at + 1) * interval)
        _collect(now, row)
        now.emit(parsed, block.names)


def _collect(now: Collected, row: Mapping[_Column, str]) -> None:
    for (group, name), cell in row.items():
        value = size(cell.removesuffix("%"))
        if value is None:
            continue
        if group == "cpu" and name in _CPU:
            now.cpus.setdefault(-1, {})[_CPU[name]] = value
        elif group == "memory" and name in _MEMORY:
            now.machine[_MEMORY[name]] = value / KIB
        elif group == "paging":
            now.machine["pswpin/s" if name == "in" else "pswpout/s"] = value / _SWAP_PAGE
        elif (group, name) in _PER_S:
            now.machine[_PER_S[group, name]] = value
        elif (group, name) in _LEVELS:
            now.machine[_LEVELS[group, name]] = value
        elif group.startswith("dsk/") and name in {"read", "writ"}:
            _disk(now, group.removeprefix("dsk/"), name, "kB/s", value / KIB)
        elif group.startswith("io/") and name in {"read", "writ"}:
            _disk(now, group.removeprefix("io/"), name, "/s", value)
        elif name in _OF_DISKS:
            now.disks.setdefault(group, {})[_OF_DISKS[name]] = value


def _disk(now: Collected, disk: str, name: str, unit: str, value: float) -> None:
    letter = "r" if name == "read" else "w"
    if disk == "total":
        # What all disks move is what vmstat counts; how often is nobody's else.
        if unit == "kB/s":
            now.machine["pgpgin/s" if letter == "r" else "pgpgout/s"] = value
        return
    now.disks.setdefault(disk, {})[letter + unit] = value
