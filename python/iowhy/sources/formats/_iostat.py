"""What iostat's reports mean, for its text and its JSON alike.

Column names over the versions: iostat(1) of sysstat 9 to 12. kB is 1024 bytes, a sector 512; waits
are milliseconds; `await` of the old layout covers reads and writes together.
"""

import re
from collections.abc import Mapping, Sequence

from msgspec import Struct, field

from iowhy.sources.format import Parsed
from iowhy.sources.names import Names
from iowhy.sources.numbers import KIB, MIB, NS_PER_S

SECTOR = 512
MS = 1_000_000
#: Utilisation that the jitter of short intervals may print.
JITTER = 1.5
FIRST = "the first report of iostat is an average since boot, and not taken for load"


class Report(Struct):
    """One report: CPU percentages by name, and per device its columns."""

    wall_ns: int | None = None
    cpu: dict[str, float] = field(default_factory=dict)
    devices: dict[str, dict[str, float]] = field(default_factory=dict)
    has_devices: bool = False
    sections: set[str] = field(default_factory=set)
    #: Some of its rows may be missing.
    cut: bool = False


def cpu_counters(cpu: Mapping[str, float], interval_ns: int) -> dict[str, float]:
    """Percentages of iostat, mpstat and sar -u as nanoseconds of an interval."""
    percent = interval_ns / 100

    def share(*names: str) -> float:
        return sum(cpu.get(name, 0.0) for name in names) * percent

    counters = {
        "user_ns": share("user", "usr", "nice", "guest", "gnice"),
        "system_ns": share("system", "sys"),
        "idle_ns": share("idle"),
    }
    if "iowait" in cpu:  # BSD counts it as idle
        counters["iowait_ns"] = share("iowait")
    if {"irq", "soft"} & cpu.keys():
        counters["irq_ns"] = share("irq", "soft")
    if "steal" in cpu:
        counters["steal_ns"] = share("steal")
    return counters


def rate(row: Mapping[str, float], sectors: str, kilo: str, mega: str) -> float | None:
    """A throughput in bytes per second from whichever of three columns there is."""
    for name, unit in ((kilo, KIB), (mega, MIB), (sectors, SECTOR)):
        if name in row:
            return row[name] * unit
    return None


def device_counters(row: Mapping[str, float], interval_ns: int) -> dict[str, float] | None:
    """Columns of `iostat -x` as counters of disk_samples; None when reads and writes are not apart."""
    read = rate(row, "rsec/s", "rkB/s", "rMB/s")
    written = rate(row, "wsec/s", "wkB/s", "wMB/s")
    if read is None or written is None or "r/s" not in row or "w/s" not in row:
        return None
    seconds = interval_ns / NS_PER_S
    reads, writes = row["r/s"] * seconds, row["w/s"] * seconds
    counters = {
        "reads": reads,
        "writes": writes,
        "read_bytes": read * seconds,
        "written_bytes": written * seconds,
    }
    if "rrqm/s" in row and "wrqm/s" in row:
        counters["reads_merged"] = row["rrqm/s"] * seconds
        counters["writes_merged"] = row["wrqm/s"] * seconds
    if "r_await" in row and "w_await" in row:
        counters["read_ns"] = row["r_await"] * MS * reads
        counters["write_ns"] = row["w_await"] * MS * writes
    elif "await" in row:
        # One mean over both: each request's share of it is the best that can be said.
        counters["read_ns"] = row["await"] * MS * reads
        counters["write_ns"] = row["await"] * MS * writes
    for name in ("aqu-sz", "avgqu-sz"):
        if name in row:
            counters["queue_ns"] = row[name] * interval_ns
    for name in ("%util", "util"):
        if name in row:
            # Rounding and jitter take it above 100 %; what is far above is damage (`plausible`).
            share = row[name] / 100
            counters["busy_ns"] = (min(share, 1.0) if share <= JITTER else share) * interval_ns
    if "d/s" in row and (discarded := rate(row, "dsec/s", "dkB/s", "dMB/s")) is not None:
        counters["discards"] = row["d/s"] * seconds
        counters["discarded_bytes"] = discarded * seconds
    if "f/s" in row:
        counters["flushes"] = row["f/s"] * seconds
        counters["flush_ns"] = row.get("f_await", 0.0) * MS * row["f/s"] * seconds
    return counters


def add_cpu(
    parsed: Parsed, shares: Mapping[str, float], start_ns: int, interval_ns: int, cpu: int = -1
) -> None:
    """Percentages of a CPU, or of all, as an interval of cpu_samples."""
    counters = cpu_counters(shares, interval_ns)
    parsed.intervals.add("cpu_samples", {"cpu": cpu}, start_ns, interval_ns, counters)


def add_disk(
    parsed: Parsed,
    names: Names,
    disk: str,
    row: Mapping[str, float],
    start_ns: int,
    interval_ns: int,
    level: str = "",
) -> bool:
    """Columns of a disk as an interval of disk_samples, if reads and writes are apart; `level`: the column of requests in flight."""
    counters = device_counters(row, interval_ns)
    if counters is None:
        return False
    levels = {"in_flight": int(row[level])} if level in row else {}
    key = {"dev": names.disk(disk)}
    parsed.intervals.add("disk_samples", key, start_ns, interval_ns, counters, levels)
    return True


