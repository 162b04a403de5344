"""`free` (procps): plain, -b -k -m -g -h, -w, -s; the layouts before and after procps-ng 3.3.10.

Manual: free(1). The unit is not printed: it is taken from the command line, a letter behind the
numbers, or from what a page size of 4 KiB allows.
"""

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, MIB, NS_PER_S, number, size

NAME = "free"
#: First words of its header; the columns keep their order in every language.
_TOTALS = ("total", "gesamt", "总计", "总量", "總計", "合計", "totale", "totaal", "всего", "razem", "celkem")  # fmt: skip
HINT = r"^\s*(?:" + "|".join(_TOTALS) + r")\s+\S+\s+\S+"
_COLUMNS = ("total", "used", "free", "shared", "buff/cache", "available")
_WIDE = ("total", "used", "free", "shared", "buffers", "cache", "available")
_ROW = re.compile(r"(\S[^:：]{0,20})[:：]\s*([\d.,][\d.,A-Za-z\s]*)")

PAGE = 4096
OPTIONS = {
    "-b": 1, "--bytes": 1, "-k": KIB, "--kibi": KIB, "-m": MIB, "--mebi": MIB,
    "-g": 1024**3, "--gibi": 1024**3, "--kilo": 1000, "--mega": 1_000_000, "--giga": 1_000_000_000,
}  # fmt: skip
SURE = 0.85
FIRST = (rf".*\n\s*Mem:|(?!\s*total\s)\D*\n\s*{_ROW.pattern}$", 2)


def read(block: Block) -> Parsed:
    """Into memory_samples, one row per reading; each needs its Mem: row."""
    parsed = Parsed(NAME)
    step = interval_of(block.command) or NS_PER_S
    columns: list[str] = []
    foreign = False
    reading: dict[str, dict[str, str]] = {}
    readings: list[dict[str, dict[str, str]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words[0] in _TOTALS and not any(word[0].isdigit() for word in words):
            english = words[:3] == ["total", "used", "free"]
            columns = words if english else list(_WIDE if len(words) > len(_COLUMNS) else _COLUMNS)
            foreign = not english
            reading = {}
            readings.append(reading)
        elif columns and (match := _ROW.fullmatch(line.strip())):
            cells = match[2].split()
            name = match[1]
            if foreign:
                # The first row is memory, the second one swap.
                name = "Swap" if "Mem" in reading else "Mem"
            elif name not in ("Mem", "Swap", "Total", "Low", "High"):
                parsed.reject(at, line)
                continue
            if not all(size(cell) is not None for cell in cells) or len(cells) < 3:
                parsed.reject(at, line)
                continue
            reading[name] = dict(zip(columns, cells, strict=False))
        elif not (line.strip().startswith("-/+ buffers/cache:")):
            parsed.reject(at, line)
    for at, one in enumerate(readings):
        if "Mem" in one:
            unit = _unit(block.command or (), one["Mem"], parsed)
            _emit(parsed, one, unit, at * step)
    return parsed


def _unit(command: Sequence[str], memory: dict[str, str], parsed: Parsed) -> int:
    for word in command:
        if word in OPTIONS:
            parsed.units = f"units of {OPTIONS[word]} bytes (its option {word})"
            return OPTIONS[word]
    numbers = [number(cell) for cell in memory.values()]
    values = [value for value in numbers if value is not None]
    if len(values) < len(numbers):
        parsed.units = "letters behind the numbers, powers of 1024"
        return 1
    if memory["total"] and all(value % PAGE == 0 for value in values) and values[0] > 2**30:
        parsed.units = "bytes (all are whole pages)"
        return 1
    if all(value % (PAGE // KIB) == 0 for value in values) and values[0] > 128 * KIB:
        parsed.units = "KiB (all are whole pages)"
        return KIB
    if values[0] < KIB:
        parsed.units = "GiB (too small a machine otherwise)"
        return 1024**3
    parsed.units = "MiB (not whole pages in KiB)"
    return MIB


def _emit(parsed: Parsed, reading: dict[str, dict[str, str]], unit: int, ts_ns: int) -> None:
    memory, swap = reading["Mem"], reading.get("Swap", {})

    def bytes_of(row: dict[str, str], name: str) -> int | None:
        value = size(row[name]) if name in row else None
        return None if value is None else round(value * unit)

    total = bytes_of(memory, "total")
    if total:
        parsed.host["memory_bytes"] = total
    cached = bytes_of(memory, "buff/cache")
    if cached is not None:
        parsed.note("free prints buffers and page cache in one number: taken as page cache")
    else:
        cached = bytes_of(memory, "cached")
        cached = bytes_of(memory, "cache") if cached is None else cached
    parsed.add(
        "memory_samples",
        {
            "ts_ns": ts_ns,
            "total_bytes": total,
            "free_bytes": bytes_of(memory, "free"),
            "available_bytes": bytes_of(memory, "available"),
            "cached_bytes": cached,
            "buffers_bytes": bytes_of(memory, "buffers"),
            "swap_total_bytes": bytes_of(swap, "total"),
            "swap_free_bytes": bytes_of(swap, "free"),
        },
    )
