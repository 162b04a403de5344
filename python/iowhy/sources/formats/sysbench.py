"""`sysbench`: fileio (reads, writes, fsyncs a second) and oltp (transactions), versions 0.4, 0.5 and 1.

sysbench's README. MiB are 2^20 bytes; version 0.4's Mb are too. Latencies of fileio are of reads, writes and fsyncs
together, of oltp those of whole transactions.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, MIB, number

NAME = "sysbench"
HINT = r"^sysbench \d|^File operations:|^Throughput:\s*$|^Threads started!|^OLTP test statistics:|^SQL statistics:"
BEGINS = "sysbench "
NEAR = (r"sysbench|^Threads|: *\d|reads/s|read, MiB/s|^OLTP|^SQL|queries", 8)

_VALUE = re.compile(
    r"\s*([A-Za-z0-9][\w /,.()-]{1,48}?):\s*([\d.]{1,20})\s*(ms|s|Mb|Kb|b)?\b\s*(?:\(\s*([\d.]{1,20}) per sec\.?\))?.*"
)
_INTERVAL = re.compile(
    r"\[ (\d{1,9})s \] reads: ([\d.]+) MiB/s writes: ([\d.]+) MiB/s fsyncs: ([\d.]+)/s latency \(ms,(\d+)%\): ([\d.]+)"
)
_OLTP_INTERVAL = re.compile(
    r"\[ (\d{1,9})s \] thds: \d+ tps: ([\d.]+) qps: ([\d.]+).*lat \(ms,(\d+)%\): ([\d.]+).*"
)
_METRICS = {
    "reads/s": ("reads_per_s", 1.0),
    "writes/s": ("writes_per_s", 1.0),
    "fsyncs/s": ("fsyncs_per_s", 1.0),
    "read, mib/s": ("read_bytes_per_s", MIB),
    "written, mib/s": ("written_bytes_per_s", MIB),
    "total time": ("elapsed_s", 1.0),
    "total number of events": ("events", 1.0),
    "min": ("latency_min_ns", 1e6),
    "avg": ("latency_mean_ns", 1e6),
    "max": ("latency_max_ns", 1e6),
    "sum": ("latency_sum_ns", 1e6),
    "approx.  95 percentile": ("latency_p95_ns", 1e6),
    "approx. 95 percentile": ("latency_p95_ns", 1e6),
    "95th percentile": ("latency_p95_ns", 1e6),
    "99th percentile": ("latency_p99_ns", 1e6),
    "number of threads": ("threads", 1.0),
}  # fmt: skip
_OLD = re.compile(
    r"Read ([\d.]+)([KMG]?)b\s+Written ([\d.]+)([KMG]?)b\s+Total transferred [\d.]+[KMG]?b\s+\(([\d.]+)([KMG]?)b/sec\)"
)
_OPTIONS = re.compile(
    r"sysbench \d|Running the test|Initializ|Threads started|Extra file|\d+ files|[\d.]+[KMGT]i?[Bb] total|Block size|"
    r"Number of|Read/Write|Periodic FSYNC|Calling fsync|Using |Doing |Report |Warm|File operations|Throughput|"
    r"General stat|Latency|Threads fairness|Test execution|OLTP test|SQL stat|queries performed|response time|"
    r"per-request|Done|WARNING|Operations performed|Maximum|Time limit|\[|Random|Percentile|.*\(avg/stddev\)|.*\|"
)


def read(block: Block) -> Parsed:
    """Into measurements: subject is "sysbench"; its own lines of progress with their time."""
    parsed = Parsed(NAME, units="MiB/s; ms; per second")
    found: dict[str, float] = {}
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _INTERVAL.fullmatch(text):
            _progress(parsed, int(match[1]), {
                "read_bytes_per_s": (match[2], MIB), "written_bytes_per_s": (match[3], MIB),
                "fsyncs_per_s": (match[4], 1.0), f"latency_p{match[5][:2]}_ns": (match[6], 1e6),
            })  # fmt: skip
        elif match := _OLTP_INTERVAL.fullmatch(text):
            _progress(parsed, int(match[1]), {
                "transactions_per_s": (match[2], 1.0), "queries_per_s": (match[3], 1.0),
                f"latency_p{match[4][:2]}_ns": (match[5], 1e6),
            })  # fmt: skip
        elif match := _OLD.fullmatch(text):
            speed = number(match[5])
            if speed is not None:
                found.setdefault("bytes_per_s", speed * KIB ** " KMG".index(match[6] or " "))
        elif text.startswith("sysbench ") and (version := re.match(r"sysbench (\d[\w.-]*)", text)):
            parsed.version = version[1].rstrip(":")
        elif not _value(found, line) and not _OPTIONS.match(text):
            parsed.reject(at, line)
    if found and "--file-test-mode=rnd" in " ".join(block.command or ()):
        found["random"] = 1.0
    parsed.measures("sysbench", found)
    if found.get("fsyncs_per_s"):
        parsed.note(
            f"sysbench: {found['fsyncs_per_s']:,.0f} fsyncs a second; its latencies are of reads, writes and fsyncs together"
        )
        parsed.missing.append("sudo iowhy run -- CMD")
    return parsed


def _progress(parsed: Parsed, second: int, values: dict[str, tuple[str, float]]) -> None:
    for metric, (text, unit) in values.items():
        parsed.measure("sysbench progress", metric, number(text), second * 10**9, unit)


def _value(found: dict[str, float], line: str) -> bool:
    """A line "name: value", also one of which nothing is kept."""
    match = _VALUE.fullmatch(line)
    if match is None:
        return False
    name, value = match[1].lower(), number(match[2])
    if name in {"transactions", "queries"} and match[4]:
        rate = number(match[4])
        if rate is not None:
            found.setdefault(f"{name}_per_s", rate)
    elif name in _METRICS and value is not None:
        metric, unit = _METRICS[name]
        found.setdefault(metric, value * unit)
    return True
