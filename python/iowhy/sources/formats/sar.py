"""Linux `sar` text (sysstat): -u, -q, -r, -B, -w, -W, -d, -b, PSI; live or from its daily files."""

from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.formats._sar import MEMORY, PRESSURE, VM_COUNTERS, VM_LEVELS, Collected
from iowhy.sources.numbers import NS_PER_S

NAME = "sar"
_HEAD = rf"(?:{_sysstat.TIME}|{_sysstat.AVERAGE})\s+(?:CPU\s+%us|proc/s|pswpin/s|pgpgin/s|tps\s+rtps|kbmemfree|runq-sz|DEV\s+tps|%s(?:cpu|io|mem)-10|kbswpfree|INTR\s)"
HINT = _sysstat.BANNER + "|^" + _HEAD
_KNOWN = (
    VM_COUNTERS.keys()
    | VM_LEVELS.keys()
    | MEMORY.keys()
    | PRESSURE.keys()
    | {"kbmemused", "%memused", "rtps", "wtps", "bread/s", "bwrtn/s"}
)


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner with one of sar's headers below it, or such a header alone."""
    head, banner = _sysstat.titles(lines, at)
    if not head or "Command" in head:
        return None
    if head[0] == "CPU" and len(head) > 1 and head[1] in {"%user", "%usr"}:
        # mpstat has the same beginning, with %irq before %steal.
        order = [name for name in head if name in {"%irq", "%steal"}]
        if order[:1] == ["%irq"]:
            return None
        return Claim(0.85, again=not banner)
    known = (
        head[0] in _KNOWN
        or head[0] in {"DEV", "INTR"}
        or head[:2] == ["tps", "rtps"]
        or head[0].startswith("%s")
    )
    return Claim(0.85, again=not banner) if known else None


def read(block: Block) -> Parsed:
    """All tables of one instant together."""
    parsed = Parsed(NAME, units="kB of 1024 bytes, sectors of 512 bytes, waits in ms")
    rows = _sysstat.rows(block, parsed)
    usual = _sysstat.length(rows, block.command) or NS_PER_S
    by_time: dict[int, Collected] = {}
    for row in rows:
        start = row.start_ns if row.start_ns is not None else row.end_ns - usual
        now = by_time.setdefault(row.end_ns, Collected(start, row.end_ns))
        values = row.numbers()
        if row.columns[0] == "CPU" and "%idle" in row.columns:
            cpu = _sysstat.cpu_of(row.cells[0])
            if cpu is not None:
                now.cpus[cpu] = {name.lstrip("%"): value for name, value in values.items()}
        elif row.columns[0] == "DEV":
            now.disks[row.cells[0]] = {n: v for n, v in values.items() if n != "DEV"}
        elif row.columns[-1] == "DEV":
            now.disks[row.cells[-1]] = {n: v for n, v in values.items() if n != "DEV"}
        else:
            now.machine.update({n: v for n, v in values.items() if n in _KNOWN})
    for _, one in sorted(by_time.items()):
        one.emit(parsed)
    if any(one.disks for one in by_time.values()):
        parsed.missing.append("iostat -x 1 10")
    return parsed
