"""Histograms of seconds in Prometheus' text format, as etcd has them for its syncs: WAL fsync, backend commit.

Format: Prometheus' exposition formats; buckets are cumulative, up to and including `le`. etcd's guide names 10 ms for the
99th percentile of WAL fsyncs and 25 ms for commits as what a fit disk keeps. All counts are since the process began.
"""

import re
from collections import defaultdict
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import LARGEST

NAME = "etcd"
HINT = r"^etcd_\w*_seconds_(?:bucket\{|sum\b|count\b)|^# (?:HELP|TYPE) etcd_"

_SAMPLE = re.compile(
    r"([a-z_]\w{0,100}?_seconds)_(bucket|sum|count)(?:\{([^}]{0,500})\})?\s+([\d.eE+-]{1,40})(?:\s+\d+)?"
)
_LE = re.compile(r'\ble="([^"]{1,20})"')
#: Shares of the counts below whose bound the percentile lies.
_PERCENTILES = {"p50": 0.5, "p99": 0.99}


def read(block: Block) -> Parsed:
    """Into histograms, metric NAME_ns, and measurements: count, mean, bounds of the median and 99th percentile."""
    parsed = Parsed(NAME, units="seconds; counts since the process began")
    buckets: dict[str, list[tuple[float, float]]] = defaultdict(list)
    totals: dict[str, dict[str, float]] = defaultdict(dict)
    for at, line in parsed.lines(block):
        text = line.strip()
        match = _SAMPLE.fullmatch(text)
        if (
            match is None
            and not text.startswith("#")
            and not re.match(r"[a-z_]\w*(\{.*\})? [\d.eE+-]+$", text)
        ):
            parsed.reject(at, line)
            continue
        if match is None:
            continue
        try:
            value = _finite(match[4])
            if match[2] == "bucket" and (bound := _LE.search(match[3] or "")):
                upper = _finite(bound[1], but=float("inf"))
                buckets[match[1]].append((upper, value))
            else:
                totals[match[1]][match[2]] = value
        except ValueError:
            parsed.reject(at, line)
    for name, found in buckets.items():
        _histogram(parsed, name, sorted(found))
    for name, of in totals.items():
        if of.get("count") and "sum" in of:
            parsed.measure(name, "mean_ns", of["sum"] / of["count"] * 1e9)
            parsed.measure(name, "count", of["count"])
    if buckets:
        parsed.partial = "counts since etcd began, not of one time"
        parsed.missing.append("iostat -x 1 10")
    return parsed


def _finite(text: str, but: float | None = None) -> float:
    """A number that a counter can hold, or `but`. Raises ValueError for others."""
    value = float(text)
    if value != but and not abs(value) <= LARGEST:
        raise ValueError(text)
    return value


def _histogram(parsed: Parsed, name: str, buckets: Sequence[tuple[float, float]]) -> None:
    total = buckets[-1][1]
    below, low = 0.0, 0
    for bound, upto in buckets:
        high = None if bound == float("inf") else round(bound * 1e9)
        if upto > below:
            parsed.bucket(f"{name.removesuffix('_seconds')}_ns", low, high, round(upto - below))
        below, low = max(below, upto), low if high is None else high
    for label, share in _PERCENTILES.items():
        within = next((bound for bound, upto in buckets if upto >= share * total), None)
        if total and within is not None and within != float("inf"):
            parsed.measure(name, f"{label}_below_ns", within * 1e9)
    within = next((bound for bound, upto in buckets if upto >= 0.99 * total), None)
    if total and within is not None and within != float("inf"):
        parsed.note(f"{name}: 99 % of {total:,.0f} take less than {within * 1000:,.0f} ms")
