"""Linux `top` (procps): screens of it, `-b`, and its table of tasks alone.

Manual: top(1). The first iteration covers the time since boot. A screen that is the only one was copied while top
ran, so it is taken for an interval of top's usual 3 s, unless the command shows that it is the first (-n 1).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _states
from iowhy.sources.formats._iostat import cpu_counters
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import KIB, NS_PER_S, number, size

NAME = "top"
TOOL = "top"
HINT = r"^top - \d{1,2}:\d{2}:\d{2}|^\s*PID\s+USER\s+PR\s+NI\s+VIRT\s+RES\s"

#: top's delay between screens unless -d says otherwise (top(1), "-d").
DELAY_NS = 3 * NS_PER_S

_CPU = re.compile(r"%?Cpu\(?s?\)?\d*\s*:\s*(.*)")
_CPU_SHARE = re.compile(r"([\d.,]+?)\s*%?\s*([a-z]{2})(?=[,\s]|$)")
_MEMORY = re.compile(r"(?:(?P<unit>[KMGTP]iB) )?(?P<what>Mem|Swap)\s*:\s*(?P<rest>.*)")
_AMOUNT = re.compile(
    r"([\d.,]+)([kKmMgGtT]?)\+?\s+(total|free|used|buff/cache|avail Mem|buffers|cached)"
)
#: Two letters of top → the names that iostat and mpstat have.
STATES = {
    "us": "user", "sy": "system", "ni": "nice", "id": "idle", "wa": "iowait", "hi": "irq",
    "si": "soft", "st": "steal",
}  # fmt: skip


class _Iteration:
    def __init__(self, when: int) -> None:
        self.when = when
        self.cpu: dict[str, float] = {}
        self.memory: dict[str, object] = {}
        self.processes: list[dict[str, str]] = []


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, which each iteration has; the titles of the tasks if that is cut off."""
    mine = "load average" in lines[at] or ("%CPU" in lines[at] and "TIME" in lines[at])
    return Claim(0.95, again=True) if mine else None


def read(block: Block) -> Parsed:
    """Into cpu_samples, memory_samples and, per process, measurements."""
    parsed = Parsed(TOOL, units="memory in the unit that its lines name; percent of one CPU")
    day = Day(None)
    iterations: list[_Iteration] = []
    columns: list[str] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if text.startswith("top - "):
            timed = day.split(text.removeprefix("top - "))
            if timed is None:
                parsed.reject(at, line)
                continue
            iterations.append(_Iteration(timed[0]))
            columns = []
        elif not iterations and text.split()[0] == "PID":
            iterations.append(_Iteration(0))
            columns = text.split()
        elif not iterations:
            parsed.reject(at, line)
        elif text.startswith(("Tasks:", "Threads:")):
            pass
        elif match := _CPU.fullmatch(text):
            shares = {
                STATES[name]: value
                for cell, name in _CPU_SHARE.findall(match[1].replace(", ", " , "))
                if name in STATES and (value := number(cell)) is not None
            }
            if text.lower().startswith(("%cpu(s)", "cpu(s)")):
                iterations[-1].cpu = shares
        elif match := _MEMORY.fullmatch(text):
            _memory(iterations[-1], match)
        elif text.split()[0] == "PID" or ("PID" in text.split() and "%CPU" in text.split()):
            columns = text.split()
        elif columns and (row := _process(columns, text)) is not None:
            iterations[-1].processes.append(row)
        else:
            parsed.reject(at, line)
    _emit(parsed, iterations, block)
    return parsed


def _memory(now: _Iteration, match: re.Match[str]) -> None:
    unit = {"KiB": KIB, "MiB": KIB**2, "GiB": KIB**3, "TiB": KIB**4}.get(match["unit"] or "", 1)
    swap = match["what"] == "Swap"
    names = {
        "total": "swap_total_bytes" if swap else "total_bytes",
        "free": "swap_free_bytes" if swap else "free_bytes",
        "avail Mem": "available_bytes",
        "buff/cache": "cached_bytes",
        "cached": "cached_bytes",
        "buffers": "buffers_bytes",
    }
    for amount, letter, what in _AMOUNT.findall(match["rest"]):
        # Decimals follow the locale; in the old layout the comma is the separator behind a letter.
        value = size(amount.rstrip(",.") + letter)
        if value is not None and what in names:
            now.memory[names[what]] = round(value * (1 if letter else unit))


def _process(columns: Sequence[str], text: str) -> dict[str, str] | None:
    words = text.split(None, len(columns) - 1)
    if len(words) < len(columns):
        return None
    row = dict(zip(columns, words, strict=False))
    return row if row.get("PID", "").isdigit() and number(row.get("%CPU", "")) is not None else None


def _emit(parsed: Parsed, iterations: Sequence[_Iteration], block: Block) -> None:
    if not iterations:
        return
    base = iterations[0].when
    alone = len(iterations) == 1
    first = alone and _is_first(block.command or ())
    if first:
        parsed.note(
            "the first iteration of top is an average since boot: its CPU line is not taken"
        )
        parsed.missing.append("top -b -d 1 -n 5")
    elif alone and iterations[0].cpu:
        parsed.note("one screen of top: its CPU line is taken for the 3 s before it")
        parsed.partial = "one screen of top"
        parsed.missing.append("vmstat 1 10")
    for at, now in enumerate(iterations):
        end = now.when - base
        interval = now.when - iterations[at - 1].when if at else 0
        if alone and not first:
            interval = end = DELAY_NS
        if interval > 0 and "idle" in now.cpu:
            parsed.intervals.add(
                "cpu_samples",
                {"cpu": -1},
                end - interval,
                interval,
                cpu_counters(now.cpu, interval),
            )
        if now.memory:
            parsed.add("memory_samples", {"ts_ns": end, **now.memory})
            total = now.memory.get("total_bytes")
            if total:
                parsed.host["memory_bytes"] = total
        for row in now.processes:
            comm = _comm(row)
            block.names.thread(int(row["PID"]), int(row["PID"]), comm)
            share = number(row["%CPU"])
            if share is None or (at == 0 and len(iterations) > 1):
                continue
            parsed.measure(
                f"{comm} ({row['PID']})",
                "since_start_cpu_share" if first else "cpu_share",
                share / 100,
                end if interval else None,
            )
    _states.emit(parsed, _sleepers(iterations[-1]))


def _is_first(command: Sequence[str]) -> bool:
    """Whether the command prints one iteration alone: -n 1, -bn1."""
    return any(
        re.fullmatch(r"-[a-zA-Z]*n1", word)
        or (word.endswith("n") and command[at + 1 : at + 2] == ("1",))
        for at, word in enumerate(command)
        if word.startswith("-")
    )


def _comm(row: dict[str, str]) -> str:
    """The program's name; a path is cut (-c), a kernel thread's name may have slashes itself."""
    word = row[list(row)[-1]].split()[0]
    return word.rsplit("/", 1)[-1] if word.startswith(("/", "./")) else word.strip("[]")


def _sleepers(now: _Iteration) -> list[_states.Sleeper]:
    """The tasks in uninterruptible sleep on a screen; those below its end are not known."""
    return [
        _states.Sleeper(int(row["PID"]), _comm(row)) for row in now.processes if row.get("S") == "D"
    ]
