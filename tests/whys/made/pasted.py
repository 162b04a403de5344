"""What other tools' texts leave, made by hand."""

from pathlib import Path

from iowhy.recordings import Recording
from iowhy.recordings.manifest import Host, Manifest
from tests.in_memory import in_memory

from .base import DISK, Row, S


def pasted(folder: Path, tables: dict[str, list[Row]], *, cpus: int | None = None) -> Recording:
    """What `iowhy diagnose` would make of other tools' text."""
    manifest = Manifest.made(source="diagnose", mode="paste", host=Host(cpus=cpus))
    return in_memory(folder, manifest, tables)


def samples(
    *, seconds: int = 10, user: float, system: float, idle: float, iowait: float = 0.0
) -> list[Row]:
    """cpu_samples of a tool that prints shares of all CPUs together, each second."""
    return [
        {
            "ts_ns": at * S,
            "cpu": -1,
            "user_ns": int(at * S * user),
            "system_ns": int(at * S * system),
            "idle_ns": int(at * S * idle),
            "iowait_ns": int(at * S * iowait),
        }
        for at in range(seconds + 1)
    ]


def disk(
    *,
    seconds: int = 10,
    reads: float,
    read_bytes: float,
    wait_ns: float,
    busy: float,
    depth: float,
    dev: int = DISK,
) -> list[Row]:
    """disk_samples of a disk that reads at a steady rate."""
    return [
        {
            "ts_ns": at * S,
            "dev": dev,
            "reads": int(at * reads),
            "read_bytes": int(at * read_bytes),
            "read_ns": int(at * reads * wait_ns),
            "writes": 0,
            "written_bytes": 0,
            "write_ns": 0,
            "busy_ns": int(at * S * busy),
            "queue_ns": int(at * S * busy * depth),
        }
        for at in range(seconds + 1)
    ]
