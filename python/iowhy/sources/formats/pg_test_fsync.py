"""PostgreSQL's pg_test_fsync: how often a second each way of syncing can be done, and how long one takes."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines
from iowhy.units import duration

NAME = "pg-test-fsync"
TOOL = "pg_test_fsync"
HINT = r"^Compare file sync methods using |ops/sec\s+[\d.]+ usecs/op$"

#: Flash with a power-safe cache syncs in less than a millisecond, a disk that turns in half a turn or more.
SLOW_NS = 4e6
_LINES = (
    re.compile(r"^\s+(?P<subject>\S.*?)\s+(?P<syncs_per_s>[\d.]+) ops/sec\s+(?P<sync_mean_us>[\d.]+) usecs/op"),
    re.compile(r"^(?P<subject>Non-sync'ed 8kB writes):?\s+(?P<writes_per_s>[\d.]+) ops/sec"),
)  # fmt: skip
_PASSED = re.compile(r"^\w.*:?$|^\(|^\s+(?:open_\w+|fsync\w*)\s+n/a|usecs/op\)?\s*$|:$")


def read(block: Block) -> Parsed:
    """Into measurements; subject is the way of syncing."""
    parsed = _lines.read(block, TOOL, _LINES, _PASSED)
    times = {
        str(row["subject"]): float(str(row["value"]))
        for row in _lines.measured(parsed)
        if row["metric"] == "sync_mean_ns"
    }
    one = times.get("fdatasync") or next(iter(times.values()), None)
    if one:
        slow = ": a disk that turns, or flushes through a slow cache" if one >= SLOW_NS else ""
        parsed.note(f"a sync takes {duration(one)}{slow}")
    return parsed
