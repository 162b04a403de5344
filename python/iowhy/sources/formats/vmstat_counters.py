"""`vmstat -s`: memory now, and counters since boot, one a line; two copies make an interval.

Manual: vmstat(8). K are 1024 bytes, ticks 10 ms. Versions before 4 say "pages paged in", and count KiB all the same.
"""

import re

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats.proc_stat import TICK_NS
from iowhy.sources.numbers import KIB

NAME = "vmstat-s"
TOOL = "vmstat -s"
HINT = r"^\s*\d+ K total memory"
NEAR = (r"used memory", 2)

_LINE = re.compile(r"\s*(\d{1,18})\s+(?:(K)\s+)?([A-Za-z][\w -]{2,40}?)\s*")
_MEMORY = {
    "total memory": "total_bytes",
    "free memory": "free_bytes",
    "buffer memory": "buffers_bytes",
    "swap cache": "cached_bytes",
    "total swap": "swap_total_bytes",
    "free swap": "swap_free_bytes",
}
#: Line → counter of cpu_samples; several may be one.
_CPU = {
    "non-nice user cpu ticks": "user_ns",
    "nice user cpu ticks": "user_ns",
    "system cpu ticks": "system_ns",
    "idle cpu ticks": "idle_ns",
    "IO-wait cpu ticks": "iowait_ns",
    "IRQ cpu ticks": "irq_ns",
    "softirq cpu ticks": "irq_ns",
    "stolen cpu ticks": "steal_ns",
}
_VM = {
    "paged in": ("page_in_bytes", KIB),
    "paged out": ("page_out_bytes", KIB),
    "pages paged in": ("page_in_bytes", KIB),
    "pages paged out": ("page_out_bytes", KIB),
    "pages swapped in": ("swap_in_pages", 1),
    "pages swapped out": ("swap_out_pages", 1),
    "CPU context switches": ("context_switches", 1),
    "forks": ("forks", 1),
}


def read(block: Block) -> Parsed:
    """Into memory_samples, and cpu_samples and vm_samples if there are two copies."""
    parsed = Parsed(TOOL, units="K of 1024 bytes, ticks of 10 ms")
    copies: list[dict[str, int]] = []
    for at, line in parsed.lines(block):
        match = _LINE.fullmatch(line)
        if match is None:
            parsed.reject(at, line)
            continue
        if match[3] == "total memory" or not copies:
            copies.append({})
        copies[-1][match[3]] = int(match[1])
    for copy, values in enumerate(copies):
        _emit(parsed, copy, values)
    if len(copies) == 1:
        parsed.missing.append("vmstat 1 10")
    return parsed


def _emit(parsed: Parsed, copy: int, values: dict[str, int]) -> None:
    memory: dict[str, object] = {
        column: values[name] * KIB for name, column in _MEMORY.items() if name in values
    }
    if memory:
        parsed.add("memory_samples", {"ts_ns": copy * 10**9, **memory})
    if values.get("total memory"):
        parsed.host["memory_bytes"] = values["total memory"] * KIB
    cpu: dict[str, int] = {}
    for name, counter in _CPU.items():
        if name in values:
            cpu[counter] = cpu.get(counter, 0) + min(values[name], 2**53) * TICK_NS
    if {"user_ns", "system_ns", "idle_ns"} <= cpu.keys():
        parsed.snapshots.append(Snapshot("cpu_samples", {"cpu": -1}, copy, cpu))
    counted = {
        counter: values[name] * unit for name, (counter, unit) in _VM.items() if name in values
    }
    if counted:
        parsed.snapshots.append(Snapshot("vm_samples", {}, copy, counted))
