"""htop's screen: its meters of CPUs, memory and swap, and the processes with their state.

Meters of CPUs do not say what is user, kernel or waiting for I/O; the bar of memory leaves out buffers and the page cache.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _states
from iowhy.sources.numbers import number, size

NAME = "htop"
HINT = r"^\s*F1\s?Help\s+F2\s?Setup|^\s*PID\W*USER\W+PRI\W+NI\W+VIRT\W+RES\W+SHR\W+S\W+CPU%|^\s*(?:\d{1,3}|Avg|CPU|Mem|Swp)\s*\[[|#*\s]*\s[\d.]+%\]|^\s*(?:Mem|Swp)\s*\[\D*[\d.]+[KMGT]?/[\d.]+[KMGT]?\]"
SURE = 0.8

_CPU = re.compile(r"(?:^|\s)(\d{1,3}|Avg|CPU)\s*\[[^\]\d]*(\d{1,3}(?:\.\d+)?)%\]")
_BAR = re.compile(r"(Mem|Swp)\s*\[[^\]\d]*([\d.]+[KMGT]?)/([\d.]+[KMGT]?)\]")
_ROW = re.compile(
    r"\s*(\d{1,9})\s+(\S+)\s+(?:-?\d+|RT|rt)\s+-?\d+\s+(?:[\d.]+[KMGT]?\s+){3}([A-Z])\s+([\d.]+)\s+[\d.]+\s+[\d:.hd]+\s+(\S.*)"
)
#: What else is on the screen.
_SCREEN = re.compile(
    r"\s*(?:F1\s?Help|PID\W*USER|(?:\[?Main\]?|\[?I/O\]?)\b|Tasks:|Load average:|Uptime:|$)"
)


def read(block: Block) -> Parsed:
    """Into memory_samples and measurements: of the CPUs together, and of each process that computes or is in state D."""
    parsed = Parsed(NAME, units="KiB, MiB, GiB; percent of one CPU")
    cpus: dict[str, float] = {}
    memory: dict[str, int] = {}
    sleepers: list[_states.Sleeper] = []
    for at, line in parsed.lines(block):
        meters, bars = _CPU.findall(line), _BAR.findall(line)
        for name, share in meters:
            cpus[name] = float(share)
        for name, used, total in bars:
            _bar(parsed, memory, name, size(used), size(total))
        if found := _ROW.match(line):
            comm = _command(found[5])
            block.names.thread(int(found[1]), int(found[1]), comm)
            share = number(found[4])
            if share:
                parsed.measure(f"{comm} ({found[1]})", "cpu_share", share / 100)
            if found[3] == "D":
                sleepers.append(_states.Sleeper(int(found[1]), comm))
        elif not (meters or bars or _SCREEN.match(line)):
            parsed.reject(at, line)
    each = {name: share for name, share in cpus.items() if name.isdigit()} or cpus
    if each:
        parsed.measure("CPUs", "busy_share", sum(each.values()) / len(each) / 100)
    if len(each) > 1:
        parsed.host["cpus"] = len(each)
    if memory:
        parsed.add("memory_samples", {"ts_ns": 0, **memory})
    _states.emit(parsed, sleepers)
    parsed.missing.append("top -b -d 1 -n 5")
    return parsed


def _command(text: str) -> str:
    """A process's name: without the lines of the tree, its path and what follows."""
    bare = text.lstrip("│├└─┬` |-")
    return (bare.split() or [text])[0].rstrip(":").rsplit("/", 1)[-1]


def _bar(
    parsed: Parsed, memory: dict[str, int], name: str, used: float | None, total: float | None
) -> None:
    if used is None or not total or used > total:
        return
    if name == "Mem":
        memory["total_bytes"] = parsed.host["memory_bytes"] = round(total)
        parsed.measure("memory", "used_share", used / total)
    else:
        memory["swap_total_bytes"] = round(total)
        memory["swap_free_bytes"] = round(total - used)
        parsed.measure("swap", "used_share", used / total)
