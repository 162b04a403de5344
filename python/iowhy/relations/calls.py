"""What calls ask for and what waits are for: two relations that reports join with.

`call_kinds(name, kind)`: `read` and `write` return the bytes they moved; `copy` moves them from file
to file; `sync` returns once data is durable; `lookup` reads names and attributes; `change` alters
names, sizes or space; `collect` waits for asynchronous I/O that was submitted (io_uring and libaio,
which also submit in the same call). Names that AIX gives to the same calls are here too.

`wait_kinds(reason, budget, part)`: for each reason of the recorder (iowhy/tables/reasons.toml), the
class of the budget, and the part of a sync call's time. The budget's word is a class whatever the
call was (throttled, memory, sync, lock, idle, unexplained), or one that a sync call turns into sync
(read, write, writeback), or `call`: what the call asks for decides.
"""

KINDS: dict[str, tuple[str, ...]] = {
    "read": (
        "read",
        "pread64",
        "pread",
        "readv",
        "preadv",
        "preadv2",
        "getdents",
        "getdents64",
        "readahead",
        "kread",
        "kreadv",
    ),
    "write": (
        "write",
        "pwrite64",
        "pwrite",
        "writev",
        "pwritev",
        "pwritev2",
        "kwrite",
        "kwritev",
    ),
    "copy": ("sendfile", "sendfile64", "copy_file_range", "splice", "tee"),
    "sync": (
        "fsync",
        "fdatasync",
        "msync",
        "sync",
        "syncfs",
        "sync_file_range",
        "sync_file_range2",
        "kfsync",
        "aio_fsync",
    ),
    "lookup": (
        "open",
        "openat",
        "openat2",
        "creat",
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
    ),
    "collect": (
        "io_getevents",
        "io_pgetevents",
        "io_submit",
        "io_uring_enter",
    ),
}

WAITS: dict[str, tuple[str, str]] = {
    "dirty_throttle": ("throttled", "others"),
    "io_throttle": ("throttled", "others"),
    # blk-wbt lets in as many writes as the device keeps up with: a busy device, not a limit.
    "writeback_throttle": ("write", "queue"),
    "request_queue_full": ("call", "queue"),
    "swap": ("memory", "other"),
    "memory_reclaim": ("memory", "other"),
    "device_flush": ("sync", "flush"),
    "discard": ("write", "other"),
    "journal_space": ("write", "journal"),
    "log_force": ("sync", "commit"),
    "journal_commit": ("sync", "commit"),
    "direct_io": ("call", "own"),
    # In a write only O_SYNC and O_DSYNC wait for it (who writes to a page under way is stable_page).
    "page_writeback": ("writeback", "own"),
    "stable_page": ("write", "own"),
    "metadata_read": ("read", "own"),
    "page_read": ("read", "own"),
    "fuse": ("call", "own"),
    "network_filesystem": ("call", "own"),
    "page_lock": ("call", "others"),
    "memory_map_lock": ("lock", "others"),
    "inode_lock": ("lock", "others"),
    "metadata_lock": ("lock", "others"),
    "userfault": ("idle", "other"),
    "vfork": ("idle", "other"),
    "kernel_sync": ("unexplained", "other"),
}
