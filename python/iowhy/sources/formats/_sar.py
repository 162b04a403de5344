"""What sar's columns mean: for its text, for sadf's JSON, and for other tools that sample the same counters.

Manual: sar(1). kB are 1024 bytes, pages are 4 KiB where they count; `bread/s` are sectors of 512 bytes.
`sar -d` counts transfers of both directions together, so its devices go to measurements; with the columns of
`iostat -x` they are disk_samples.
"""

from collections.abc import Mapping

from iowhy.sources.format import Parsed
from iowhy.sources.formats._iostat import add_cpu, add_disk
from iowhy.sources.names import Names
from iowhy.sources.numbers import KIB, MIB, NS_PER_S

#: Column → counter of vm_samples, with what one of it is.
VM_COUNTERS = {
    "cswch/s": ("context_switches", 1),
    "proc/s": ("forks", 1),
    "pgpgin/s": ("page_in_bytes", KIB),
    "pgpgout/s": ("page_out_bytes", KIB),
    "pswpin/s": ("swap_in_pages", 1),
    "pswpout/s": ("swap_out_pages", 1),
    "majflt/s": ("major_faults", 1),
    "pgscand/s": ("direct_scan_pages", 1),
    "pgscank/s": ("kswapd_scan_pages", 1),
}
VM_LEVELS = {"runq-sz": "procs_running", "blocked": "procs_blocked"}
MEMORY = {
    "kbmemfree": "free_bytes",
    "kbavail": "available_bytes",
    "kbcached": "cached_bytes",
    "kbbuffers": "buffers_bytes",
    "kbdirty": "dirty_bytes",
    "kbanonpg": "anonymous_bytes",
    "kbslab": "slab_bytes",
    "kbswpfree": "swap_free_bytes",
}
PRESSURE = {
    "%scpu": ("cpu", "some"),
    "%sio": ("io", "some"),
    "%fio": ("io", "full"),
    "%smem": ("memory", "some"),
    "%fmem": ("memory", "full"),
}
#: Percentages are printed with two digits.
ROUNDING = 0.006


class Collected:
    """Columns of one instant, from whichever tables of sar hold them."""

    def __init__(self, start_ns: int, end_ns: int) -> None:
        self.start_ns = start_ns
        self.end_ns = end_ns
        self.machine: dict[str, float] = {}
        self.cpus: dict[int, dict[str, float]] = {}
        self.disks: dict[str, dict[str, float]] = {}

    def emit(self, parsed: Parsed, names: Names | None = None) -> None:
        """Into cpu_samples, vm_samples, memory_samples, pressure_samples, measurements and disk_samples.

        `names` where disks have reads and writes apart.
        """
        interval = self.end_ns - self.start_ns
        seconds = interval / NS_PER_S
        for cpu, values in self.cpus.items():
            add_cpu(parsed, values, self.start_ns, interval, cpu)
        counters = {
            counter: self.machine[column] * unit * seconds
            for column, (counter, unit) in VM_COUNTERS.items()
            if column in self.machine
        }
        levels: dict[str, int | None] = {
            level: int(self.machine[column])
            for column, level in VM_LEVELS.items()
            if column in self.machine
        }
        if counters or levels:
            parsed.intervals.add("vm_samples", {}, self.start_ns, interval, counters, levels)
        memory: dict[str, object] = {
            name: round(self.machine[column] * KIB)
            for column, name in MEMORY.items()
            if column in self.machine
        }
        total = _memory_kib(self.machine)
        if total is not None:
            parsed.host.setdefault("memory_bytes", round(total * KIB))
        if memory:
            parsed.add("memory_samples", {"ts_ns": self.end_ns, **memory})
        for column, (resource, kind) in PRESSURE.items():
            if column in self.machine:
                parsed.intervals.add(
                    "pressure_samples",
                    {"scope": "machine", "resource": resource, "kind": kind},
                    self.start_ns,
                    interval,
                    {"total_ns": self.machine[column] / 100 * interval},
                )
        self._disks(parsed, names)

    def _disks(self, parsed: Parsed, names: Names | None) -> None:
        interval = self.end_ns - self.start_ns
        for disk, values in self.disks.items():
            if names is None or not add_disk(parsed, names, disk, values, self.start_ns, interval):
                self._disk(parsed, disk, values)

    def _disk(self, parsed: Parsed, disk: str, values: Mapping[str, float]) -> None:
        metrics = {
            "operations_per_s": (("tps", 1.0),),
            "read_bytes_per_s": (("rkB/s", KIB), ("rMB/s", MIB), ("rd_sec/s", 512)),
            "written_bytes_per_s": (("wkB/s", KIB), ("wMB/s", MIB), ("wr_sec/s", 512)),
            "wait_mean_ns": (("await", 1e6),),
            "read_wait_mean_ns": (("r_await", 1e6),),
            "write_wait_mean_ns": (("w_await", 1e6),),
            "queue_mean": (("aqu-sz", 1.0), ("avgqu-sz", 1.0)),
            "busy_share": (("%util", 0.01),),
        }
        for metric, columns in metrics.items():
            for column, unit in columns:
                # An interval without a read has none that waits.
                if column in values and (values[column] or not column.endswith("_await")):
                    parsed.measure(disk, metric, values[column] * unit, self.end_ns)
                    break


def _memory_kib(columns: Mapping[str, float]) -> float | None:
    """The machine's memory, where free and used are all of it; since sysstat 12 the cache is in neither of them."""
    free, used = columns.get("kbmemfree"), columns.get("kbmemused")
    if free is None or used is None or free + used <= 0:
        return None
    printed = columns.get("%memused")
    whole = printed is None or abs(100 * used / (free + used) - printed) <= ROUNDING
    return free + used if whole else None
