"""`atop` as text: CPU, CPL, MEM, PAG, PSI, DSK and LVM lines of each screen, live or from a raw file (`atop -r`).

Manual: atop(1). CPU percentages are of one CPU and add up over all; of disks `busy` is the share of time with work,
`avio` the busy time for a request, `avq` the queue while busy. Counts are of the interval, or a second where they end
in /s. The first screen is since boot.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from iowhy.sources.clock import wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.numbers import KIB, MIB, NS_PER_S, size

NAME = "atop"
HINT = r"^ATOP - \S|^(?:CPU|DSK|LVM|MEM) \| +\S"

_HEAD = re.compile(
    r"ATOP - (\S+)\s+(\d{4}/\d\d/\d\d)\s+(\d\d:\d\d:\d\d)\s.*?(?:((?:\d+d)?(?:\d+h)?(?:\d+m)?(?:\d+s)?) elapsed)?\s*"
)
_CELL = re.compile(r"\s*([#\w/%]+)\s+(\S+?)(/s)?(?:\s+(\S+))?\s*")
_PROCESS = re.compile(r"\s*(\d{1,9})\s+(?:\S+\s+){2,14}?(\d{1,3})%\s+(\S.*?)\s*")
#: Lines that tell of something else.
_OTHERS = re.compile(r"(?:PRC|cpu|NET|SWP|MDD|NFM|NFC|NFS|NUM|NUC|GPU|IFB|LLC|CGR|\*\*\* )")
_CPU = {"sys": "system", "user": "user", "irq": "irq", "idle": "idle", "wait": "iowait", "steal": "steal"}  # fmt: skip
#: Screens since boot are of hours; no raw log has intervals of that length.
_LONG_NS = 3600 * NS_PER_S
#: Cell → column of sar. pgin and pgout are the kernel's pgpgin and pgpgout, KiB.
_COLUMNS = {
    "CPL": {"csw": "cswch/s"},
    "PAG": {"swin": "pswpin/s", "swout": "pswpout/s", "pgin": "pgpgin/s", "pgout": "pgpgout/s"},
    "PSI": {"cpusome": "%scpu", "iosome": "%sio", "iofull": "%fio", "memsome": "%smem", "memfull": "%fmem"},
    "MEM": {"free": "kbmemfree", "cache": "kbcached", "buff": "kbbuffers", "dirty": "kbdirty", "slab": "kbslab"},
}  # fmt: skip


class _Screen(Struct):
    end_ns: int | None = None
    elapsed_ns: int | None = None
    since_boot: bool = False
    lines: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)
    processes: list[tuple[int, float, str]] = field(default_factory=list)


NEAR = (r"^ATOP - |(?:\|.*){4}", 1)


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples, memory_samples, pressure_samples, disk_samples; processes into measurements."""
    parsed = Parsed(NAME, units="percent of one CPU, added up; MBr/s of 1024 * 1024 bytes")
    screens: list[_Screen] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if head := _HEAD.fullmatch(text):
            screens.append(_head(parsed, head))
        elif "|" in text and re.match(r"(?:CPU|CPL|MEM|PAG|PSI|DSK|LVM) ", text):
            if not screens or _again(screens[-1], text):
                screens.append(_Screen())
            screens[-1].lines.append(_cells(text))
        elif "since Boot" in text and screens:
            screens[-1].since_boot = True
        elif screens and (found := _PROCESS.fullmatch(line)):
            screens[-1].processes.append((int(found[1]), float(found[2]), found[3].split()[0]))
        elif not _OTHERS.match(text) and not re.match(r"\s*PID\s", line):
            parsed.reject(at, line)
    _emit(parsed, screens, block)
    return parsed


def _head(parsed: Parsed, head: re.Match[str]) -> _Screen:
    parsed.host.setdefault("name", head[1])
    parsed.host.setdefault("os", "Linux")
    units = {"d": 86_400, "h": 3600, "m": 60, "s": 1}
    parts = re.findall(r"(\d+)([dhms])", head[4] or "")
    elapsed = sum(int(number[:9]) * units[unit] for number, unit in parts) * NS_PER_S
    when = wall_ns(f"{head[2].replace('/', '-')} {head[3]}")
    return _Screen(when, elapsed or None)


def _again(screen: _Screen, text: str) -> bool:
    """Whether a line without a head begins another screen: grep took the lines out."""
    kind, subject, _ = _cells(text)
    if screen.end_ns is not None:
        return False
    return any(one[:2] == (kind, subject) for one in screen.lines)


