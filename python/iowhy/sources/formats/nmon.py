"""nmon's files (`nmon -f`), of Linux and AIX: CPU_ALL, CPUnnn, MEM, PROC, VM, PAGE and the DISK sections.

Each line begins with its section; the first of a section has the columns' names, the others a snapshot's number (T0001),
to which ZZZZ gives time and date. Percentages are of all CPUs. The first snapshot is an interval like all others.
"""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from msgspec import Struct, field

from iowhy.sources.clock import wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "nmon"
COMMAS_PART = True
HINT = r"^AAA,\w+,|^ZZZZ,T\d{4,6},\d\d:\d\d:\d\d|^(?:CPU_ALL|DISKBUSY\d?),\w"
SURE = 0.95

_SNAPSHOT = re.compile(r"T\d{4,9}")
_LINE = re.compile(r"[A-Z][A-Z0-9_]{1,24}(?:\d{2,4})?,.*")
_STATES = {"User%": "user", "Sys%": "system", "Wait%": "iowait", "Idle%": "idle", "Steal%": "steal"}
_MEMORY = {
    "memfree": "kbmemfree",
    "cached": "kbcached",
    "buffers": "kbbuffers",
    "swapfree": "kbswpfree",
}
_VM = {
    "pgpgin": "pgpgin/s",
    "pgpgout": "pgpgout/s",
    "pswpin": "pswpin/s",
    "pswpout": "pswpout/s",
    "pgmajfault": "majflt/s",
}
#: AIX' paging: pages to and from the paging space.
_PAGE = {"pgsin": "pswpin/s", "pgsout": "pswpout/s"}
_DISKS = {
    "DISKBUSY": "%util",
    "DISKREAD": "rkB/s",
    "DISKWRITE": "wkB/s",
    "DISKXFER": "tps",
    "DISKREADSERV": "",
    "DISKAVGRIO": "",
}


