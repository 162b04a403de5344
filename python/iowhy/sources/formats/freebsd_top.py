"""FreeBSD `top`: the summary and the processes. Manual: top(1) of FreeBSD."""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.numbers import NS_PER_S, number, size

NAME = "freebsd-top"
TOOL = "top"
HINT = r"^last pid:\s*\d+.*load averages"
SURE = 0.95

_CPU = re.compile(r"CPU(?: states)?:\s+(.*)")
_STATE = re.compile(r"(\d+(?:\.\d+)?)%\s+(user|nice|system|interrupt|idle)")
_AMOUNT = re.compile(r"(\d+[KMGTB]?)\s+(Active|Inact|Laundry|Wired|Cache|Buf|Free|Total|Used)")


def read(block: Block) -> Parsed:
    """Into cpu_samples (2 s, its default, each), memory_samples and measurements."""
    parsed = Parsed(TOOL, units="memory with letters behind it, powers of 1024")
    parsed.host["os"] = "FreeBSD"
    interval = 2 * NS_PER_S
    count = -1
    columns: list[str] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if text.startswith("last pid:"):
            count += 1
            columns = []
        elif match := _CPU.fullmatch(text):
            states = {name: float(value) for value, name in _STATE.findall(match[1])}
            if "idle" in states:
                states["irq"] = states.pop("interrupt", 0.0)
                parsed.note("FreeBSD counts waiting for I/O as idle: iowait is unknown, not 0")
                add_cpu(parsed, states, count * interval, interval)
        elif text.startswith("Mem:"):
            amounts = {name: size(value) for value, name in _AMOUNT.findall(text)}
            row: dict[str, object] = {"ts_ns": (count + 1) * interval}
            for name, column in (("Free", "free_bytes"), ("Buf", "buffers_bytes")):
                if (value := amounts.get(name)) is not None:
                    row[column] = round(value)
            parsed.add("memory_samples", row)
        elif re.match(
            r"(Swap:|ARC:|CPU \d+:|\d{1,9} (?:processes|threads):|\d{1,15}[KMGTB]? Compressed)",
            text,
        ):
            pass
        elif text.startswith("PID "):
            columns = text.split()
        elif not (columns and _process(parsed, columns, text, (count + 1) * interval, block)):
            parsed.reject(at, line)
    parsed.partial = "one screen of top" if count == 0 and parsed.intervals else None
    return parsed


def _process(parsed: Parsed, columns: Sequence[str], text: str, ts_ns: int, block: Block) -> bool:
    words = text.split(None, len(columns) - 1)
    share_name = "WCPU" if "WCPU" in columns else "CPU"
    if len(words) < len(columns) or share_name not in columns or not words[0].isdigit():
        return False
    row = dict(zip(columns, words, strict=False))
    share = number(row[share_name])
    if share is None:
        return False
    comm = row[columns[-1]].split()[0]
    block.names.thread(int(words[0]), int(words[0]), comm)
    parsed.measure(f"{comm} ({words[0]})", "cpu_share", share / 100, ts_ns)
    return True
