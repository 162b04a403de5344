"""`collectl` and `pmcollectl`: brief lines (-s cdm), and the records of --verbose, -sC and -sD.

Manual: collectl(1). cpu is busy without waiting; KBRead and KBWrit are KiB a second over all disks; Util is percent.
Nothing of it is since boot.
"""

import re
from collections.abc import Mapping, Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._sar import Collected
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import KIB, NS_PER_S, number, size

NAME = "collectl"
HINT = (
    r"^#\s*<-+CPU|^waiting for \d+ second sample|^#\s*(?:Date\s+)?(?:Time\s+)?cpu sys inter|^### RECORD|^#<-+(?:CPU|Disks)"
    r"|^# (?:SINGLE )?(?:DISK|CPU)(?:\[\w+\])? (?:STATISTICS|SUMMARY)"
)
BEGINS = "waiting"

_RECORD = re.compile(r"### RECORD\s+\d+ >>> (\S+) <<< \((1\d{9})(\.\d{1,9})?\)")
# `SINGLE CPU[HYPER] STATISTICS`: with hyperthreading.
_SECTION = re.compile(r"# ([A-Z][A-Z /]+?(?:\[HYPER\][A-Z ]+?)?)(?:\s\(.*\))?\s*")
_BRIEF_MEMORY = {"Free": "kbmemfree", "Buff": "kbbuffers", "Cach": "kbcached", "Slab": "kbslab"}
_STATES = {"User": "user", "Nice": "nice", "Sys": "system", "Wait": "iowait", "IRQ": "irq", "Irq": "irq", "Soft": "soft",
           "Steal": "steal", "Idle": "idle"}  # fmt: skip
# fmt: off
#: Columns of one disk in order: reads, writes, averages (versions 3 and 4; the latter has waits for each direction).
_DISK_OLD = ("Name", "rkB/s", "rrqm/s", "r/s", "", "wkB/s", "wrqm/s", "w/s", "", "", "", "await", "", "%util")
_DISK = ("Name", "rkB/s", "rrqm/s", "r/s", "", "r_await", "wkB/s", "wrqm/s", "w/s", "", "w_await", "", "", "", "", "%util")
# fmt: on


def read(block: Block) -> Parsed:
    """Into cpu_samples, vm_samples, memory_samples and disk_samples."""
    parsed = Parsed(NAME, units="KB are 1024 bytes; percent of all CPUs", host={"os": "Linux"})
    reader = _Reader(parsed, interval_of(block.command))
    for at, line in parsed.lines(block):
        if not reader.line(line.strip()):
            parsed.reject(at, line)
    reader.emit(block)
    return parsed


