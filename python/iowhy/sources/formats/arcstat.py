"""OpenZFS' `arcstat`: lookups of ZFS' cache (ARC) in each interval, and its size.

Manual: arcstat(1). read and miss are per second, dmis of demand (somebody waits), pmis of prefetch. The first row is of all
time since boot. Letters are powers of 1000 for counts and of 1024 for sizes.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import NS_PER_S, size

NAME = "arcstat"
HINT = r"^\s*time\s+(?:\S+\s+)*(?:arcsz|miss%|dmis|size\s+c\b)"

_TIME = re.compile(r"(\d\d):(\d\d):(\d\d)")
#: Column → metric, and what one of it is; counts have powers of 1000.
_COUNTS = {
    "read": "reads_per_s", "miss": "misses_per_s", "dmis": "demand_misses_per_s", "dread": "demand_reads_per_s",
    "pmis": "prefetch_misses_per_s", "mmis": "metadata_misses_per_s",
}  # fmt: skip
_SIZES = {
    "arcsz": "size_bytes",
    "size": "size_bytes",
    "c": "target_bytes",
    "free": "free_bytes",
    "avail": "available_bytes",
}
DAY_S = 86_400
NEAR = (rf"(?:\s(?:{'|'.join((*_COUNTS, *_SIZES))})(?=\s).*?){{2}}", 1)


def read(block: Block) -> Parsed:
    """Into measurements of "ARC"; a negative `avail` is what is lacking."""
    parsed = Parsed(NAME, units="per second; sizes in powers of 1024")
    columns: list[str] = []
    rows: list[tuple[int, dict[str, float]]] = []
    for at, line in parsed.lines(block):
        words = line.split()
        if words == ["..."]:
            continue
        if words[0] == "time":
            columns = words
        elif (row := _row(columns, words)) is not None:
            rows.append(row)
        else:
            parsed.reject(at, line)
    if not rows:
        return parsed
    if len(rows) == 1:
        parsed.note("one row of arcstat is an average since boot, and not taken for load")
        parsed.missing.append("arcstat 1 10")
        return parsed
    _emit(parsed, rows[1:])
    return parsed


def _row(columns: Sequence[str], words: Sequence[str]) -> tuple[int, dict[str, float]] | None:
    if not columns or len(words) != len(columns):
        return None
    clock = _TIME.fullmatch(words[0])
    if clock is None:
        return None
    hours, minutes, seconds = (int(part) for part in clock.groups())
    found: dict[str, float] = {}
    for name, word in zip(columns[1:], words[1:], strict=True):
        if name in _COUNTS:
            value = size(word, base=1000)
        elif name in _SIZES:
            value = size(word)
        else:
            continue
        if value is None:
            return None
        found[name] = value
    return hours * 3600 + minutes * 60 + seconds, found


def _emit(parsed: Parsed, rows: Sequence[tuple[int, dict[str, float]]]) -> None:
    start = rows[0][0]
    for when, values in rows:
        ts_ns = (when - start) % DAY_S * NS_PER_S
        for name, value in values.items():
            metric = _COUNTS.get(name) or _SIZES[name]
            if metric == "available_bytes" and value < 0:
                metric, value = "lacking_bytes", -value
            parsed.measure("ARC", metric, value, ts_ns)
    reads = sum(values.get("read", 0.0) for _, values in rows)
    misses = sum(values.get("miss", 0.0) for _, values in rows)
    if (
        reads > 0
        and misses <= reads
        and all("read" in values and "miss" in values for _, values in rows)
    ):
        parsed.measure("ARC", "miss_share", misses / reads)
        parsed.note(
            f"ZFS' cache (ARC) misses {100 * (misses / reads):.0f} % of its lookups in these rows"
        )
    if any(values.get("avail", 0.0) < 0 for _, values in rows):
        parsed.note("ZFS' cache (ARC) is asked to shrink: `avail` is negative")
