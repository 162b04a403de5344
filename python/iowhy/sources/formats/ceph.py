"""Ceph: `ceph -s`, `health detail`, `osd perf` and `osd df`: slow operations, what recovers, how long commits take, how full OSDs are."""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines

NAME = "ceph"
TOOL = "ceph -s"
HINT = r"^\s*cluster:\s*$|^\s*health:\s+HEALTH_|^HEALTH_(?:WARN|ERR|OK)\b|^osd\s+commit_latency\(ms\)|slow ops, oldest one blocked for|^ID +CLASS +WEIGHT +REWEIGHT +SIZE\b"
BEGINS = r"osd\s|ID +CLASS"

_LINES = (
    re.compile(r"(?P<slow_operations>\d+) slow (?:ops|requests), oldest (?:one )?blocked for >? ?(?P<oldest_blocked_s>[\d.]+) sec"),
    re.compile(r"(?P<slow_operations>\d+) slow requests are blocked > (?P<oldest_blocked_s>[\d.]+) sec"),
    re.compile(r"(?P<slow_osds>\d+) OSD\(s\) experiencing slow operations"),
    re.compile(r"(?P<slow_operations>\d+) requests are blocked > (?P<oldest_blocked_s>[\d.]+) sec(?:; (?P<slow_osds>\d+) osds have slow requests)?"),
    re.compile(r"(?P<slow_operations>\d+) ops are blocked > (?P<oldest_blocked_s>[\d.]+) sec"),
    re.compile(r"^\s*osd: (?P<osds>\d+) osds: (?P<osds_up>\d+) up.*?(?P<osds_in>\d+) in"),
    re.compile(r"^\s*recovery: (?P<recovery_size>[\d.]+ [KMGT]?i?B)/s"),
    re.compile(r"^\s*client: +(?:(?P<client_read_size>[\d.]+ [KMGT]?i?B)/s rd, )?(?:(?P<client_write_size>[\d.]+ [KMGT]?i?B)/s wr)?"),
    re.compile(r"\((?P<degraded_percent>[\d.]+)%\)"),
    re.compile(r"^\s*(?P<subject>\d+)\s+(?P<commit_ms>\d+)\s+(?P<apply_ms>\d+)\s*$"),
    re.compile(r"^ *(?P<subject>\d+) +(?:\w+ +)?[\d.]+ +[\d.]+ +(?:[\d.]+ *(?:[KMGTP]i?)?B? +){2,6}(?P<used_percent>[\d.]+) +[\d.]+ +\d+\b"),
)  # fmt: skip
#: Of a log with many lines.
_WORST = ("slow_operations", "oldest_blocked_ns", "slow_osds")
_PASSED = re.compile(r"^\s*(?:[\w ]+:|\d+ |osd |\[|HEALTH|usage|pgs|ID +CLASS|MIN/MAX)|^\s+\S")


def read(block: Block) -> Parsed:
    """Into measurements of the cluster; of `osd perf` of each OSD."""
    parsed = _lines.read(block, TOOL, _LINES, _PASSED)
    rows = _lines.measured(parsed)
    worst = {metric: max((row for row in rows if row["metric"] == metric), key=lambda row: float(str(row["value"])), default=None) for metric in _WORST}  # fmt: skip
    rows[:] = [row for row in rows if worst.get(str(row["metric"]), row) is row]
    for row in rows:
        if row["metric"] in ("commit_ns", "apply_ns", "used_share"):
            row["subject"] = f"osd.{row['subject']}"
    return parsed
