"""`fio --output-format=json` (and json+), with warnings printed around it.

fio's documentation, "JSON output": bw in KiB/s (bw_bytes since 3.0), latencies in ns since 3.0
(clat_ns, lat_ns) and in µs before (clat, lat); old versions print the same key twice.
"""

from collections.abc import Mapping

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._json import items, mapping, real, reals, value_of
from iowhy.sources.numbers import KIB

NAME = "fio"
LONG_LINES = True
HINT = r"^\s*\{\s*(?:$|\"fio version\")"

MS = 1_000_000
DIRECTIONS = (("read", "read"), ("write", "write"), ("trim", "trim"))
SURE = 0.95
BEGINS = ""
NEAR = ('"fio version"', 8)


def read(block: Block) -> Parsed:
    """Into measurements: subject is the job."""
    parsed = Parsed(NAME)
    value = mapping(value_of(block, parsed))
    version = value.get("fio version")
    parsed.version = version if isinstance(version, str) else None
    jobs = [mapping(job) for job in items(value.get("jobs"))]
    seen: dict[str, int] = {}
    for job in jobs:
        name = str(job.get("jobname", "job"))[:200]
        seen[name] = seen.get(name, 0) + 1
        subject = name if seen[name] == 1 else f"{name} #{seen[name]}"
        _job(parsed, subject, job)
    for used in items(value.get("disk_util")):
        disk = mapping(used)
        device = disk.get("name")
        util = real(disk.get("util"))
        if isinstance(device, str) and util is not None:
            parsed.measure(device, "busy_share", min(util / 100, 1.0))
    parsed.units = "KiB/s; latencies in ns (before fio 3.0 in µs)"
    return parsed


def _job(parsed: Parsed, subject: str, job: Mapping[str, object]) -> None:
    for section, name in DIRECTIONS:
        side = mapping(job.get(section))
        numbers = reals(side)
        if not numbers.get("io_bytes", numbers.get("iops", 0.0)):
            continue
        parsed.measure(subject, f"{name}_iops", numbers.get("iops"))
        parsed.measure(subject, f"{name}_bytes_per_s", numbers.get("bw_bytes"))
        if "bw_bytes" not in numbers:
            parsed.measure(subject, f"{name}_bytes_per_s", numbers.get("bw"), unit=KIB)
        parsed.measure(subject, f"{name}_count", numbers.get("total_ios"))
        parsed.measure(subject, f"{name}_runtime_ns", numbers.get("runtime"), unit=MS)
        for key, short in (("lat", "lat"), ("clat", "clat"), ("slat", "slat")):
            mean, unit = _latency(side, key)
            parsed.measure(subject, f"{name}_{short}_mean_ns", mean.get("mean"), unit=unit)
            parsed.measure(subject, f"{name}_{short}_max_ns", mean.get("max"), unit=unit)
        details, unit = _percentiles(side)
        parsed.measure(subject, f"{name}_clat_p99_ns", details.get("99.000000"), unit=unit)
    sync = mapping(job.get("sync"))
    mean, unit = _latency(sync, "lat")
    if reals(sync).get("total_ios"):
        parsed.measure(subject, "sync_count", reals(sync)["total_ios"])
        parsed.measure(subject, "sync_lat_mean_ns", mean.get("mean"), unit=unit)
    numbers = reals(job)
    for key, metric in (("usr_cpu", "cpu_user_share"), ("sys_cpu", "cpu_kernel_share")):
        parsed.measure(subject, metric, numbers.get(key), unit=0.01)
    parsed.measure(subject, "context_switches", numbers.get("ctx"))
    parsed.measure(subject, "error", numbers.get("error"))


def _latency(side: Mapping[str, object], name: str) -> tuple[dict[str, float], float]:
    if f"{name}_ns" in side:
        return reals(side[f"{name}_ns"]), 1.0
    return reals(side.get(name)), 1000.0


def _percentiles(side: Mapping[str, object]) -> tuple[dict[str, float], float]:
    key, unit = ("clat_ns", 1.0) if "clat_ns" in side else ("clat", 1000.0)
    return reals(mapping(side.get(key)).get("percentile")), unit
