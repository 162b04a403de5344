"""Commands of usual tools that would show what a text leaves open.

A cause names those that settle it (`Cause.settled_by`). They are in groups here, because the same tools
settle all causes of one layer.
"""

from string import Formatter

from msgspec import Struct

from iowhy.whys import classes


class NextCommand(Struct, frozen=True):
    """A command, and what its output would show.

    In `command`, `{pid}` is the process in question and `{file}` the file; a command with an unknown word is not offered, because
    it cannot be typed. `fills` is the table of a recording that the output fills: if that has rows already, the
    command shows nothing new ("": none). `system` is the manifest's `os` on which it exists.
    `after` are tables of which one must have rows before this is what is missing most.
    """

    fills: str
    command: str
    shows: str
    system: str = "Linux"
    after: frozenset[str] = frozenset()


def asks_for(command: str) -> frozenset[str]:
    """The words that must be known to type it: `pid`, `file`."""
    return frozenset(name for _, name, _, _ in Formatter().parse(command) if name)


_IOSTAT = "iostat -x 1 10"

#: Whether what is read could have been in memory.
CACHE = (
    NextCommand("page_cache", "sudo cachestat 1 10", "whether the reads hit the page cache"),
    NextCommand("memory_samples", "free -m", "how much memory the page cache has"),
    NextCommand("disk_samples", _IOSTAT, "whether the misses keep the device busy"),
)
#: Whether the device is the limit, or slow, or kept busy by others.
DEVICE = (
    NextCommand("disk_samples", _IOSTAT, "whether the device is busy, and how long requests wait"),
    NextCommand(
        "page_cache", "sudo cachestat 1 10", "whether the reads could have come from the cache"
    ),
    NextCommand(
        "histograms", "sudo biolatency 10 1", "whether the device is slow or its queue long"
    ),
)
#: CPU time of calls alone does not show waiting: that comes before who used the CPU.
_CPU_SEEN = frozenset({"cpu_samples", "thread_time"})
#: Who uses the CPU.
CPU = (
    NextCommand("thread_time", "pidstat -u -t 1 10", "which thread uses the CPU", after=_CPU_SEEN),
    NextCommand("disk_samples", _IOSTAT, "whether a device is busy as well", after=_CPU_SEEN),
    NextCommand("", "top -H -d 2", "which thread uses the CPU", "FreeBSD", _CPU_SEEN),
)
#: How the file is laid out and accessed.
FILE = (
    NextCommand("extents", "filefrag -v {file}", "in how many extents the file is"),
    NextCommand("block_requests", "sudo biosnoop 10", "size and position of each request"),
    NextCommand("", "fileplace -pv {file}", "how contiguous the file is on disk", "AIX"),
    NextCommand("", "filemon -u -v -O lf,lv,pv", "sizes of requests and share of seeks", "AIX"),
    NextCommand(
        "",
        "cp {file} {file}.copy",
        "whether a copy, which is written in order, is faster to work on",
        "AIX",
    ),
)
_CURT = NextCommand(
    "",
    "trace -afo trace.raw; sleep 10; trcstop; trcrpt -r trace.raw > trace.r; curt -e -i trace.r",
    "elapsed and CPU time of each call",
    "AIX",
)
#: What sync calls wait for.
SYNC = (
    NextCommand(
        "syscalls",
        "strace -f -ttt -T -e trace=fsync,fdatasync,msync -p {pid}",
        "each sync's time",
    ),
    NextCommand(
        "syscalls",
        "sudo perf trace -a -T -e fsync,fdatasync,msync sleep 10",
        "each sync's time",
    ),
    NextCommand("block_requests", "sudo biosnoop 10", "which requests a sync waits for"),
    _CURT,
)
#: When data is written back, compared with the limits of dirty memory.
DIRTY = (
    NextCommand(
        "memory_samples", "cat /proc/meminfo", "how much memory is dirty or under writeback"
    ),
    NextCommand("disk_samples", _IOSTAT, "how fast the device writes"),
)
#: In which calls threads sleep.
CALLS = (
    NextCommand("syscalls", "strace -f -ttt -T -p {pid}", "which calls take the time, one by one"),
    NextCommand(
        "syscall_totals",
        "sudo perf trace -s -a sleep 10",
        "in which calls each thread spends its time",
    ),
    _CURT,
)
#: How full the filesystem is, and how long writes wait.
SPACE = (
    NextCommand("", "df -h", "how much space is free where it writes"),
    NextCommand("syscalls", "strace -f -ttt -T -p {pid}", "which calls take the time, one by one"),
)
#: Which process of a job reads and writes when.
JOB = (
    NextCommand(
        "",
        "export DXT_ENABLE_IO_TRACE=1",
        "which process reads and writes when, in the log of the job's next run",
    ),
)
#: The machine as a whole, whatever the cause.
GENERAL = (
    NextCommand("cpu_samples", "vmstat 1 10", "whether CPUs are busy, idle or waiting for I/O"),
    NextCommand("disk_samples", _IOSTAT, "whether a device is busy"),
    NextCommand("", "filemon -u -v -O lf,lv,pv", "sizes of requests and share of seeks", "AIX"),
    NextCommand("", "fileplace -pv {file}", "how contiguous the file is on disk", "AIX"),
    NextCommand(
        "",
        "iostat -x -w 1 -c 10",
        "whether a disk is busy, and how long requests wait",
        "FreeBSD",
    ),
    NextCommand("", "vmstat -w 1 -c 10", "whether CPUs are busy or idle", "FreeBSD"),
)

#: If no cause was found: what would explain the largest class of the time.
BY_CLASS = {
    classes.SYNC: SYNC,
    classes.READ: DEVICE,
    classes.WRITE: DEVICE,
    classes.MEMORY: CACHE,
    classes.USER: CPU,
    classes.KERNEL: CPU,
    classes.RUNNABLE: CPU,
}
