"""BSD `systat -vmstat`: its CPU line, processes, and disks, which are in the lower left of the screen.

Manual: systat(1). One screen covers the 5 s before it unless another interval was given. MB/s are of 1024 * 1024 bytes, of
reads and writes together. `d` are processes that wait for a disk, `p` for a page.
"""

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.numbers import KIB, MIB, NS_PER_S, number

NAME = "systat"
HINT = r"^\s*\d{1,4} users?\s+Load\s+\d|^\s*Mem usage:|^\s+/0\s+/1\s+/2\s+/3\s+/4\s+/5|^\s*\d[\d.]*%Sys\s|^Proc:\s|^(?:Proc:)?\s*r\s+p\s+d\s+s\s+w\s"
NEAR = (r"%Sys", 12)

DELAY_NS = 5 * NS_PER_S
#: The screen's left part; interrupts and pages stand beside it.
_LEFT = 48
_CPU = re.compile(
    r"\s*([\d.]+)%Sys\s+([\d.]+)%Intr?\s+([\d.]+)%User\s+([\d.]+)%Nice\s+([\d.]+)%Idl?e?.*"
)
_PROCESSES = re.compile(r"(?:Proc:)?\s*r\s+p\s+d\s+s\s+w\b.*")
_ROW = re.compile(
    r"(KB/t|tps|MB/s|%busy|xfers|seeks|blks|msps)\s+((?:\d[\d.]*\s+)*\d[\d.]*)(?:\s.*)?"
)
#: Words of the parts of the screen that are not read.
_SCREEN = re.compile(
    r"Mem|VN PAGER|\b(?:Tot|Act|All|count|pages|Interrupts|Namei|Calls|hits|total|irq\d*|cpu\d+|react|ioflt|[a-z]*(?:zfod|cow|fr|pdwak|pdpgs|"
    r"intrn|wire|act|inact|cache|free|buf|vn|laund)\w*)\b|^\s*[|=>+.XU-]|^\s*\d+\s+\d+\s+\d+\s|^(?:seeks|blks|msps)\b"
)

#: What is read of it: a line with one of these was damaged, if it is none of the known ones.
_READ = re.compile(r"%(?:Sys|Intr?|User|Nice|Idl)|^\s*Dis[ck]s")


def read(block: Block) -> Parsed:
    """Into cpu_samples and vm_samples; disks into measurements."""
    parsed = Parsed(NAME, units="percent of all CPUs; KB and MB of 1024 and 1024 * 1024 bytes")
    parsed.host["os"] = "FreeBSD"
    interval = interval_of(block.command) or DELAY_NS
    screens: list[Collected] = []
    disks: list[str] = []
    titles = ""
    for at, line in parsed.lines(block):
        now = screens[-1] if screens else None
        if cpu := _CPU.fullmatch(line):
            values = [number(cell) for cell in cpu.groups()]
            names = ("system", "irq", "user", "nice", "idle")
            shares = {n: v for n, v in zip(names, values, strict=True) if v is not None}
            if now is None or now.cpus:
                now = _new(screens, interval)
            now.cpus[-1] = shares
        elif re.match(r"\s*\d{1,4} users?\s+Load", line):
            _new(screens, interval)
        elif _PROCESSES.match(line.strip()):
            titles = line
        elif titles and re.match(r"[\s\d]+(?:\s|$)", line[:_LEFT]):
            if now is None or "runq-sz" in now.machine:
                now = _new(screens, interval)  # of a screen whose first line is cut off
            _processes(now, titles, line)
            titles = ""
        elif found := re.match(r"\s*Dis[ck]s((?: +[a-z]+\d+)+)", line[:_LEFT]):
            disks = found[1].split()
        elif (
            disks
            and now is not None
            and (row := _ROW.match(line[:_LEFT].strip())) is not None
            and len(row[2].split()) >= len(disks)
        ):
            _disks(now, disks, row[1], row[2].split())
        elif (
            (disks and re.match(r"\s*(?:KB/t|tps|MB/s|%busy)\s", line))
            or (now is None and not line.startswith("Proc:"))
            or titles
            or _READ.search(line[:_LEFT])
            or not _SCREEN.search(line)
        ):
            parsed.reject(at, line)
    _emit(parsed, screens)
    return parsed


def _new(screens: list[Collected], interval: int) -> Collected:
    start = len(screens) * interval
    screens.append(Collected(start, start + interval))
    return screens[-1]


def _processes(now: Collected, titles: str, line: str) -> None:
    """Numbers are right under their titles' ends; none is printed for 0."""
    at_end = {found.end(): int(found[0][:9]) for found in re.finditer(r"\d+", line)}
    ends = {found[0]: found.end() for found in re.finditer(r"\b[rpdsw]\b", titles)}
    if not {"r", "p", "d"} <= ends.keys():
        return
    now.machine["runq-sz"] = at_end.get(ends["r"], 0)
    now.machine["blocked"] = at_end.get(ends["d"], 0) + at_end.get(ends["p"], 0)


def _disks(now: Collected, disks: Sequence[str], name: str, cells: Sequence[str]) -> None:
    for disk, cell in zip(disks, cells, strict=False):
        if (value := number(cell)) is not None:
            now.disks.setdefault(disk, {})[name] = value


def _emit(parsed: Parsed, screens: Sequence[Collected]) -> None:
    for now in screens:
        disks, now.disks = now.disks, {}
        now.emit(parsed)
        for disk, row in disks.items():
            parsed.measure(disk, "operations_per_s", row.get("tps", row.get("xfers")), now.end_ns)
            for metric, name, unit in (
                ("moved_bytes_per_s", "MB/s", MIB),
                ("mean_bytes", "KB/t", KIB),
                ("busy_share", "%busy", 0.01),
            ):
                if name in row:
                    parsed.measure(disk, metric, row[name] * unit, now.end_ns)
    if screens:
        parsed.note("a screen of systat is taken for the 5 s before it, its usual interval")
        parsed.note("FreeBSD counts waiting for I/O as idle: iowait is unknown, not 0")
        parsed.missing.append("iostat -x -w 1 -c 10")
        parsed.partial = "one screen of systat" if len(screens) == 1 else None