class _File(Struct):
    titles: dict[str, list[str]] = field(default_factory=dict)
    times: dict[str, int] = field(default_factory=dict)
    rows: dict[str, list[tuple[str, list[str]]]] = field(default_factory=dict)
    interval_ns: int | None = None
    dated: bool = False


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples, memory_samples; disks, whose reads and writes are not apart, into measurements."""
    parsed = Parsed(NAME, units="KB are 1024 bytes, memory in MiB, percent of all CPUs")
    file = _File()
    for at, line in parsed.lines(block):
        if _LINE.fullmatch(line.strip()) is None:
            parsed.reject(at, line)
            continue
        section, *cells = line.strip().split(",")
        if section == "AAA":
            _about(parsed, file, cells)
        elif section == "ZZZZ":
            _stamp(file, cells)
        elif cells and _SNAPSHOT.fullmatch(cells[0]):
            if _is_whole(cells[1:], file.titles.get(section)) and (
                len(cells) > 4 or not section.startswith("CPU")
            ):
                file.rows.setdefault(cells[0], []).append((section, cells[1:]))
            else:
                parsed.reject(at, line)
        elif (
            cells
            and not section.startswith("BBB")
            and file.titles.setdefault(section, cells[1:]) != cells[1:]
        ):
            parsed.reject(at, line)
    _emit(parsed, file)
    return parsed


def _is_whole(cells: Sequence[str], titles: Sequence[str] | None) -> bool:
    """Whether a row has a number or nothing under each title; only without titles (yet) may it have any number of cells."""
    if titles is not None and len(",".join(cells).rstrip(",").split(",")) > len(titles):
        return False
    whole = titles is None or len(cells) >= len(",".join(titles).rstrip(",").split(","))
    return whole and all(not cell.strip() or number(cell) is not None for cell in cells)


def _about(parsed: Parsed, file: _File, cells: Sequence[str]) -> None:
    """The machine, the interval."""
    name, value = (cells[0], cells[1]) if len(cells) > 1 else ("", "")
    if name == "host" and value:
        parsed.host["name"] = value
    elif name == "version":
        parsed.version = value
    elif name == "cpus" and value.isdigit():
        # AIX prints the CPUs that there are and those in use.
        parsed.host["cpus"] = int(
            (cells[2] if len(cells) > 2 and cells[2].isdigit() else value)[:9]
        )
    elif name == "OS" or name == "AIX":
        parsed.host["os"] = "AIX" if name == "AIX" else "Linux"
        if name == "OS" and len(cells) > 2:
            parsed.host["kernel"] = cells[2]
    elif name == "interval" and (seconds := number(value)):
        file.interval_ns = round(seconds * NS_PER_S)


def _stamp(file: _File, cells: Sequence[str]) -> None:
    """ZZZZ,T0001,11:30:44,22-NOV-2026."""
    if len(cells) < 2:
        return
    when = None
    if len(cells) > 2:
        try:
            day = datetime.strptime(cells[2].title(), "%d-%b-%Y").date()
            when = wall_ns(f"{day.isoformat()} {cells[1]}")
        except ValueError:
            when = None
    if when is not None:
        file.times[cells[0]] = when


def _emit(parsed: Parsed, file: _File) -> None:
    times = sorted(file.times.values())
    interval = file.interval_ns
    if len(times) > 1:
        interval = round((times[-1] - times[0]) / (len(times) - 1)) or interval
    if interval is None:
        interval = 10 * NS_PER_S
        parsed.note("the interval of nmon is not shown: 10 s is assumed") if file.rows else None
    dated = bool(file.rows) and file.rows.keys() <= file.times.keys()
    parsed.clock = "wall" if dated else "own"
    for at, (name, rows) in enumerate(sorted(file.rows.items())):
        end = file.times[name] if dated else (at + 1) * interval
        now = Collected(end - interval, end)
        for section, cells in rows:
            _section(parsed, now, file, section, cells, interval / NS_PER_S)
        now.emit(parsed)


def _section(
    parsed: Parsed, now: Collected, file: _File, section: str, cells: Sequence[str], seconds: float
) -> None:
    titles = file.titles.get(section, [])
    # Linux prints -1 for what it cannot tell.
    row = {
        title.strip(): value
        for title, cell in zip(titles, cells, strict=False)
        if (value := number(cell)) is not None and value >= 0
    }
    if section.startswith("CPU"):
        _cpu(parsed, now, section, row, cells)
    elif section == "MEM":
        _columns(now, row, _MEMORY, KIB)
        if total := row.get("memtotal", row.get("Real total(MB)")):
            parsed.host["memory_bytes"] = round(total * KIB * KIB)
    elif section == "PROC":
        _columns(
            now,
            row,
            {"Runnable": "runq-sz", "Blocked": "blocked", "pswitch": "cswch/s", "fork": "proc/s"},
            1,
        )
    elif section == "VM":
        # Since the snapshot before, not a second's.
        _columns(now, row, _VM, 1 / seconds)
    elif section == "PAGE":
        _columns(now, row, _PAGE, 1)
    elif (column := _DISKS.get(section.rstrip("123456789"))) is not None and column:
        for disk, value in row.items():
            now.disks.setdefault(disk, {})[column] = value


def _columns(
    now: Collected, row: Mapping[str, float], names: Mapping[str, str], unit: float
) -> None:
    for name, column in names.items():
        if name in row:
            now.machine[column] = row[name] * unit


def _cpu(
    parsed: Parsed, now: Collected, section: str, row: Mapping[str, float], cells: Sequence[str]
) -> None:
    """Of all CPUs, or of one; they count from 1."""
    shares = {_STATES[name]: value for name, value in row.items() if name in _STATES}
    if not shares and len(cells) >= 4:  # a paste without the titles
        values = [number(cell) for cell in cells[:4]]
        if all(value is not None for value in values):
            names = ("user", "system", "iowait", "idle")
            shares = {n: v for n, v in zip(names, values, strict=True) if v is not None}
    if not {"user", "system", "idle"} <= shares.keys():
        return
    if section == "CPU_ALL":
        now.cpus[-1] = shares
        if cpus := row.get("CPUs", row.get("PhysicalCPUs")):
            parsed.host.setdefault("cpus", int(cpus))
    elif section[3:].isdigit() and int(section[3:]) > 0:
        now.cpus[int(section[3:]) - 1] = shares
