"""What the I/O system calls ask for: the relation `call_kinds(name, kind)` that reports join with.

Kinds: `read` and `write` return the bytes they moved; `copy` moves them from file to file; `sync`
returns once data is durable; `lookup` reads names and attributes; `change` alters names, sizes or
space; `collect` waits for asynchronous I/O that was submitted (io_uring and libaio, which also
submit in the same call).
"""

KINDS: dict[str, tuple[str, ...]] = {
    "read": (
        "read",
        "pread64",
        "readv",
        "preadv",
        "preadv2",
        "getdents",
        "getdents64",
        "readahead",
    ),
    "write": ("write", "pwrite64", "writev", "pwritev", "pwritev2"),
    "copy": ("sendfile", "sendfile64", "copy_file_range", "splice", "tee"),
    "sync": (
        "fsync",
        "fdatasync",
        "msync",
        "sync",
        "syncfs",
        "sync_file_range",
        "sync_file_range2",
    ),
    "lookup": (
        "open",
        "openat",
        "openat2",
        "stat",
        "lstat",
        "fstat",
        "newfstatat",
        "statx",
        "access",
        "faccessat",
        "faccessat2",
        "readlink",
        "readlinkat",
        "execve",
        "execveat",
    ),
    "change": (
        "creat",
        "truncate",
        "ftruncate",
        "fallocate",
        "unlink",
        "unlinkat",
        "rename",
        "renameat",
        "renameat2",
        "link",
        "linkat",
        "symlink",
        "symlinkat",
        "mkdir",
        "mkdirat",
        "rmdir",
        "close",
        "munmap",
    ),
    "collect": (
        "io_getevents",
        "io_pgetevents",
        "io_submit",
        "io_uring_enter",
    ),
}

MOVING = ("read", "write", "copy")
"""Kinds whose return value is a number of bytes."""


def kind_of(call: str) -> str | None:
    """The kind of a system call, None for one that is none of these."""
    return next((kind for kind, names in KINDS.items() if call in names), None)
