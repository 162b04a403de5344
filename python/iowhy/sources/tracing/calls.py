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


def numbers_table(machine: str | None) -> pa.Table:
    """Numbers of calls on a machine (as uname -m says it) for a join: nr, call.

    A machine that is not known, or not told, is taken for x86_64.
    """
    numbers = _known()["numbers"]
    text = numbers.get({"riscv64": "aarch64"}.get(machine or "", machine), numbers["x86_64"])
    pairs = [line.split(" ", 1) for line in text.splitlines()]
    return pa.table(
        {
            "nr": pa.array([int(number) for number, _ in pairs], pa.int64()),
            "call": pa.array([name for _, name in pairs], pa.string()),
        }
    )


def shapes_table() -> pa.Table:
    """I/O calls for a join: name, and from 0 the arguments fd_at, length_at, offset_at (NULL: none).

    These are the calls that the recorder keeps one by one.
    """
    shapes = _known()["shapes"]
    return pa.table(
        {
            "name": pa.array([shape["name"] for shape in shapes]),
            "fd_at": pa.array([shape["fd"] for shape in shapes], pa.int64()),
            "length_at": pa.array([shape["length"] for shape in shapes], pa.int64()),
            "offset_at": pa.array([shape["offset"] for shape in shapes], pa.int64()),
        }
    )


def errno_table() -> pa.Table:
    """ERRNO for a join: error (name), errno (number)."""
    return pa.table({"error": list(ERRNO), "errno": pa.array(list(ERRNO.values()), pa.int64())})


@cache
def wait_rules() -> tuple[dict[str, Any], ...]:
    """The rules of recorder/src/reasons.toml."""
    return tuple(tomllib.loads(_known()["reasons"])["rule"])
