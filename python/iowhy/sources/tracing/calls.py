"""What is known of system calls (iowhy.tables), as traces need it."""

import errno
from functools import cache
from typing import Any

import numpy as np

from iowhy import tables

#: Kernel-internal results that strace and the tracepoints show (include/linux/errno.h).
RESTARTS = {
    "ERESTARTSYS": 512,
    "ERESTARTNOINTR": 513,
    "ERESTARTNOHAND": 514,
    "ERESTART_RESTARTBLOCK": 516,
}
#: Errors of file and memory calls whose numbers all of Linux shares.
ERRNO = {name: number for number, name in errno.errorcode.items()} | RESTARTS
#: Machines (uname -m) by whose tables the calls of others are numbered, too (asm-generic/unistd.h).
_NUMBERED_AS = {"aarch64": "aarch64", "riscv64": "aarch64"}


def call_names(machine: str | None) -> dict[int, str]:
    """Names of calls by their numbers on a machine (as uname -m says it).

    A machine that is not known, or not named, is taken for x86_64.
    """
    return tables.call_numbers(_NUMBERED_AS.get(machine or "", "x86_64"))


@cache
def shapes() -> dict[str, dict[str, int | None]]:
    """I/O calls by name, and from 0 the arguments `fd`, `length` and `offset` (None: none that is the number itself).

    These are the calls that the recorder keeps one by one.
    """
    return {
        name: {
            "fd": call.fd,
            "length": None if call.vector else call.bytes,
            "offset": call.offset if call.offset_in is None else None,
        }
        for name, call in tables.calls().items()
        if call.record
    }


def shapes_table() -> dict[str, Any]:
    """`shapes` for a join: name, fd_at, length_at, offset_at."""
    known = shapes()
    columns = {
        f"{key}_at": np.ma.masked_array(
            [shape[key] or 0 for shape in known.values()],
            [shape[key] is None for shape in known.values()],
        )
        for key in ("fd", "length", "offset")
    }
    return {"name": np.array(list(known), object)} | columns


def errno_table() -> dict[str, Any]:
    """ERRNO for a join: error (name), errno (number)."""
    return {"error": np.array(list(ERRNO), object), "errno": np.array(list(ERRNO.values()))}
