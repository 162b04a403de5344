"""`sadf -d` (semicolons, a title for each table) and `sadf -p` (tabs, one number a line): sar's daily files.

Manual: sadf(1). The columns are those of sar; -1 is all CPUs. A restart has the interval -1.
"""

import re
from collections.abc import Sequence

from iowhy.sources.clock import wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.numbers import NS_PER_S, number

NAME = "sadf-text"
TOOL = "sadf"
HINT = r"^# ?hostname;interval;timestamp;|^\S+\t\d+\t\d\S+(?: \S+)*\t\S+\t\S+\t"

_RESTART = re.compile(r".*LINUX-RESTART.*\((\d{1,6}) CPU\)")
SURE = 0.95
NEAR = (r";.*;.*;|(?:\t.*){4}", 1)


def read(block: Block) -> Parsed:
    """As `sar`, into the same tables; all of one instant together."""
    parsed = Parsed(TOOL, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms", clock="wall")
    instants: dict[int, Collected] = {}
    columns: list[str] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if restart := _RESTART.fullmatch(text):
            parsed.host.setdefault("cpus", int(restart[1]))
        elif text.startswith("#"):
            columns = text.lstrip("# ").split(";")
        elif not _row(parsed, instants, columns, text):
            parsed.reject(at, line)
    for _, one in sorted(instants.items()):
        one.emit(parsed)
    if any(one.disks for one in instants.values()):
        parsed.missing.append("iostat -x 1 10")
    return parsed


def _row(parsed: Parsed, instants: dict[int, Collected], columns: Sequence[str], text: str) -> bool:
    cells = text.split("\t") if "\t" in text else text.split(";")
    if len(cells) < 4:
        return False
    end = wall_ns(cells[2].removesuffix(" UTC")) if not cells[2].isdigit() else _epoch(cells[2])
    seconds = number(cells[1])
    if end is None or not seconds or seconds < 0:
        return False
    now = instants.get(end) or Collected(end - round(seconds * NS_PER_S), end)
    if "\t" in text:
        known = len(cells) == 6 and _value(now, cells[3], cells[4], cells[5])
    else:
        known = len(cells) == len(columns) and _cells(now, columns[3:], cells[3:])
    if known:
        parsed.host.setdefault("name", cells[0])
        instants[end] = now
    return known


def _epoch(text: str) -> int | None:
    seconds = int(text[:12])
    return seconds * NS_PER_S if 10**8 < seconds < 10**10 else None


def _cells(now: Collected, columns: Sequence[str], cells: Sequence[str]) -> bool:
    """One row of -d; a column whose title is a thing's kind (CPU, DEV) names the thing."""
    of = "-"
    known = False
    for name, cell in zip(columns, cells, strict=True):
        if name in {"CPU", "DEV", "IFACE", "TTY", "INTR", "MOUNTPOINT", "FILESYSTEM", "BUS"}:
            of = f"cpu{cell}" if name == "CPU" else cell
        else:
            known |= _value(now, of, name, cell)
    return known


def _value(now: Collected, of: str, column: str, cell: str) -> bool:
    """Note one number of one thing: "-" is the machine, "all" and "cpu-1" all CPUs."""
    value = number(cell)
    if value is None:
        return False
    cpu = re.fullmatch(r"all|cpu(-1|all|\d{1,6})", of)
    if cpu and column.startswith("%"):
        number_of = -1 if cpu[1] in (None, "-1", "all") else int(cpu[1])
        now.cpus.setdefault(number_of, {})[column.lstrip("%")] = value
    elif of == "-":
        now.machine[column] = value
    else:
        now.disks.setdefault(of, {})[column] = value
    return True
