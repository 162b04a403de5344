"""A page of Prometheus' node_exporter: counters of disks and pressure since boot; two pages make an interval.

Names: the exporter's collectors diskstats, pressure, time. Seconds are sums; a disk's counters are those of /proc/diskstats.
"""

import re
from collections import defaultdict

from iowhy.sources.format import Block, Parsed, Snapshot
from iowhy.sources.numbers import LARGEST, NS_PER_S

NAME = "node-exporter"
TOOL = "node_exporter"
HINT = r"^node_(?:disk|pressure|time|boot|memory|load)\w*(?:\{[^}]*\})? [\d.eE+-]+$|^# (?:HELP|TYPE) node_"

_SAMPLE = re.compile(r"(node_\w{1,100})(?:\{([^}]{0,500})\})? ([\d.eE+-]{1,40})(?: \d+)?")
_DEVICE = re.compile(r'device="([^"]{1,64})"')
_DISK = {
    "reads_completed_total": ("reads", 1), "reads_merged_total": ("reads_merged", 1), "read_bytes_total": ("read_bytes", 1),
    "read_time_seconds_total": ("read_ns", NS_PER_S), "writes_completed_total": ("writes", 1),
    "writes_merged_total": ("writes_merged", 1), "written_bytes_total": ("written_bytes", 1),
    "write_time_seconds_total": ("write_ns", NS_PER_S), "io_time_seconds_total": ("busy_ns", NS_PER_S),
    "io_time_weighted_seconds_total": ("queue_ns", NS_PER_S),
}  # fmt: skip


def read(block: Block) -> Parsed:
    """Into disk_samples (two pages or more), and measurements since boot: what a read and a write take, how busy a disk was."""
    parsed = Parsed(TOOL, units="counters since boot")
    pages: list[dict[str, dict[str, int]]] = []
    levels: dict[str, float] = {}
    for at, line in parsed.lines(block):
        match = _SAMPLE.fullmatch(line.strip())
        if match is None:
            if not re.match(r"#|[a-z_:]\w*(?:\{.*\})? [\d.eE+-]+$|[a-z_:]\w*(?:\{.*\})? NaN$", line.strip()):  # fmt: skip
                parsed.reject(at, line)
            continue
        try:
            value = float(match[3])
        except ValueError:
            parsed.reject(at, line)
            continue
        device, name = _DEVICE.search(match[2] or ""), match[1].removeprefix("node_disk_")
        if device is None or name not in _DISK or not 0 <= value <= LARGEST:
            levels[match[1]] = value
            continue
        metric, times = _DISK[name]
        if not pages or metric in pages[-1].get(device[1], {}):
            pages.append(defaultdict(dict))
        pages[-1][device[1]][metric] = round(value * times)
    for copy, page in enumerate(pages):
        for name, counters in page.items():
            key = {"dev": block.names.disk(name)}
            parsed.snapshots.append(Snapshot("disk_samples", key, copy, counters))
    _since_boot(parsed, pages[-1] if pages else {}, levels)
    return parsed


def _since_boot(parsed: Parsed, page: dict[str, dict[str, int]], levels: dict[str, float]) -> None:
    up_s = levels.get("node_time_seconds", 0.0) - levels.get("node_boot_time_seconds", 0.0)
    for name, counters in page.items():
        for kind in ("read", "write"):
            if counters.get(f"{kind}s"):
                parsed.measure(name, f"since_boot_{kind}_mean_ns", counters.get(f"{kind}_ns", 0) / counters[f"{kind}s"])  # fmt: skip
        if 0 < up_s < LARGEST and levels.get("node_boot_time_seconds"):
            parsed.measure(name, "since_boot_busy_share", counters.get("busy_ns", 0) / NS_PER_S / up_s)  # fmt: skip
    for kind in ("io", "memory", "cpu"):
        stalled = levels.get(f"node_pressure_{kind}_waiting_seconds_total")
        if stalled is not None and up_s > 0 and levels.get("node_boot_time_seconds"):
            parsed.measure(kind, "since_boot_some_stalled_share", stalled / up_s)
    parsed.missing.append(
        "curl -s localhost:9100/metrics; sleep 10; curl -s localhost:9100/metrics"
    )
