"""`vmstat -d`: each disk's requests since boot, narrow, wide (-w) and dated (-t); two reports make an interval.

Manual: vmstat(8). Sectors are of 512 bytes. The last column is busy time in whole seconds: too coarse for a share.
"""

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of, wall_ns
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._iostat import is_partition
from iowhy.sources.numbers import NS_PER_S

NAME = "vmstat-disks"
TOOL = "vmstat -d"
HINT = r"^disk- -{3,}reads-.*writes"
SURE = 0.95

MS = 1_000_000
_ROW = re.compile(
    r"\s*([A-Za-z][\w!/.-]{0,31})((?:\s+\d{1,18}){10})(?:\s+(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d))?\s*"
)
_TITLES = re.compile(r"\s*total\s+merged\s+sectors\s+ms\b.*")
_COLUMNS = (
    ("reads", 1), ("reads_merged", 1), ("read_bytes", 512), ("read_ns", MS),
    ("writes", 1), ("writes_merged", 1), ("written_bytes", 512), ("write_ns", MS),
)  # fmt: skip


def read(block: Block) -> Parsed:
    """Into disk_samples, whole disks only; the first report is since boot."""
    parsed = Parsed(TOOL, units="sectors of 512 bytes, ms")
    reports: list[dict[str, tuple[int | None, list[int]]]] = []
    for at, line in parsed.lines(block):
        if match := _ROW.fullmatch(line):
            if not reports or match[1] in reports[-1]:
                reports.append({})
            when = wall_ns(match[3]) if match[3] else None
            reports[-1][match[1]] = when, [int(word) for word in match[2].split()]
        elif not line.startswith("disk-") and not _TITLES.fullmatch(line):
            parsed.reject(at, line)
    if len(reports) < 2:
        parsed.note("one report of vmstat -d is since boot, and not taken for load")
        parsed.missing.append("vmstat -d 10 2")
        return parsed
    _emit(parsed, reports, block)
    return parsed


def _emit(
    parsed: Parsed, reports: Sequence[dict[str, tuple[int | None, list[int]]]], block: Block
) -> None:
    usual = interval_of(block.command)
    dated = all(when is not None for report in reports for when, _ in report.values())
    if usual is None and not dated:
        usual = NS_PER_S
        parsed.note("the interval of vmstat -d is not shown: 1 s is assumed")
    parsed.clock = "wall" if dated else "own"
    names = list(reports[0])
    for at in range(1, len(reports)):
        for name, (when, now) in reports[at].items():
            if name not in reports[at - 1] or is_partition(name, names):
                continue
            before_when, before = reports[at - 1][name]
            end = when if dated and when is not None else at * (usual or NS_PER_S)
            start = before_when if dated and before_when is not None else end - (usual or NS_PER_S)
            counters = {
                column: float((now[i] - before[i]) * unit)
                for i, (column, unit) in enumerate(_COLUMNS)
            }
            if end <= start or min(counters.values()) < 0:
                continue
            key = {"dev": block.names.disk(name)}
            parsed.intervals.add(
                "disk_samples", key, start, end - start, counters, {"in_flight": now[8]}
            )
