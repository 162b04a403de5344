"""busybox's top: one line of memory, one of CPUs, and processes with their state."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _states
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "busybox-top"
TOOL = "busybox top"
HINT = r"^Mem: \d+K used, \d+K free|^CPU:\s+[\d.]+% usr"
BEGINS = r"Mem:"

#: busybox's delay between screens (`-d`).
_DELAY_NS = 5 * NS_PER_S
_MEMORY = re.compile(r"Mem: (\d+)K used, (\d+)K free(?:, (\d+)K shrd, (\d+)K buff, (\d+)K cached)?")
_CPU = {"usr": "user", "sys": "system", "nic": "nice", "idle": "idle", "io": "iowait", "irq": "irq", "sirq": "soft"}  # fmt: skip
_ROW = re.compile(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\S+)\s+([A-Z][<NW+]*)\s+(\S+)\s+[\d.]+%?\s+(?:\d+\s+)?([\d.]+)%?\s+(\S.*)")  # fmt: skip


def read(block: Block) -> Parsed:
    """Into cpu_samples, memory_samples and measurements of processes; each screen is taken for five seconds."""
    parsed = Parsed(TOOL, units="KiB; percent of all CPUs")
    screens = 0
    sleepers: list[_states.Sleeper] = []
    for at, line in parsed.lines(block):
        if found := _MEMORY.match(line):
            used, free = int(found[1]) * KIB, int(found[2]) * KIB
            cached = {} if found[5] is None else {"cached_bytes": int(found[5]) * KIB}
            parsed.add("memory_samples", {"ts_ns": screens * _DELAY_NS, "total_bytes": used + free, "free_bytes": free, **cached})  # fmt: skip
        elif line.startswith("CPU:"):
            shares = {_CPU[name]: float(cell) for cell, name in re.findall(r"([\d.]{1,6})% (\w+)", line) if name in _CPU}  # fmt: skip
            if "idle" in shares:
                add_cpu(parsed, shares, screens * _DELAY_NS, _DELAY_NS)
            screens, sleepers = screens + 1, []
        elif found := _ROW.match(line):
            comm = found[7].split()[0].strip("[]{}").rsplit("/", 1)[-1]
            block.names.thread(int(found[1]), int(found[1]), comm)
            share = number(found[6])
            parsed.measure(f"{comm} ({found[1]})", "machine_cpu_share", None if share is None else share / 100)  # fmt: skip
            if found[4].startswith("D"):
                sleepers.append(_states.Sleeper(int(found[1]), comm))
        elif not line.startswith("Load average") and "PID" not in line:
            parsed.reject(at, line)
    _states.emit(parsed, sleepers)
    if screens:
        parsed.note("the interval of busybox top is not shown: 5 s is assumed")
    return parsed
