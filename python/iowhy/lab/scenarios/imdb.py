"""Case 1: an in-memory database saves 4 MiB regions with mmap and msync into a file that is scattered."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iowhy.errors import Problem
from iowhy.lab import ageing
from iowhy.lab.disks import MIB
from iowhy.lab.filesystems import Filesystem
from iowhy.lab.scenario import CPU, Figure, Plan, Scenario, Variant, per_disk, said
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage

_FILE_MIB = 64
_DISK_MIB = 1024
_THREADS = 8
_UNIT = MIB


def _broken(stage: Stage) -> Plan:
    size = stage.choice.size(_FILE_MIB)
    filesystem = _filesystem(stage, size)
    # Today's filesystems allocate well even for this program; years of use are what scatters its files.
    # As in the case, the file is empty and its threads allocate what they write.
    _age(stage, filesystem, size)
    return Plan((*_database(stage, _table(filesystem), size), "--truncate"))


def _large_units(stage: Stage) -> Plan:
    """The same age and the same empty file, where space is handed out in units of 1 MiB.

    On ext4 by clusters (bigalloc), on XFS by a hint of the extent size that the files inherit.
    """
    size = stage.choice.size(_FILE_MIB)
    mebibytes = _DISK_MIB + 6 * size // MIB
    if stage.choice.fs == "ext4":
        mkfs: tuple[str, ...] = ("-O", "bigalloc", "-C", str(_UNIT))
    elif stage.choice.fs == "xfs":
        mkfs = ("-d", f"extszinherit={_UNIT // 4096}")
    else:
        raise Problem("variant-not-on-btrfs")
    filesystem = stage.scratch_filesystem(mebibytes, mkfs=mkfs)
    path = _table(filesystem)
    ageing.comb(filesystem.path, size + size // 4, stage.choice.seed, unit_bytes=_UNIT)
    return Plan((*_database(stage, path, size), "--truncate"))


def _fixed(stage: Stage) -> Plan:
    size = stage.choice.size(_FILE_MIB)
    filesystem = _filesystem(stage, size)
    path = make_file(_table(filesystem), size, stage.choice.seed)
    _age(stage, filesystem, size)
    # The file's pages are in memory, as the database's are: what is measured is the way out.
    with path.open("rb") as file:
        while file.read(4 * MIB):
            pass
    return Plan(_database(stage, path, size))


def _filesystem(stage: Stage, size: int) -> Filesystem:
    # Copy-on-write would move the file at each write, however well it lay.
    options = ("nodatacow",) if stage.choice.fs == "btrfs" else ()
    return stage.scratch_filesystem(_DISK_MIB + 6 * size // MIB, options=options)


def _table(filesystem: Filesystem) -> Path:
    """In its own directory, which an experiment may copy without what ages the filesystem."""
    folder = filesystem.path / "database"
    folder.mkdir()
    return folder / "table"


def _age(stage: Stage, filesystem: Filesystem, size: int) -> None:
    ageing.comb(
        filesystem.path,
        size + size // 4,
        stage.choice.seed,
        extent_each=stage.choice.fs == "btrfs",
    )


def _database(stage: Stage, path: Path, size: int) -> tuple[str, ...]:
    return work("regions", file=path, size=size, threads=_THREADS, seed=stage.choice.seed + 100)


def _megabytes_per_s(figures: Mapping[str, Any]) -> float | None:
    rate: float | None = figures.get("bytes_per_s")
    return None if rate is None else rate / 1e6


def _seek_share(figures: Mapping[str, Any]) -> float | None:
    seeks, accesses = per_disk(figures, "seeks"), per_disk(figures, "accesses")
    return None if seeks is None or not accesses else seeks / accesses


def _request_kib(figures: Mapping[str, Any]) -> float | None:
    written, writes = per_disk(figures, "written_bytes"), per_disk(figures, "writes")
    return None if written is None or not writes else written / writes / 1024


SCENARIO = Scenario(
    name="imdb",
    title="8 threads msync 4 MiB regions of a file that is scattered",
    case=1,
    variants=(
        Variant(
            "scattered",
            "the file is in single pages",
            _broken,
            ("file-fragmented",),
            # There a request costs its work on the CPU: eight threads ask for more than two can do.
            {"file": CPU, "memory": CPU},
        ),
        Variant(
            "in-order",
            "the file was written once in order before use",
            _fixed,
            # Threads that map their next region wait for the map's lock, which faults of others hold while
            # they wait for pages on their way to the disk: more so on btrfs.
            ("device-saturated", "sync-storm", "device-slow", "lock-contended"),
            {"file": (*CPU, "healthy"), "memory": (*CPU, "healthy")},
        ),
        Variant(
            "large-units",
            "the file is in units of 1 MiB (bigalloc, or an extent size hint)",
            _large_units,
            ("device-saturated", "sync-storm", "device-slow", "lock-contended"),
            {"file": (*CPU, "healthy"), "memory": (*CPU, "healthy")},
        ),
    ),
    devices=("hdd", "ssd", "flush-slow", "file", "memory"),
    remedy=("file-fragmented.allocate",),
    filesystems=("ext4", "xfs", "btrfs"),
    chain=(
        "cost-of-calls",
        "file-fragmented.median-bytes",
        "file-fragmented.jump-share",
        "file-fragmented.extents",
        "file-fragmented.sequentiality",
        "file-fragmented.writers",
    ),
    figures=(
        Figure("msync mean", "ms", 2198.76, 117.68, lambda p: p.get("msync_mean_ms")),
        Figure("rate", "MB/s", 10.0, 160.0, _megabytes_per_s),
        Figure(
            "sequentiality", "share", 0.079, 1.0, lambda p: said(p, "file-fragmented.sequentiality")
        ),
        Figure("seeks of the disk", "share of accesses", 0.999, 0.041, _seek_share),
        Figure("bytes per write", "KiB", 4.99, 256.0, _request_kib),
    ),
)
