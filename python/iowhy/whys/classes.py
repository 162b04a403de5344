"""The classes of the time budget, and the class of a wait.

The recorder names a wait by what the kernel's stack shows; which class of the budget that is also
depends on the call: a wait for a page's writeback inside fsync is a wait for sync.
"""

from iowhy.relations.calls import KINDS

USER = "on-CPU user"
KERNEL = "on-CPU kernel"
RUNNABLE = "runnable"
READ = "waiting to read"
WRITE = "waiting to write"
SYNC = "waiting for sync"
THROTTLED = "throttled"
LOCK = "waiting for a lock"
MEMORY = "waiting for memory"
IDLE = "idle"
UNEXPLAINED = "unexplained"

ALL = (
    USER,
    KERNEL,
    RUNNABLE,
    READ,
    WRITE,
    SYNC,
    THROTTLED,
    LOCK,
    MEMORY,
    IDLE,
    UNEXPLAINED,
)

#: Waits for storage, whichever way.
STORAGE = frozenset({READ, WRITE, SYNC})
CPU = frozenset({USER, KERNEL})
#: Waits that nobody wants: all but for a CPU and for events.
WAITING = STORAGE | {THROTTLED, LOCK, MEMORY, UNEXPLAINED}

#: Of the calls that copy, these read a file for a socket or a pipe; the others write one.
_SENDS = frozenset({"sendfile", "sendfile64"})
READ_CALLS = frozenset(KINDS["read"]) | frozenset(KINDS["lookup"]) | _SENDS
WRITE_CALLS = (
    frozenset(KINDS["write"]) | frozenset(KINDS["change"]) | (frozenset(KINDS["copy"]) - _SENDS)
)
SYNC_CALLS = frozenset(KINDS["sync"])
#: Calls that may cut a file to nothing (O_TRUNC) or make one: what they read has a reason of its own.
OPEN_CALLS = frozenset({"open", "openat", "openat2", "creat"})
#: Reasons without a direction that are a wait for an answer in a call which opens.
_ANSWERED = frozenset({"fuse", "network_filesystem", "request_queue_full"})
#: Stands for the call in a thread of the kernel that does io_uring's work and makes none.
URING_WORKER = "io_uring worker"
#: Calls that move a file's data, with a length: the others above only touch names.
DATA_READS = frozenset(KINDS["read"]) - {"getdents", "getdents64", "readahead"}
DATA_WRITES = frozenset(KINDS["write"])
#: Interruptible sleeps that wait for I/O: asynchronous I/O is reaped here.
REAP_CALLS = frozenset(KINDS["collect"]) - {"io_submit"}


#: Classes of the recorder's reasons (iowhy/tables/reasons.toml) that no call changes.
_ALWAYS = {
    "dirty_throttle": THROTTLED,
    "io_throttle": THROTTLED,
    "swap": MEMORY,
    "memory_reclaim": MEMORY,
    "device_flush": SYNC,
    "journal_commit": SYNC,
    "log_force": SYNC,
    "memory_map_lock": LOCK,
    "inode_lock": LOCK,
    "metadata_lock": LOCK,
    # A parent that waits for its child's exec waits for a child, like wait4.
    "vfork": IDLE,
    # So does a thread whose page another process supplies.
    "userfault": IDLE,
    "kernel_sync": UNEXPLAINED,
}
#: Reasons that are what they say, unless a sync-like call waits for them.
_UNLESS_SYNC = {
    "page_read": READ,
    "metadata_read": READ,
    "page_writeback": WRITE,
    "stable_page": WRITE,
    "discard": WRITE,
    "journal_space": WRITE,
    # blk-wbt holds writers to what the device gets done: the wait is for the device.
    "writeback_throttle": WRITE,
}
#: Words of other tools' reasons, in the order in which they decide.
_WORDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("dirty", "throttl", "quota"), THROTTLED),
    (("reclaim", "swap", "memory", "oom", "compaction"), MEMORY),
    (("lock", "semaphore", "mutex"), LOCK),
    (("flush", "barrier", "commit", "journal", "fsync", "sync"), SYNC),
    (("read",), READ),
    (("writ",), WRITE),
)


def of_wait(reason: str | None, call: str | None, io: bool | None = None) -> str:
    """The budget class of an uninterruptible wait: by its reason, then by the call it was in."""
    if reason is not None and reason in _ALWAYS:
        return _ALWAYS[reason]
    # A write waits for its pages to be written only where it is to be durable (O_SYNC, O_DSYNC).
    if call in SYNC_CALLS or (reason == "page_writeback" and call in DATA_WRITES):
        return SYNC
    if reason is not None and reason in _UNLESS_SYNC:
        return _UNLESS_SYNC[reason]
    if call in DATA_READS:
        return READ
    if call in DATA_WRITES or call in WRITE_CALLS:
        return WRITE
    if call in OPEN_CALLS and reason is not None and reason not in _ANSWERED:
        return WRITE
    if call in READ_CALLS:
        return READ
    words = (reason or "").lower().replace("block", "").replace("clock", "")
    for some, cls in _WORDS:
        if reason != "page_lock" and any(word in words for word in some):
            return cls
    # A page fault has no call: what it waits for is a page, to be read or held by a reader.
    if io or reason == "page_lock" or reason == "direct_io":
        return READ
    return UNEXPLAINED


def of_call(call: str) -> str:
    """The class of the time in a call when only its duration is known (another tool's output)."""
    if call in SYNC_CALLS:
        return SYNC
    if call in WRITE_CALLS:
        return WRITE
    if call in READ_CALLS or call in REAP_CALLS:
        return READ
    return IDLE if call in IDLE_CALLS else KERNEL


#: Calls in which a thread waits for time, people, children, peers or user-space locks.
IDLE_CALLS = frozenset(
    {
        "nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "pselect6", "epoll_wait",
        "epoll_pwait", "epoll_pwait2", "wait4", "waitid", "waitpid", "futex", "futex_wait",
        "accept", "accept4", "recvfrom", "recvmsg", "recvmmsg", "pause", "rt_sigsuspend",
        "rt_sigtimedwait", "restart_syscall", "connect", "msgrcv", "semop", "semtimedop",
        "kevent", "_umtx_op", "thread_wait", "_nsleep", "_poll",
    }
)  # fmt: skip


def quoted(names: frozenset[str]) -> str:
    """A list of names for SQL's IN."""
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"


#: Reasons that need no words to be guessed from.
KNOWN_REASONS = (
    frozenset(_ALWAYS)
    | frozenset(_UNLESS_SYNC)
    | frozenset({"direct_io", "page_lock", "request_queue_full", "fuse", "network_filesystem"})
)
