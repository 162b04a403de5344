"""Lines of text whose numbers are facts: each is a pattern whose groups name what they measure, with the unit."""

import re
from collections.abc import Iterator, Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import LARGEST, size

#: The end of a group's name → the end of the metric's, and what its number is multiplied by.
_UNITS = (
    ("_kib_per_s", "_bytes_per_s", 1024.0),
    ("_mib_per_s", "_bytes_per_s", 2.0**20),
    ("_mb_per_s", "_bytes_per_s", 1e6),
    ("_per_s", "_per_s", 1.0),
    ("_percent", "_share", 0.01),
    ("_of_100", "", 0.01),
    ("_blks", "_bytes", 512.0),
    ("_mib", "_bytes", 2.0**20),
    ("_kib", "_bytes", 1024.0),
    ("_blocks8k", "_bytes", 8192.0),
    ("_us", "_ns", 1e3),
    ("_ms", "_ns", 1e6),
    ("_s", "_ns", 1e9),
    ("_ns", "_ns", 1.0),
)
#: "1m2.5s", "812.5ms", "16.7 us", "2 s": as Go writes times, and others.
_PARTS = re.compile(r"(\d+(?:\.\d+)?)\s*(h|m(?!s)|s|ms|µs|us|ns)", re.ASCII)
_NS = {"h": 3600e9, "m": 60e9, "s": 1e9, "ms": 1e6, "µs": 1e3, "us": 1e3, "ns": 1.0}


def duration_ns(text: str) -> float | None:
    """A time with its units."""
    found = _PARTS.findall(text[:60].replace("sec", "s").replace("seconds", "s"))
    return sum(float(number) * _NS[unit] for number, unit in found) if found else None


def _value(name: str, text: str) -> tuple[str, float] | None:
    if name.endswith("_took"):
        ns = duration_ns(text)
        return None if ns is None else (name.removesuffix("_took") + "_ns", ns)
    if name.endswith("_size"):
        bytes_ = size(text.replace(" ", "").removesuffix("/s"))
        return None if bytes_ is None else (name.removesuffix("_size"), bytes_)
    try:
        number = float(text.replace(",", ""))
    except ValueError:
        return None
    if not abs(number) <= LARGEST:
        return None
    for suffix, instead, times in _UNITS:
        if name.endswith(suffix):
            return (name.removesuffix(suffix) + instead).lstrip("_"), number * times
    return name, number


def numbers(match: re.Match[str]) -> Iterator[tuple[str, float]]:
    """Metric and value of each group but `subject` and `unit`; other text is left out."""
    for name, text in match.groupdict().items():
        if text is not None and name not in ("subject", "unit"):
            found = _value(name, text + (match.groupdict().get("unit") or ""))
            if found is not None:
                yield found


def read(
    block: Block,
    tool: str,
    patterns: Sequence[re.Pattern[str]],
    passed: re.Pattern[str] | None = None,
    parsed: Parsed | None = None,
) -> Parsed:
    """Measurements of each line that a pattern matches, of its subject, the last one named, or the tool; what `passed` matches says nothing."""
    parsed, subject = parsed or Parsed(tool), tool
    for at, line in parsed.lines(block):
        match = next((found for one in patterns if (found := one.search(line))), None)
        if match is None:
            if passed is None or passed.search(line) is None:
                parsed.reject(at, line)
            continue
        subject = (match.groupdict().get("subject") or subject).strip()
        for metric, value in numbers(match):
            parsed.measure(subject, metric, value)
    return parsed


def measured(parsed: Parsed) -> list[dict[str, object]]:
    """The rows of what was measured so far."""
    rows = parsed.tables.get("measurements", [])
    assert isinstance(rows, list)
    return rows
