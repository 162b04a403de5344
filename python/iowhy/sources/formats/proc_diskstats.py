"""Copies of /proc/diskstats: counters since boot; two copies make an interval.

Fields: Documentation/admin-guide/iostats.rst. Sectors are 512 bytes, times ms.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats._iostat import is_partition
from iowhy.sources.names import dev_number

NAME = "proc-diskstats"
TOOL = "cat /proc/diskstats"
HINT = r"^\s*\d{1,4}\s+\d{1,7}\s+[a-z][\w!/-]*(?:\s+\d+){11}"

SECTOR = 512
MS = 1_000_000
_ROW = re.compile(r"\s*(\d{1,4})\s+(\d{1,7})\s+([a-z][\w!/.-]*)((?:\s+\d{1,20}){11,17})\s*")
SURE = 0.8
NEAR = (f"^{_ROW.pattern}$", 1)


def read(block: Block) -> Parsed:
    """Into disk_samples, whole disks only; a disk met again begins the next copy."""
    parsed = Parsed(TOOL, units="sectors of 512 bytes, ms")
    rows: list[tuple[int, str, int, list[int]]] = []
    copy = 0
    seen: set[str] = set()
    for at, line in parsed.lines(block):
        match = _ROW.fullmatch(line)
        if match is None:
            parsed.reject(at, line)
            continue
        if match[3] in seen:
            copy += 1
            seen = set()
        seen.add(match[3])
        values = [min(int(word), 2**62) for word in match[4].split()]
        rows.append((copy, match[3], dev_number(int(match[1]), int(match[2])), values))
    names = [name for _, name, _, _ in rows]
    known = set(names)
    for copy, name, number, values in rows:
        if is_partition(name, list(known)):
            continue
        key = {"dev": block.names.disk(name, number)}
        parsed.snapshots.append(
            Snapshot("disk_samples", key, copy, counters(values), {"in_flight": values[8]})
        )
    if copy == 0:
        parsed.missing.append("cat /proc/diskstats; sleep 10; cat /proc/diskstats")
    return parsed


def counters(values: Sequence[int]) -> dict[str, int]:
    """The numbers behind the name, as counters of disk_samples."""
    found = {
        "reads": values[0],
        "reads_merged": values[1],
        "read_bytes": values[2] * SECTOR,
        "read_ns": values[3] * MS,
        "writes": values[4],
        "writes_merged": values[5],
        "written_bytes": values[6] * SECTOR,
        "write_ns": values[7] * MS,
        "busy_ns": values[9] * MS,
        "queue_ns": values[10] * MS,
    }
    if len(values) >= 15:
        found["discards"] = values[11]
        found["discarded_bytes"] = values[13] * SECTOR
    if len(values) >= 17:
        found["flushes"] = values[15]
        found["flush_ns"] = values[16] * MS
    return found
