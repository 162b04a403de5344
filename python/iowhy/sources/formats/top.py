"""Linux `top` (procps): screens of it, `-b`, and its table of tasks alone.

Manual: top(1). The first iteration covers the time since boot. A screen that is the only one was copied while top
ran, so it is taken for an interval of top's usual 3 s, unless the command shows that it is the first (-n 1).
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _states
from iowhy.sources.formats._iostat import add_cpu
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import KIB, NS_PER_S, number, size

NAME = "top"
# "Tasks: 181 total, 2 running, …" and the line of CPU shares, in any language: a word, then numbers with a word behind each.
_TASKS = r"\S+\s*:\s+(?:\d+ [^\W\d]\S*,\s+){3,5}\d+ [^\W\d]\S*\s*$"
_SHARES = r"%?[^\W\d]\S{0,11}\s*:\s*(?:\d+[.,]\d\s*%?\s?[^\W\d]{2,3}[,\s]+){6,7}\d+[.,]\d\s*%?\s?[^\W\d]{2,3}\s*$"
HINT = (
    r"^top - \d{1,2}:\d{2}:\d{2}|^\s*PID\s+USER\s+PR\s+NI\s+VIRT\s+RES\s|^"
    + _TASKS
    + "|^"
    + _SHARES
)

#: top's delay between screens unless -d says otherwise (top(1), "-d").
DELAY_NS = 3 * NS_PER_S

#: "load average: 8,05, 7,56, 6,85": of the last minute, 5 and 15.
_LOAD = re.compile(r"load average: (\d{1,6}[.,]\d\d), +(\d{1,6}[.,]\d\d), +(\d{1,6}[.,]\d\d)")
#: Fewer threads hang now and then; more CPUs than that are rare.
HANG, CPUS = 2.0, 64
_CPU = re.compile(rf"(?={_SHARES})[^:]*:\s*(.*)|(?i:%?cpu\(?s?\)?\d*)\s*:\s*(.*)")
# A share of 100 % touches what is before it: `us,100.0%sy`, `id,100,0 wa`.
_CPU_SHARE = re.compile(r"(\d+(?:[.,]\d+)?)\s*%?\s*([^\W\d]{2,3})(?=[,\s]|$)")
_MEMORY = re.compile(r"(?:(?P<unit>[KMGTP]iB) )?(?P<what>[^\W\d][\w.]{0,9})\s*:\s*(?P<rest>\d.*)")
_AMOUNT = re.compile(r"(\d[\d.,]*)([kKmMgGtT]?)\+?\s+([^\W\d][^\d,]*)")
#: Two letters of top → the names that iostat and mpstat have.
STATES = {
    "us": "user", "sy": "system", "ni": "nice", "id": "idle", "wa": "iowait", "hi": "irq",
    "si": "soft", "st": "steal",
}  # fmt: skip


#: The order of the shares, and of the amounts of memory and of swap, in which other languages are read.
_ORDER = tuple(STATES)
_AMOUNTS = ("total", "free", "used", "buff/cache")


class _Iteration:
    def __init__(self, when: int) -> None:
        self.when = when
        self.cpu: dict[str, float] = {}
        self.load = 0.0
        self.memory: dict[str, object] = {}
        self.processes: list[dict[str, str]] = []


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Its first line, which each iteration has; the titles of the tasks if that is cut off."""
    line = lines[at]
    mine = line.startswith("top - ") or ("%CPU" in line and "TIME" in line)
    # A paste that begins below the first line: that of the tasks, above that of the CPUs, or the latter alone.
    below = next((other for other in lines[at + 1 : at + 3] if other.strip()), "")
    headless = re.match(_SHARES, line) or (re.match(_TASKS, line) and _CPU.fullmatch(below.strip()))
    return Claim(0.95 if mine else 0.8, again=True) if mine or headless else None