def _cells(text: str) -> tuple[str, str, dict[str, str]]:
    """What a line is of, the device's name, and its cells; a rate keeps its /s."""
    parts = [part.strip() for part in text.split("|")]
    kind = parts[0].split()[0]
    named = kind in {"DSK", "LVM"}
    subject = parts[1] if named and len(parts) > 1 else ""
    cells = {}
    for part in parts[2 if named else 1 :]:
        found = _CELL.fullmatch(part)
        if found is not None:
            cells[found[1]] = f"{found[2]}{found[3] or ''} {found[4] or ''}".strip()
    return kind, subject, cells


def _emit(parsed: Parsed, screens: Sequence[_Screen], block: Block) -> None:
    if screens and not screens[0].since_boot:
        first = screens[0]
        first.since_boot = (first.elapsed_ns or 0) >= _LONG_NS
    load = [screen for screen in screens if not screen.since_boot]
    if len(load) < len(screens):
        parsed.note("the first screen of atop is an average since boot, and not taken for load")
    if not load:
        parsed.missing.append("atop 5 5")
        return
    if all(screen.elapsed_ns is None for screen in load):
        parsed.note("the interval of atop is not shown: 10 s is assumed")
    if all(screen.end_ns is not None for screen in load):
        parsed.clock = "wall"
    dated = parsed.clock == "wall"
    end = 0
    for screen in load:
        length = screen.elapsed_ns or 10 * NS_PER_S
        end = screen.end_ns if dated and screen.end_ns is not None else end + length
        now = Collected(end - length, end)
        for kind, subject, cells in screen.lines:
            _line(parsed, now, kind, subject, cells, length / NS_PER_S)
        now.emit(parsed, block.names)
        for pid, share, comm in screen.processes:
            block.names.thread(pid, pid, comm)
            if share:
                parsed.measure(f"{comm} ({pid})", "cpu_share", share / 100, end)


def _line(
    parsed: Parsed,
    now: Collected,
    kind: str,
    subject: str,
    cells: Mapping[str, str],
    seconds: float,
) -> None:
    """One line of a screen, as columns of sar and iostat."""
    if kind == "CPU":
        _cpus(parsed, now, cells)
    elif kind == "DSK" and subject:
        now.disks[subject] = _disk(cells, seconds)
    elif kind == "MEM" and (total := size(cells.get("tot", ""))):
        parsed.host["memory_bytes"] = round(total)
    for cell, column in _COLUMNS.get(kind, {}).items():
        text = cells.get(cell, "")
        if kind == "PSI":
            value = size(text.removesuffix("%"))
        elif kind == "MEM":
            amount = size(text)
            value = None if amount is None else amount / KIB
        else:
            value = _rate(text, seconds)
        if value is not None:
            now.machine[column] = value


def _cpus(parsed: Parsed, now: Collected, cells: Mapping[str, str]) -> None:
    """The CPUs' shares, which add up to 100 for each of them."""
    shares = {
        _CPU[name]: value
        for name, cell in cells.items()
        if name in _CPU and (value := size(cell.removesuffix("%"))) is not None
    }
    cpus = max(1, round(sum(shares.values()) / 100))
    if {"system", "user", "idle"} <= shares.keys():
        now.cpus[-1] = {name: share / cpus for name, share in shares.items()}
        parsed.host["cpus"] = cpus


def _disk(cells: Mapping[str, str], seconds: float) -> dict[str, float]:
    """A disk's cells as columns of iostat; bytes only where the screen was wide enough for them."""
    row: dict[str, float] = {}
    reads, writes = _rate(cells.get("read"), seconds), _rate(cells.get("write"), seconds)
    busy = size(cells.get("busy", "").removesuffix("%"))
    queue = size(cells.get("avq", ""))
    if busy is not None:
        row["%util"] = busy
        if queue is not None:
            row["aqu-sz"] = queue * min(busy, 100.0) / 100
    if reads is None or writes is None:
        return row
    row["tps"] = reads + writes
    read = _bytes(cells, "MBr/s", "KiB/r", reads)
    written = _bytes(cells, "MBw/s", "KiB/w", writes)
    if read is not None and written is not None:
        row |= {"r/s": reads, "w/s": writes, "rkB/s": read / KIB, "wkB/s": written / KIB}
    return row


def _bytes(cells: Mapping[str, str], rate: str, each: str, requests: float) -> float | None:
    """Bytes a second: rates are printed with one decimal, means are whole."""
    mean, shown = size(cells.get(each, "")), size(cells.get(rate, ""))
    if shown:
        return shown * MIB
    if mean is not None:
        return mean * KIB * requests
    return None if shown is None else 0.0


def _rate(cell: str | None, seconds: float) -> float | None:
    """A count as a rate: `94485e3` is of the interval, `23K/s` a second's."""
    if not cell:
        return None
    word = cell.split()[0] if cell else ""
    if re.fullmatch(r"\d{1,9}e\d{1,2}", word):
        return float(word) / seconds
    value = size(word.removesuffix("/s"), base=1000)
    return None if value is None else value if word.endswith("/s") else value / seconds
