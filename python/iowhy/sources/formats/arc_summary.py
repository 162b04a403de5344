"""OpenZFS' `arc_summary` and /proc/spl/kstat/zfs/arcstats: ZFS' cache (ARC) since boot.

Layouts: arc_summary of 0.6 ("ARC Size:", tabs), of 0.8 and later ("ARC size (current):"). Counts of the first have letters
of powers of 1000 (k, m, b); sizes are in KiB, MiB, GiB.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, number

NAME = "arc-summary"
TOOL = "arc_summary"
HINT = r"^ZFS Subsystem Report|^ARC [Ss](?:ize|ummary|tatus)\b|^name\s+type data$|^hits\s+4\s+\d"

_KSTAT = re.compile(r"([a-z_0-9]{1,40})\s+4\s+(\d{1,19})")
_LINE = re.compile(r"\s*(\S[^:]{0,80}?)\s*(?:\(.*\))?:(.*)")
_SIZE = re.compile(r"([\d.]{1,20})\s*(Bytes|[KMGTP]iB)\s*")
_COUNT = re.compile(r"([\d.]{1,20})([kmbtKMBT]?)")
_LETTERS = {"": 1.0, "k": 1e3, "m": 1e6, "b": 1e9, "t": 1e12}
_UNITS = {"Bytes": 1, **{f"{letter}iB": KIB ** (at + 1) for at, letter in enumerate("KMGTP")}}
#: The line's name in lower case, without what stands in brackets → metric.
_SIZES = {
    "arc size": "size_bytes",
    "target size": "target_bytes",
    "min size": "least_bytes",
    "max size": "limit_bytes",
}
_COUNTS = {
    "arc total accesses": "lookups",
    "cache hit ratio": "hits",
    "cache miss ratio": "misses",
    "memory throttle count": "memory_throttles",
    "demand data misses": "demand_data_misses",
    "demand metadata misses": "demand_metadata_misses",
}
#: kstat → metric.
_OF_KSTAT = {
    "hits": "hits", "misses": "misses", "size": "size_bytes", "c": "target_bytes", "c_max": "limit_bytes",
    "c_min": "least_bytes", "memory_throttle_count": "memory_throttles", "demand_data_hits": "demand_data_hits",
    "demand_data_misses": "demand_data_misses", "demand_metadata_misses": "demand_metadata_misses",
}  # fmt: skip
BEGINS = "ZFS"
NEAR = (r"^(?:ZFS|ARC)|^\s*misses\s+4\s", 4)


def read(block: Block) -> Parsed:
    """Into measurements of "ARC"."""
    parsed = Parsed(TOOL, units="counts since boot; sizes in powers of 1024")
    found: dict[str, float] = {}
    for at, line in parsed.lines(block):
        text = line.strip()
        if set(text) <= {"-"}:
            continue
        if match := _KSTAT.fullmatch(text):
            if match[1] in _OF_KSTAT:
                found.setdefault(_OF_KSTAT[match[1]], float(match[2]))
        elif match := _LINE.fullmatch(line):
            _say(found, match[1].lower(), match[2])
        elif not re.match(r"name\s+type|\d+ \d+ 0x|ZFS Subsystem|Linux |FreeBSD ", text):
            parsed.reject(at, line)
    parsed.measures("ARC", found)
    _shares(parsed, found)
    if found:
        parsed.partial = "counts since boot, not of one time"
        parsed.missing.append("arcstat 1 10")
    return parsed


def _say(found: dict[str, float], name: str, rest: str) -> None:
    """What one line says; only the first line of a name counts."""
    if name in _SIZES:
        sized = _SIZE.search(rest)
        value = number(sized[1]) if sized else None
        if sized and value is not None:
            found.setdefault(_SIZES[name], value * _UNITS[sized[2]])
    elif name in _COUNTS:
        words = rest.split()
        match = _COUNT.fullmatch(words[-1]) if words else None
        value = number(match[1]) if match else None
        if match and value is not None:
            found.setdefault(_COUNTS[name], value * _LETTERS[match[2].lower()])


def _shares(parsed: Parsed, found: dict[str, float]) -> None:
    hits, misses = found.get("hits"), found.get("misses")
    if hits is not None and misses is not None and hits + misses > 0:
        share = misses / (hits + misses)
        parsed.measure("ARC", "miss_share", share)
        parsed.note(f"ZFS' cache (ARC) missed {100 * share:.0f} % of its lookups since boot")
    current, limit = found.get("size_bytes"), found.get("limit_bytes")
    if current is not None and limit and current > 1.1 * limit:
        parsed.note(
            f"ZFS' cache (ARC) is larger than its limit: {current / KIB**3:.1f} of {limit / KIB**3:.1f} GiB"
        )
