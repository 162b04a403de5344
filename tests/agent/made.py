"""Intervals made by hand."""

from iowhy.agent.counted import Disk, Interval, Latency

S = 10**9
VDA = 254 << 20


def latency(measure: str = "sync", name: str | None = "fsync", **more: object) -> Latency:
    """By itself 100 syncs of the service db: 98 below 2 µs, two of 50 ms and more."""
    values: dict[str, object] = {
        "service": "db",
        "path": "/system.slice/db.service",
        "dev": VDA,
        "count": 100,
        "untimed": 0,
        "sum_ns": 10**8,
        "bytes": 0,
        "up_to_ns": [2048, 7 << 23],  # the bucket from 6 << 23 ns, 50.3 ms
        "counts": [98, 2],
    }
    return Latency(measure, name, **values | more)  # type: ignore[arg-type]


def interval(*latencies: Latency, length_ns: int = 10 * S, **more: object) -> Interval:
    """One with these times, on a machine that does nothing else."""
    values: dict[str, object] = {
        "at_ns": 5,
        "interval_ns": length_ns,
        "latencies": latencies,
        "counts": (),
        "pressure": {},
        "disks": (),
        "waiting": 0,
        "lost": 0,
        "devices": {VDA: "vda"},
        "mounts": {},
        "closed": (),
    }
    return Interval(**values | more)  # type: ignore[arg-type]


def disk(utilisation: float | None) -> Disk:
    """vda, with as many reads as writes."""
    return Disk(VDA, 3, 3, 4096, 8192, utilisation)
