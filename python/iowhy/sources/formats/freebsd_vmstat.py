"""FreeBSD `vmstat`, with its columns per disk; from FreeBSD 4 to today.

Manual: vmstat(8) of FreeBSD. `avm` and `fre` are units of 1024 bytes (or have a letter behind), `pi` and
`po` pages per second, a disk's column operations per second. It has no column for waiting for I/O: that
is idle time. The first line is the average since boot.
"""

from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _vmstat
from iowhy.sources.numbers import KIB, NS_PER_S, row, size

NAME = "freebsd-vmstat"
TOOL = "vmstat"
HINT = r"^\s*procs\s+memory\s+page\s|^\s*r\s+b\s+w\s+avm\s+fre\s"

PAGE = 4096
NEAR = (r"^\s*r\s+b\s+w\s+avm\s+fre\s.*\bus\s+sy\s+id\s*$", 2)


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples, memory_samples; a disk's operations into measurements."""
    parsed = Parsed(TOOL, units="memory in KiB, paging in pages of 4 KiB", host={"os": "FreeBSD"})
    columns: list[str] = []
    rows: list[dict[str, float]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] == "procs":
            pass
        elif words[:5] == ["r", "b", "w", "avm", "fre"] and words[-3:] == ["us", "sy", "id"]:
            columns = _vmstat.distinct(words)
        elif (found := _row(columns, words)) is not None:
            rows.append(found)
        else:
            parsed.reject(at, line)
    if len(rows) > 1:
        parsed.note("FreeBSD counts waiting for I/O as idle: iowait is unknown, not 0")
    for one, start, interval in parsed.load(rows, "line of vmstat", block, "vmstat -w 5 -c 10"):
        seconds = interval / NS_PER_S
        counters = {
            "context_switches": one.get("cs", 0.0) * seconds,
            "page_in_bytes": one.get("pi", 0.0) * PAGE * seconds,
            "page_out_bytes": one.get("po", 0.0) * PAGE * seconds,
        }
        _vmstat.emit(parsed, one, start, interval, counters, one["fre"])
        for disk in _disks(one):
            parsed.measure(disk, "operations_per_s", one[disk], start + interval)
    return parsed


def _row(columns: Sequence[str], words: Sequence[str]) -> dict[str, float] | None:
    found = row(columns, words, size)
    if found is not None:
        for name, word in zip(columns, words, strict=True):
            if name in {"avm", "fre"} and word[-1].isdigit():
                found[name] *= KIB
    return found


def _disks(row: _vmstat.Row) -> list[str]:
    names = list(row)
    if "sr" not in names or "in" not in names:
        return []
    return names[names.index("sr") + 1 : names.index("in")]
