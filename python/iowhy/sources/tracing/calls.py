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
    "pread64": Shape(0, 2, 3),
    "pread": Shape(0, 2, 3),
    "readv": Shape(0, vector=True),
    "preadv": Shape(0, offset=3, vector=True),
    "preadv2": Shape(0, offset=3, vector=True),
    "sendfile": Shape(1, 3),
    "sendfile64": Shape(1, 3),
    "write": Shape(0, 2),
    "pwrite64": Shape(0, 2, 3),
    "pwrite": Shape(0, 2, 3),
    "writev": Shape(0, vector=True),
    "pwritev": Shape(0, offset=3, vector=True),
    "pwritev2": Shape(0, offset=3, vector=True),
    "fsync": Shape(0),
    "fdatasync": Shape(0),
    "syncfs": Shape(0),
    "sync": Shape(None),
    "sync_file_range": Shape(0, 2, 1),
    "msync": Shape(None, 1),
    "madvise": Shape(None, 1),
    "open": Shape(None),
    "openat": Shape(None),
    "openat2": Shape(None),
    "creat": Shape(None),
    "truncate": Shape(None, 1),
    "ftruncate": Shape(0, 1),
    "unlink": Shape(None),
    "unlinkat": Shape(None),
    "rename": Shape(None),
    "renameat": Shape(None),
    "renameat2": Shape(None),
    "fallocate": Shape(0, 3, 2),
    "fadvise64": Shape(0, 2, 1),
    "readahead": Shape(0, 2, 1),
    "copy_file_range": Shape(0, 4),
    "splice": Shape(0, 4),
    "vmsplice": Shape(0, vector=True),
    "tee": Shape(0, 2),
    "getdents": Shape(0, 2),
    "getdents64": Shape(0, 2),
    "io_submit": Shape(None),
    "io_getevents": Shape(None),
    "io_pgetevents": Shape(None),
    "io_uring_enter": Shape(None),
    "mkdir": Shape(None),
    "mkdirat": Shape(None),
    "rmdir": Shape(None),
    "link": Shape(None),
    "linkat": Shape(None),
    "symlink": Shape(None),
    "symlinkat": Shape(None),
    "fsetxattr": Shape(0),
    "fgetxattr": Shape(0),
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
