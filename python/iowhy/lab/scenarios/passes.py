"""Case 4: several passes over a file that is larger than the page cache it gets."""

from collections.abc import Mapping
from typing import Any

from iowhy.lab.disks import MIB
from iowhy.lab.scenario import CPU, Figure, Plan, Scenario, Variant, said
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.stage import Stage

_FILE_MIB = 192
_LIMIT_MIB = 96
_CHUNK_MIB = 32
_PASSES = 4


def _passes(stage: Stage, *more: object, limit_mib: int = _LIMIT_MIB) -> Plan:
    size = stage.choice.size(_FILE_MIB)
    filesystem = stage.scratch_filesystem(1024 + 2 * size // MIB)
    path = make_file(filesystem.path / "archive", size, stage.choice.seed)
    limit = str(stage.choice.size(limit_mib))
    prefix = stage.limited(
        "memory", {"memory.limit_in_bytes": {1: limit}, "memory.max": {2: limit}}
    )
    argv = work("passes", *more, file=path, passes=_PASSES)
    return Plan((*prefix, *argv), cold=True)


def _chunk(stage: Stage) -> Plan:
    return _passes(stage, "--per-chunk", stage.choice.size(_CHUNK_MIB))


def _later_passes(printed: Mapping[str, Any]) -> float | None:
    seconds = printed.get("pass_seconds") or []
    return sum(seconds[1:]) / len(seconds[1:]) if len(seconds) > 1 else None


def _would_fit(figures: Mapping[str, Any]) -> float | None:
    needed = said(figures, "have to fit")
    return None if needed is None else needed / MIB


SCENARIO = Scenario(
    name="passes",
    title="4 passes over a file twice as large as the memory that may cache it",
    case=4,
    variants=(
        Variant(
            "whole",
            "each pass goes over the whole file",
            _passes,
            ("cache-thrash",),
            {"file": CPU},
        ),
        Variant(
            "per-part",
            "all passes over a part of 32 MiB before the next",
            _chunk,
            ("cache-cold", "device-saturated", "device-slow", "readahead-poor", "queue-shallow"),
            {"file": CPU},
        ),
        Variant(
            "more-memory",
            "a limit above the file's size",
            lambda s: _passes(s, limit_mib=2 * _FILE_MIB),
            ("cache-cold", "device-saturated", "device-slow", "readahead-poor", "queue-shallow"),
            remedy=("group.more-memory",),
        ),
    ),
    devices=("hdd", "ssd", "flush-slow", "file"),
    remedy=(
        "cache-thrash.in-parts-any",
        "cache-thrash.in-parts",
    ),
    chain=("cache-thrash.passes", "cache-thrash.used"),
    figures=(
        Figure("size that would have to fit", "MiB", None, None, _would_fit),
        Figure("later passes", "s each", None, None, _later_passes),
        Figure(
            "read rate",
            "MB/s",
            92.0,
            None,
            lambda p: p["bytes"] / p["elapsed_s"] / 1e6 if "bytes" in p else None,
        ),
    ),
)
