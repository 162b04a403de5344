"""The one command that would tell most of what the texts do not."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

#: What iowhy itself cannot be run on.
FOREIGN = {"AIX", "FreeBSD"}


@dataclass(frozen=True)
class Step:
    """A command and what it would tell."""

    command: str
    tells: str


#: Cause → (table that is missing, command, what it tells), in the order in which they matter.
_LINUX: dict[str, tuple[tuple[str, str, str], ...]] = {
    "cache": (
        ("page_cache", "sudo cachestat 1 10", "whether what is read had been in the page cache"),
        ("memory_samples", "free -m", "how much memory is left for the page cache"),
        ("disk_samples", "iostat -x 1 10", "whether the misses keep the device busy"),
    ),
    "device": (
        (
            "disk_samples",
            "iostat -x 1 10",
            "whether the device is busy, and how long requests wait",
        ),
        ("page_cache", "sudo cachestat 1 10", "whether the reads could have come from the cache"),
        ("histograms", "sudo biolatency 10 1", "whether the device is slow or its queue long"),
    ),
    "cpu": (
        ("thread_time", "pidstat -u -t 1 10", "which thread uses the CPU"),
        ("disk_samples", "iostat -x 1 10", "whether a device is busy as well"),
    ),
    "file": (
        ("extents", "filefrag -v FILE", "in how many extents the file lies"),
        ("block_requests", "sudo biosnoop 10", "size and place of each request"),
    ),
    "sync": (
        ("syscalls", "strace -f -ttt -T -e trace=fsync,fdatasync,msync -p PID", "each sync's time"),
        ("block_requests", "sudo biosnoop 10", "which requests a sync waits for"),
    ),
    "": (
        ("cpu_samples", "vmstat 1 10", "whether CPUs are busy, idle or waiting for I/O"),
        ("disk_samples", "iostat -x 1 10", "whether a device is busy"),
    ),
}
_AIX: dict[str, tuple[tuple[str, str, str], ...]] = {
    "file": (
        ("", "fileplace -pv FILE", "how contiguous the file is on disk"),
        ("", "filemon -u -v -O lf,lv,pv", "sizes of requests and share of seeks"),
        ("", "cp FILE COPY", "whether work on a copy, which is written in order, is faster"),
    ),
    "sync": (("", "curt -e -i TRACE", "elapsed and CPU time of each call"),),
    "": (
        ("", "filemon -u -v -O lf,lv,pv", "sizes of requests and share of seeks"),
        ("", "fileplace -pv FILE", "how contiguous the file is on disk"),
    ),
}
_FREEBSD: dict[str, tuple[tuple[str, str, str], ...]] = {
    "cpu": (("", "top -H -d 2", "which thread uses the CPU"),),
    "": (("", "iostat -x -w 1 -c 10", "whether a disk is busy, and how long requests wait"),),
}
_FAMILIES = {
    "cache-thrash": "cache",
    "cache-cold": "cache",
    "readahead-poor": "cache",
    "memory-pressure": "cache",
    "device-saturated": "device",
    "device-slow": "device",
    "device-contended": "device",
    "queue-shallow": "device",
    "cpu-saturated": "cpu",
    "cpu-serial": "cpu",
    "cpu-throttled": "cpu",
    "file-fragmented": "file",
    "small-requests": "file",
    "random-access": "file",
    "writeback-scattered": "file",
    "sync-storm": "sync",
    "flush-cost": "sync",
    "journal-entangled": "sync",
}
#: Where no cause was found: what the largest class of the time asks for.
_CLASSES = {
    "waiting for sync": "sync",
    "waiting to read": "device",
    "waiting to write": "device",
    "waiting for memory": "cache",
    "on-CPU user": "cpu",
    "on-CPU kernel": "cpu",
    "runnable": "cpu",
}
WHOLE = Step("sudo iowhy run -- CMD", "the whole chain, from the call to the request")


def next_steps(
    cause: str | None,
    largest: str | None,
    filled: Collection[str],
    tools: Collection[str],
    system: str | None,
    missing: Sequence[str],
) -> tuple[Step, ...]:
    """One command of a usual tool and, where iowhy runs, iowhy itself.

    `cause` is that of the first finding, `largest` the largest class of the time, `filled` the tables that
    have rows, `tools` those whose output was read, `system` the manifest's `os`; `missing` are commands that
    the formats named for what their output lacked.
    """
    family = _FAMILIES.get(cause or "", "") or _CLASSES.get(largest or "", "")
    tables = {"AIX": _AIX, "FreeBSD": _FREEBSD}.get(system or "", _LINUX)
    choices = (*tables.get(family, ()), *tables[""])
    told = {word for tool in tools for word in tool.split()[:1]}

    def new(table: str, command: str) -> bool:
        words = command.removeprefix("sudo ").split()
        return table not in filled and words[0] not in told

    first = next((Step(c, tells) for table, c, tells in choices if new(table, c)), None)
    # CPU time of calls alone says nothing of waiting: that comes before who used the CPU.
    blind = family == "cpu" and not {"cpu_samples", "thread_time"} & set(filled)
    if missing and (first is None or family == "" or blind):
        first = Step(missing[0], "what its output above leaves out")
    steps = [] if first is None else [first]
    if system not in FOREIGN:
        steps.append(WHOLE)
    return tuple(steps)