class _Reader:
    """Rows by instant: a brief line each, or all sections of a record."""

    def __init__(self, parsed: Parsed, interval: int | None) -> None:
        self._parsed = parsed
        self._interval = interval
        self._day = Day(None)
        self._columns: list[str] = []
        self._section = ""
        self._rows: list[tuple[int | None, Collected]] = []

    def line(self, text: str) -> bool:
        """Whether it is understood."""
        if record := _RECORD.match(text):
            self._parsed.host["name"] = record[1]
            self._new(round(float(record[2] + (record[3] or "")) * 1e9))
            self._parsed.clock = "wall"
            return True
        if section := _SECTION.fullmatch(text):
            self._section = section[1]
            return True
        if text.startswith("#"):
            return self._titles(text)
        if waits := re.match(r"waiting for (\d{1,6}) second sample", text):
            self._interval = self._interval or int(waits[1]) * NS_PER_S or None
            return True
        if self._section:
            return self._row_of_section(text.split())
        return self._brief(text)

    def _new(self, when: int | None) -> Collected:
        self._rows.append((when, Collected(0, 0)))
        return self._rows[-1][1]

    def _titles(self, text: str) -> bool:
        if text.startswith("###"):
            return False  # of a record, damaged
        words = text.lstrip("#").split()
        if words and not words[0].startswith("<"):
            self._columns = words
            if "sys" in words or "KBRead" in words:
                # The columns of brief lines; a section's have other words.
                self._section = self._section if self._section == "DISK SUMMARY" else ""
        return True

    def _brief(self, text: str) -> bool:
        timed = self._day.split(re.sub(r"^\d{8}\s+", "", text))
        rest = text if timed is None else timed[1]
        columns = self._named()
        cells = rest.split()
        if not columns or len(cells) < len(columns) or any(size(cell) is None for cell in cells):
            return False
        row = dict(zip(columns, cells, strict=False))
        now = self._new(None if timed is None else timed[0])
        _machine(now, row)
        busy, system = _get(row, "cpu"), _get(row, "sys")
        if busy is not None and system is not None and busy >= system:
            # Waiting is not printed: it is in none of the columns.
            now.cpus[-1] = {"user": busy - system, "system": system, "idle": max(0.0, 100 - busy)}
        for name, column in _BRIEF_MEMORY.items():
            if (amount := size(row.get(name, ""))) is not None:
                now.machine[column] = amount / KIB
        return True

    def _row_of_section(self, cells: Sequence[str]) -> bool:
        if cells and ":" in cells[0] and (timed := self._day.split(" ".join(cells))) is not None:
            # -oT puts the time before each row.
            if not self._rows or self._rows[-1][0] != timed[0]:
                self._new(timed[0])
            cells = timed[1].split()
        if not self._rows:
            self._new(None)
        now = self._rows[-1][1]
        if self._section.endswith("DISK STATISTICS"):
            names = _DISK if len(cells) >= len(_DISK) else _DISK_OLD
            if len(cells) < len(names):
                return False
            values = {name: number(cell) for name, cell in zip(names, cells, strict=False) if name}
            if any(value is None for name, value in values.items() if name != "Name"):
                return False
            now.disks[cells[0]] = {name: v for name, v in values.items() if v is not None}
            _waits(now.disks[cells[0]])
        elif "CPU" in self._section:
            if not self._is_whole(cells):
                return False
            row = dict(zip(self._named(), cells, strict=True))
            shares = {
                _STATES[k]: v for k in row if k in _STATES and (v := _get(row, k)) is not None
            }
            label = row.get("Cpu", row.get("CPU", "all"))
            if "idle" not in shares:
                return False
            if self._section == "CPU SUMMARY":
                now.cpus[-1] = shares
                if (cpus := _get(row, "CPUs")) is not None:
                    self._parsed.host["cpus"] = int(cpus)
            elif label.isdigit():
                now.cpus[int(label[:6])] = shares
        elif self._section == "DISK SUMMARY":
            if not self._is_whole(cells):
                return False
            _machine(now, dict(zip(self._named(), cells, strict=True)))
        else:
            return any(size(cell) is not None for cell in cells[:2])
        return True

    def _named(self) -> list[str]:
        """The columns behind a date and time."""
        return [name for name in self._columns if name not in {"Time", "Date"}]

    def _is_whole(self, cells: Sequence[str]) -> bool:
        """Whether there is an amount under each title."""
        return len(cells) == len(self._named()) and all(size(cell) is not None for cell in cells)

    def emit(self, block: Block) -> None:
        """All instants, each with the interval before it."""
        parsed, rows = self._parsed, self._rows
        times = [when for when, _ in rows if when is not None]
        all_timed = len(times) == len(rows)
        interval = parsed.length_ns(self._interval, rows, times if all_timed else ())
        dated = parsed.clock == "wall" and all_timed
        parsed.clock = "wall" if dated else "own"
        for at, (when, now) in enumerate(rows):
            end = when if dated and when is not None else (at + 1) * interval
            now.start_ns, now.end_ns = end - interval, end
            if now.cpus and -1 not in now.cpus:  # only single CPUs are listed
                names = dict.fromkeys(name for one in now.cpus.values() for name in one)
                now.cpus[-1] = {
                    name: sum(one.get(name, 0.0) for one in now.cpus.values()) / len(now.cpus)
                    for name in names
                }
            now.emit(parsed, block.names)
        if any(now.cpus.get(-1) and "iowait" not in now.cpus[-1] for _, now in rows):
            parsed.note(
                "collectl's brief lines count waiting for I/O as idle: iowait is unknown, not 0"
            )
            parsed.missing.append("collectl -scD --verbose")


def _machine(now: Collected, row: Mapping[str, str]) -> None:
    """What all disks move, and switches; not how often each disk is asked."""
    for name, column in (("KBRead", "pgpgin/s"), ("KBWrit", "pgpgout/s"), ("KBWrite", "pgpgout/s"),
                         ("ctxsw", "cswch/s"), ("Ctxsw", "cswch/s")):  # fmt: skip
        # Letters are powers of 1000 there, of what is counted in KiB too.
        value = size(row.get(name, ""), base=1000)
        if value is not None:
            now.machine[column] = value
    for name, column in (("RunT", "runq-sz"), ("BlkT", "blocked")):
        if (level := _get(row, name)) is not None:
            now.machine[column] = level


def _waits(row: dict[str, float]) -> None:
    """The mean queue, by Little's law: requests a second times what each takes."""
    if "r_await" in row and "w_await" in row and "r/s" in row and "w/s" in row:
        row["aqu-sz"] = (row["r/s"] * row["r_await"] + row["w/s"] * row["w_await"]) / 1000


def _get(row: Mapping[str, str], name: str) -> float | None:
    return number(row.get(name, ""))
