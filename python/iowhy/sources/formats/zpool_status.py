"""ZFS's zpool status: state of pools, what a scrub or resilver has done, errors of each disk."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "zpool-status"
TOOL = "zpool status"
HINT = r"^\s*pool: \S+\s*$|^\s*scan: (?:scrub|resilver)"
BEGINS = r"\s*pool:"

_LINES = (
    re.compile(r"^\s*(?:resilvered|.* (?:repaired|resilvered)), (?P<done_percent>[\d.]+)% done"),
    re.compile(r"scanned at (?P<scanned_size>[\d.]+[KMGT]?)/s, .*issued at (?P<issued_size>[\d.]+[KMGT]?)/s"),
    re.compile(r"^\s*(?P<subject>[\w:./-]+)\s+(?:ONLINE|DEGRADED|FAULTED|OFFLINE|UNAVAIL|REMOVED)\s+(?P<read_errors>\d+)\s+(?P<write_errors>\d+)\s+(?P<checksum_errors>\d+)"),
)  # fmt: skip
_PASSED = re.compile(r"^\s*(?:pool|id|state|status|action|see|scan|config|errors|NAME)\b|^\s+\S")
_STATE = re.compile(r"^\s*state: (DEGRADED|FAULTED|UNAVAIL|SUSPENDED)")
_DISK = re.compile(
    r"^\s*((?!(?:mirror|raidz\d?|draid\S*|spare|replacing)-\d)[\w:./-]+)\s+(FAULTED|UNAVAIL|REMOVED|OFFLINE)\s+\d+\s+\d+\s+\d+"
)
_WORK = re.compile(r"^\s*scan: (scrub|resilver) in progress")


def read(block: Block) -> Parsed:
    """Into measurements of pools and disks."""
    parsed = _lines.read(block, TOOL, _LINES, _PASSED)
    pool = "pool"
    for line in block.lines:
        if found := re.match(r"\s*pool: (\S+)", line):
            pool = found[1]
        elif found := _STATE.match(line):
            parsed.measure(pool, "degraded", 1.0)
            parsed.note(f"{pool} is {found[1].lower()}")
        elif found := _DISK.match(line):
            parsed.measure(found[1], f"{found[2].lower()}_in_pool", 1.0)
        elif found := _WORK.match(line):
            parsed.measure(pool, f"{found[1]}_under_way", 1.0)
            parsed.note(f"{pool}: a {found[1]} is under way, which reads all of its disks")
    for row in _lines.measured(parsed):
        if str(row["metric"]).endswith("_errors") and row["value"]:
            parsed.note(
                f"{row['subject']} has {float(str(row['value'])):,.0f} {str(row['metric']).replace('_', ' ')}"
            )
    return parsed
