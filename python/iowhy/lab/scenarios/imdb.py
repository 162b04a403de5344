"""Case 1: an in-memory database saves 4 MiB regions with mmap and msync into a file that lies scattered."""

import mmap
import os
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from iowhy.lab import ageing
from iowhy.lab.disks import MIB
from iowhy.lab.scenario import Figure, Plan, Scenario, Variant, per_disk, said
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage

_FILE_MIB = 64
_DISK_MIB = 1024
_THREADS = 8
_REGION = 4 * MIB


def _broken(stage: Stage) -> Plan:
    size = stage.choice.size(_FILE_MIB)
    filesystem = stage.scratch_filesystem(
        _DISK_MIB + 6 * size // MIB,
        options=("nodatacow",) if stage.choice.fs == "btrfs" else (),
    )
    path = filesystem.path / "table"
    if stage.choice.fs == "btrfs":
        _interleave(path, size, stage.choice.seed)
        return _plan(stage, path, size)
    # Today's filesystems allocate well even for this program; years of use are what scatters its files.
    # As in the case, the file is empty and its threads allocate what they write.
    ageing.comb(filesystem.path, size + size // 4, stage.choice.seed)
    return Plan((*_database(stage, path, size), "--truncate"))


def _fixed(stage: Stage) -> Plan:
    size = stage.choice.size(_FILE_MIB)
    filesystem = stage.scratch_filesystem(
        _DISK_MIB + 6 * size // MIB,
        options=("nodatacow",) if stage.choice.fs == "btrfs" else (),
    )
    path = make_file(filesystem.path / "table", size, stage.choice.seed)
    if stage.choice.fs != "btrfs":
        ageing.comb(filesystem.path, size + size // 4, stage.choice.seed)
    return _plan(stage, path, size)


def _plan(stage: Stage, path: Path, size: int) -> Plan:
    # The file's pages are in memory on both sides, as the database's are: what is measured is the way out.
    with path.open("rb") as file:
        while file.read(4 * MIB):
            pass
    return Plan(_database(stage, path, size))


def _database(stage: Stage, path: Path, size: int) -> tuple[str, ...]:
    return work("regions", file=path, size=size, threads=_THREADS, seed=stage.choice.seed + 100)


def _interleave(path: Path, size: int, seed: int) -> None:
    """Writes the file page by page past the cache, a page of each of eight regions in turn."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_DIRECT, 0o600)
    page = mmap.mmap(-1, mmap.PAGESIZE)
    numbers = random.Random(seed)
    page[:] = numbers.randbytes(mmap.PAGESIZE)
    try:
        os.ftruncate(handle, size)
        starts = range(0, size, _REGION)
        for first in range(0, len(starts), _THREADS):
            group = starts[first : first + _THREADS]
            for offset in range(0, _REGION, mmap.PAGESIZE):
                for start in numbers.sample(group, len(group)):
                    os.pwrite(handle, page, start + offset)
        os.fsync(handle)
    finally:
        os.close(handle)


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
    title="8 threads msync 4 MiB regions of a file that lies scattered",
    case=1,
    variants=(
        Variant("scattered", "the file lies in single pages", _broken, ("file-fragmented",)),
        Variant(
            "in-order",
            "the file was written once in order before use",
            _fixed,
            ("device-saturated", "sync-storm", "device-slow"),
        ),
    ),
    devices=("hdd", "ssd", "flush-slow", "file", "memory"),
    filesystems=("ext4", "xfs", "btrfs"),
    chain=("msync", "extent", "KiB"),
    figures=(
        Figure("msync mean", "ms", 2198.76, 117.68, lambda p: p.get("msync_mean_ms")),
        Figure("rate", "MB/s", 10.0, 160.0, _megabytes_per_s),
        Figure("sequentiality", "share", 0.079, 1.0, lambda p: said(p, "sequentiality")),
        Figure("seeks of the disk", "share of accesses", 0.999, 0.041, _seek_share),
        Figure("bytes per write", "KiB", 4.99, 256.0, _request_kib),
    ),
)
