"""Recordings with user stacks whose answers are known."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec.structs import replace

from iowhy.recordings import Recording, open_recording
from iowhy.recordings.manifest import MANIFEST, Kept
from iowhy.recordings.writer import write_recording
from tests.reports.conftest import MS, T0, S, Tables, file, spent, wait
from tests.reports.in_files import make

__all__ = [
    "MS",
    "T0",
    "S",
    "during",
    "file",
    "frames",
    "make",
    "sample",
    "spent",
    "wait",
    "with_tables",
]


def frames(stacks: Mapping[int, Iterable[str | None]]) -> list[dict[str, object]]:
    """Rows of user_stacks: for each id the functions, innermost first; None has no name. In module 1 at 16 bytes a frame."""
    return [
        {
            "user_stack_id": stack_id,
            "depth": depth,
            "inlined": False,
            "module_id": 1,
            "offset_bytes": 0x1000 + 16 * depth,
            "function": function,
            "file": function and f"/src/{function}.c",
            "line": function and 40 + depth,
        }
        for stack_id, functions in stacks.items()
        for depth, function in enumerate(functions)
    ]


MODULES: Sequence[dict[str, object]] = (
    {"module_id": 1, "path": "/usr/bin/app", "build_id": "ab" * 20, "kind": "file"},
)


def sample(
    at_ns: int, weight_ns: int, stack: int | None, kind: str = "call", **more: object
) -> dict[str, object]:
    """A sample of thread 10; a call's is blocked for all of its time unless told otherwise."""
    row: dict[str, object] = {
        "ts_ns": T0 + at_ns,
        "tgid": 10,
        "tid": 10,
        "kind": kind,
        "user_stack_id": stack,
        "whole": True,
        "weight_ns": weight_ns,
    }
    if kind == "call":
        row |= {
            "syscall": "fsync",
            "cpu_ns": 0,
            "runnable_ns": 0,
            "blocked_ns": weight_ns,
            "sleeping_ns": 0,
            "calls": 1,
            "dev": 1,
            "ino": 2,
        }
    return row | more


def with_tables(base: Recording, tables: Tables) -> Recording:
    """The recording with more tables in it, which its manifest counts."""
    written = write_recording(base.path.with_name("more.iowhy"), base.manifest, tables)
    for folder in written.path.iterdir():
        if folder.is_dir():
            folder.rename(base.path / folder.name)
    counted = {**base.manifest.tables, **{name: Kept(len(rows)) for name, rows in tables.items()}}
    manifest = replace(base.manifest, tables=counted)
    (base.path / MANIFEST).write_text(manifest.as_json())
    return open_recording(base.path)


def during(base: Recording, tables: Tables) -> Tables:
    """The rows, which have a `ts_ns`, moved into the time of a recording's command."""
    first = min(row["ts_ns"] for rows in tables.values() for row in rows)
    by = (base.manifest.command.start_ns or 0) - first
    return {
        name: [{**row, "ts_ns": row["ts_ns"] + by} for row in rows] for name, rows in tables.items()
    }
