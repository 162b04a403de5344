"""A control group's memory.stat, versions 1 and 2: its page cache and memory now, refaults and faults since it began.

Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/memory.rst: bytes. A refault is a page that was evicted and is read
again; version 1's limit of 2^63 less a page is none.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.formats import _cgroup

NAME = "cgroup-memory-stat"
TOOL = "cat memory.stat"
HINT = r"^(?:/\S*memory\.stat:)?(?:anon|cache) \d+$|^==> \S*/memory\.stat"

_LINE = re.compile(r"([a-z_0-9]{3,40}) (\d{1,19})")
#: No machine has as much: the group has no limit.
UNLIMITED = 2**60
_SINCE = {
    "workingset_refault_file": "refaulted_file_pages",
    "workingset_refault": "refaulted_file_pages",
    "pgmajfault": "major_faults",
    "pgscan_direct": "direct_scan_pages",
}
_NOW = {
    "file_dirty": "dirty_bytes",
    "dirty": "dirty_bytes",
    "file_writeback": "writeback_bytes",
    "anon": "anonymous_bytes",
    "rss": "anonymous_bytes",
    "slab": "slab_bytes",
}
BEGINS = "==>"
NEAR = (r"^==>|(?:^|:)\s*(?:file|rss) \d", 2)


def read(block: Block) -> Parsed:
    """Into cgroup_samples (page cache, limit; refaults if there are two copies) and measurements."""
    parsed = Parsed(TOOL, units="bytes, pages")
    for group, found in _cgroup.copies(block, parsed, _LINE).items():
        _emit(parsed, group, found)
    return parsed


def _emit(parsed: Parsed, group: str, found: Sequence[dict[str, int]]) -> None:
    last = found[-1]
    for name, metric in _NOW.items():
        if name in last:
            parsed.measure(group, metric, float(last[name]))
    for name, metric in _SINCE.items():
        if name in last:
            before = found[0].get(name, 0) if len(found) > 1 else 0
            parsed.measure(group, metric, float(last[name] - before))
    cached = last.get("file", last.get("cache"))
    limit = last.get("hierarchical_memory_limit")
    row: dict[str, object] = {"ts_ns": 0, "path": group, "cached_bytes": cached}
    if limit is not None and limit < UNLIMITED:
        row["memory_limit_bytes"] = limit
    if len(found) == 1:
        parsed.add("cgroup_samples", row)
        parsed.partial = _cgroup.SINCE_IT_BEGAN
        parsed.missing.append("cat memory.stat; sleep 10; cat memory.stat")
        return
    for copy, values in enumerate(found):
        refaults = values.get("workingset_refault_file", values.get("workingset_refault"))
        counters = {} if refaults is None else {"refault_file_pages": refaults}
        levels = {"cached_bytes": values.get("file", values.get("cache"))}
        parsed.snapshots.append(Snapshot("cgroup_samples", {"path": group}, copy, counters, levels))
