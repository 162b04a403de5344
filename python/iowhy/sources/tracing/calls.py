"""I/O system calls: which argument is the descriptor, the length, the offset (man pages, section 2).

The calls are those that the recorder keeps one by one; all others are only counted.
"""

from __future__ import annotations

import errno
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True)
class Shape:
    """Positions (from 0) of arguments of interest, None when there is none.

    `vector`: the length is the sum of an iovec array's iov_len.
    """

    fd: int | None = 0
    length: int | None = None
    offset: int | None = None
    vector: bool = False


SHAPES: dict[str, Shape] = {
    "read": Shape(0, 2),
    "write": Shape(0, 2),
    "pread64": Shape(0, 2, 3),
    "pwrite64": Shape(0, 2, 3),
    "pread": Shape(0, 2, 3),
    "pwrite": Shape(0, 2, 3),
    "readv": Shape(0, vector=True),
    "writev": Shape(0, vector=True),
    "preadv": Shape(0, offset=3, vector=True),
    "pwritev": Shape(0, offset=3, vector=True),
    "preadv2": Shape(0, offset=3, vector=True),
    "pwritev2": Shape(0, offset=3, vector=True),
    "fsync": Shape(0),
    "fdatasync": Shape(0),
    "sync": Shape(None),
    "syncfs": Shape(0),
    "sync_file_range": Shape(0, 2, 1),
    "msync": Shape(None, 1),
    "fallocate": Shape(0, 3, 2),
    "ftruncate": Shape(0),
    "truncate": Shape(None),
    "copy_file_range": Shape(0, 4),
    "sendfile": Shape(0, 3),
    "splice": Shape(0, 4),
    "readahead": Shape(0, 2, 1),
    "fadvise64": Shape(0, 2, 1),
    "getdents64": Shape(0, 2),
    "getdents": Shape(0, 2),
    "io_getevents": Shape(None),
    "io_pgetevents": Shape(None),
    "io_submit": Shape(None),
    "io_uring_enter": Shape(None),
}

#: Kernel-internal results that strace and the tracepoints show (include/linux/errno.h).
RESTARTS = {
    "ERESTARTSYS": 512,
    "ERESTARTNOINTR": 513,
    "ERESTARTNOHAND": 514,
    "ERESTART_RESTARTBLOCK": 516,
}
#: Errors of file and memory calls whose numbers all of Linux shares.
ERRNO = {name: number for number, name in errno.errorcode.items()} | RESTARTS


def sql_list(names: object) -> str:
    """`('a', 'b')` of SQL."""
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"  # type: ignore[call-overload]


def shapes_table() -> pa.Table:
    """SHAPES for a join: name, fd_at, length_at, offset_at (from 0, NULL: none), vector."""
    return pa.table(
        {
            "name": pa.array(list(SHAPES)),
            "fd_at": pa.array([s.fd for s in SHAPES.values()], pa.int64()),
            "length_at": pa.array([s.length for s in SHAPES.values()], pa.int64()),
            "offset_at": pa.array([s.offset for s in SHAPES.values()], pa.int64()),
            "vector": pa.array([s.vector for s in SHAPES.values()], pa.bool_()),
        }
    )


def errno_table() -> pa.Table:
    """ERRNO for a join: error (name), errno (number)."""
    return pa.table({"error": list(ERRNO), "errno": pa.array(list(ERRNO.values()), pa.int64())})