def is_partition(name: str, all_names: Sequence[str]) -> bool:
    """Whether a device is a part of another one that is listed too (sda1 of sda)."""
    match = re.fullmatch(r"(.*\D)(\d+)|(.*\d)p(\d+)", name)
    if match is None:
        return False
    whole = match[3] or match[1]
    return whole in all_names or (whole.endswith("p") and whole[:-1] in all_names)


def idle_left_out(reports: Sequence[Report]) -> bool:
    """Whether some of them show that devices without a request are not printed (-z)."""
    seen = {name for report in reports for name in report.devices}
    return any(0 < len(one.devices) < len(seen) for one in reports if not one.cut)


def emit(
    parsed: Parsed,
    reports: Sequence[Report],
    names: Names,
    *,
    since_boot: bool,
    interval_ns: int | None,
    left_out: bool = True,
) -> None:
    """Put reports into cpu_samples and disk_samples (or measurements, for plain `iostat -d`).

    `left_out`: devices without a request are not printed (-z).
    """
    if reports and not left_out:
        reports[-1].cut = True
    seen = list(dict.fromkeys(name for report in reports for name in report.devices))
    for report in reports:
        # A header alone is no interval of zeros.
        report.has_devices &= bool(report.devices) or (left_out and not report.cut)
    reports = [one for one in reports if one.cpu or one.has_devices]
    load = list(reports)
    if since_boot and load:
        _since_boot(parsed, load[0])
        load = load[1:]
        parsed.note(FIRST)
        if not load:
            parsed.note("iostat has nothing but averages since boot")
            parsed.missing.append("iostat -x 1 10")
    dates = [report.wall_ns for report in reports if report.wall_ns is not None]
    dated = bool(load) and len(dates) == len(reports)
    interval_ns = parsed.length_ns(interval_ns, load, dates if dated else ())
    if dated:
        parsed.clock = "wall"
    wholes = [name for name in seen if not is_partition(name, seen)]
    layouts = {name: columns for report in reports for name, columns in report.devices.items()}
    for at, report in enumerate(load):
        end = report.wall_ns if dated and report.wall_ns is not None else (at + 1) * interval_ns
        start = end - interval_ns
        if report.cpu:
            add_cpu(parsed, report.cpu, start, interval_ns)
        if not report.has_devices:
            continue
        for name in wholes:
            row = report.devices.get(name)
            if row is None and report.cut:
                continue
            # With -z an idle device is not printed: all its columns were zero.
            row = row or dict.fromkeys(layouts[name], 0.0)
            if not add_disk(parsed, names, name, row, start, interval_ns):
                _plain(parsed, end, name, row, "")
    _waits(parsed, load, wholes)
    apart = any(one.table == "disk_samples" for one in parsed.intervals)
    if load and wholes and not apart and "iostat -x 1 10" not in parsed.missing:
        parsed.missing.append("iostat -x 1 10")


def _waits(parsed: Parsed, load: Sequence[Report], names: Sequence[str]) -> None:
    """How long requests of each kind take: as printed, which counts of a second would round."""
    for name in names:
        rows = [report.devices[name] for report in load if name in report.devices]
        for kind, letter in (("reads", "r"), ("writes", "w"), ("flushes", "f")):
            # Old layouts have one mean for reads and writes.
            times = [
                (row[f"{letter}/s"], row.get(f"{letter}_await", row.get("await", 0.0)) * MS)
                for row in rows
                if row.get(f"{letter}/s")
            ]
            if not any(time for _, time in times):
                continue
            count = sum(rate for rate, _ in times)
            values = {
                "per_s": count / len(rows),
                "mean_ns": sum(rate * time for rate, time in times) / count,
                "least_ns": min(time for _, time in times),
                "most_ns": max(time for _, time in times),
            }
            for metric, value in values.items():
                parsed.measure(name, f"{kind}_{metric}", value)
        queues = [row.get("aqu-sz", row.get("avgqu-sz")) for row in rows]
        known = [queue for queue in queues if queue is not None]
        parsed.measure(name, "queue_length", sum(known) / len(known) if known else None)


def _since_boot(parsed: Parsed, report: Report) -> None:
    for name, row in report.devices.items():
        _plain(parsed, None, name, row, "since_boot_")


def _plain(
    parsed: Parsed, ts_ns: int | None, name: str, row: Mapping[str, float], prefix: str
) -> None:
    values = {
        "operations_per_s": row.get("tps", _sum(row, "r/s", "w/s")),
        "read_bytes_per_s": rate(row, "rsec/s", "rkB/s", "rMB/s")
        if _has(row, "rsec/s", "rkB/s", "rMB/s")
        else rate(row, "Blk_read/s", "kB_read/s", "MB_read/s"),
        "written_bytes_per_s": rate(row, "wsec/s", "wkB/s", "wMB/s")
        if _has(row, "wsec/s", "wkB/s", "wMB/s")
        else rate(row, "Blk_wrtn/s", "kB_wrtn/s", "MB_wrtn/s"),
        "busy_share": row["%util"] / 100 if "%util" in row else None,
    }
    for metric, value in values.items():
        parsed.measure(name, prefix + metric, value, ts_ns)


def _has(row: Mapping[str, float], *names: str) -> bool:
    return any(name in row for name in names)


def _sum(row: Mapping[str, float], *names: str) -> float | None:
    return sum(row[name] for name in names) if all(name in row for name in names) else None
