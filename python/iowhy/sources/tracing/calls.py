"""What the recorder knows of system calls and of waits, asked from it: one truth for all traces."""

from __future__ import annotations

import errno
import json
import subprocess
import tomllib
from functools import cache
from typing import Any

import pyarrow as pa

from iowhy.errors import Problem
from iowhy.sources.live import program

#: Kernel-internal results that strace and the tracepoints show (include/linux/errno.h).
RESTARTS = {
    "ERESTARTSYS": 512,
    "ERESTARTNOINTR": 513,
    "ERESTARTNOHAND": 514,
    "ERESTART_RESTARTBLOCK": 516,
}
#: Errors of file and memory calls whose numbers all of Linux shares.
ERRNO = {name: number for number, name in errno.errorcode.items()} | RESTARTS


@cache
def _known() -> dict[str, Any]:
    """`iowhy-logs known` (recorder/programs/logs.rs)."""
    try:
        told = subprocess.run(
            [program("iowhy-logs"), "known"], capture_output=True, text=True, timeout=60, check=True
        )
        known: dict[str, Any] = json.loads(told.stdout)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        raise Problem(f"iowhy-logs is of another version than this iowhy: {error}") from None
    return known


def call_names(machine: str | None) -> dict[int, str]:
    """Names of calls by their numbers on a machine (as uname -m says it).

    A machine that is not known, or not told, is taken for x86_64.
    """
    numbers = _known()["numbers"]
    text = numbers.get({"riscv64": "aarch64"}.get(machine or "", machine), numbers["x86_64"])
    pairs = (line.split(" ", 1) for line in text.splitlines())
    return {int(number): name for number, name in pairs}


def shapes() -> dict[str, dict[str, int | None]]:
    """I/O calls by name, and from 0 the arguments `fd`, `length` and `offset` (None: none).

    These are the calls that the recorder keeps one by one.
    """
    return {shape["name"]: shape for shape in _known()["shapes"]}


def shapes_table() -> pa.Table:
    """`shapes` for a join: name, fd_at, length_at, offset_at."""
    known = shapes().values()
    columns = {f"{key}_at": [shape[key] for shape in known] for key in ("fd", "length", "offset")}
    return pa.table(
        {"name": list(shapes())}
        | {name: pa.array(values, pa.int64()) for name, values in columns.items()}
    )


def errno_table() -> pa.Table:
    """ERRNO for a join: error (name), errno (number)."""
    return pa.table({"error": list(ERRNO), "errno": pa.array(list(ERRNO.values()), pa.int64())})


@cache
def wait_rules() -> tuple[dict[str, Any], ...]:
    """The rules of recorder/src/reasons.toml."""
    return tuple(tomllib.loads(_known()["reasons"])["rule"])