def read(block: Block) -> Parsed:
    """Into cpu_samples, memory_samples and, per process, measurements."""
    parsed = Parsed(NAME, units="memory in the unit that its lines name; percent of one CPU")
    day = Day(None)
    iterations: list[_Iteration] = []
    columns: list[str] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if text.startswith("top - "):
            load = _LOAD.search(text)
            timed = day.split(text.removeprefix("top - "))
            if timed is None:
                parsed.reject(at, line)
                continue
            iterations.append(_Iteration(timed[0]))
            if load is not None:
                iterations[-1].load = min(number(one) or 0.0 for one in load.groups())
            columns = []
        elif not iterations and text.split()[0] == "PID":
            iterations.append(_Iteration(0))
            columns = text.split()
        elif re.match(_TASKS, text):
            iterations = iterations or [_Iteration(0)]
        elif match := _CPU.fullmatch(text):
            iterations = iterations or [_Iteration(0)]
            shares = _shares(match[1] or match[2])
            if not shares:
                parsed.reject(at, line)
            elif not re.match(r"(?i)%?cpu\d", text):
                iterations[-1].cpu = shares
        elif iterations and not columns and (match := _MEMORY.fullmatch(text)):
            if not _memory(iterations[-1], match):
                parsed.reject(at, line)
        elif not iterations:
            parsed.reject(at, line)
        elif text.split()[0] == "PID" or ("PID" in text.split() and "%CPU" in text.split()):
            columns = text.split()
        elif columns and (row := _process(columns, text)) is not None:
            iterations[-1].processes.append(row)
        else:
            parsed.reject(at, line)
    _emit(parsed, iterations, block)
    return parsed


def _shares(text: str) -> dict[str, float]:
    """The CPU's states by their letters, else (other languages) by their order; none if they cannot be all."""
    cells = [(name, number(cell)) for cell, name in _CPU_SHARE.findall(text)]
    known = {STATES[name]: value for name, value in cells if name in STATES and value is not None}
    if len(known) < len(cells) or "idle" not in known:
        if len(cells) != len(_ORDER):
            return {}
        known = {
            STATES[name]: value
            for name, (_, value) in zip(_ORDER, cells, strict=True)
            if value is not None
        }
    return known


def _memory(now: _Iteration, match: re.Match[str]) -> bool:
    """Whether any amount of a line of memory or swap is known; in other languages they are in the order of the newer layout."""
    unit = {"KiB": KIB, "MiB": KIB**2, "GiB": KIB**3, "TiB": KIB**4}.get(match["unit"] or "", 1)
    # Swap is the second of the two lines, whatever it is called.
    swap = match["what"] == "Swap" or (match["what"] != "Mem" and "total_bytes" in now.memory)
    names = {
        "total": "swap_total_bytes" if swap else "total_bytes",
        "free": "swap_free_bytes" if swap else "free_bytes",
        "avail Mem": "available_bytes",
        "buff/cache": "cached_bytes",
        "cached": "cached_bytes",
        "buffers": "buffers_bytes",
    }
    found = [
        (amount, letter, what.strip(" ."))
        for amount, letter, what in _AMOUNT.findall(match["rest"])
    ]
    if not any(what in names for _, _, what in found[:2]):
        found = [(*one[:2], what) for one, what in zip(found, _AMOUNTS, strict=False)]
    for amount, letter, what in found:
        # Decimals follow the locale; in the old layout the comma is the separator behind a letter.
        value = size(amount.rstrip(",.") + letter)
        if value is not None and what in names:
            now.memory[names[what]] = round(value * (1 if letter else unit))
    return any(what in names for _, _, what in found)


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
        _load(parsed, iterations[0])
        parsed.missing.append("vmstat 1 10")
    for at, now in enumerate(iterations):
        end = now.when - base
        interval = now.when - iterations[at - 1].when if at else 0
        if alone and not first:
            interval = end = DELAY_NS
        if interval > 0 and "idle" in now.cpu:
            add_cpu(parsed, now.cpu, end - interval, interval)
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


def _load(parsed: Parsed, now: _Iteration) -> None:
    """A load average of threads that do not compute: Linux counts those in uninterruptible sleep."""
    idle = now.cpu.get("idle", 0.0) / 100
    hang = now.load - (1.0 - idle) * CPUS
    if hang >= HANG and "idle" in now.cpu and not _sleepers(now):
        parsed.measure("all", "load_average", now.load)
        parsed.missing.append("ps -eo pid,stat,wchan:40,comm | awk '$2 ~ /^D/'")


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
