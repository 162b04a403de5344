"""What else the machine did while a live test ran, and a second try for a test that it spoiled.

Any work of others counts: pages that a test counts on may be reclaimed at any moment (DAMON, kswapd), CPUs and
disks taken. When a test fails, and such work was there while it ran, it runs again with fresh fixtures, at most
thrice in all; what disturbed it is printed. Where nothing disturbed it, its first failure counts. A test that
only some kinds of work can spoil says which by ``pytest.mark.disturbed_by("cpu", …)``. One that sees in its own
recording that another spoiled it says so itself, by raising ``Disturbed``.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from iowhy.experiments.device import disks_transferred_bytes

TRIES = 3
KINDS = ("cpu", "memory", "disk")

#: Less than this is on every machine, and spoils nothing: CPUs in use by others or taken by the
#: hypervisor, and bytes and bytes a second of others at the disks.
LEAST_CPUS = 0.1
LEAST_STEAL_CPUS = 0.02
LEAST_DISK_BYTES = 4 << 20
LEAST_DISK_BYTES_PER_S = 1 << 20

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_KERNEL_THREAD = 0x00200000  # PF_KTHREAD in the flags of /proc/PID/stat


class Disturbed(AssertionError):
    """The recording itself shows that another spoiled this run of the test, and how."""


@dataclass(frozen=True)
class Reading:
    """Sums since boot, of the machine and of this process with all that it has started."""

    at_s: float
    busy_s: float
    kernel_threads_s: float
    own_s: float
    steal_s: float
    reclaimed_pages: int
    drops: int
    disk_bytes: int
    own_disk_bytes: int


def read() -> Reading:
    """Reads /proc/stat, /proc/vmstat, the disks' counters, and the kernel threads' own times."""
    first = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    user, nice, system, _idle, _iowait, _irq, _softirq, steal = (int(v) for v in first[:8])
    lines = (line.split() for line in Path("/proc/vmstat").read_text().splitlines())
    vm = {name: int(value) for name, value in lines}
    own = os.times()
    return Reading(
        at_s=time.monotonic(),
        busy_s=(user + nice + system) * _TICK_S,
        kernel_threads_s=sum(_kernel_threads_s()),
        own_s=own.user + own.system + own.children_user + own.children_system,
        steal_s=steal * _TICK_S,
        # Reclaim by whomever: kswapd, a process that is short of memory, DAMON.
        reclaimed_pages=vm.get("pgsteal_file", 0),
        drops=vm.get("drop_pagecache", 0) + vm.get("drop_slab", 0),
        disk_bytes=disks_transferred_bytes(),
        own_disk_bytes=_own_disk_bytes(),
    )


def _kernel_threads_s() -> Iterator[float]:
    """They work for the test as for others (a loop device, writeback): nobody's disturbance."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields = stat.read_text().rpartition(") ")[2].split()
            if int(fields[6]) & _KERNEL_THREAD:
                yield (int(fields[11]) + int(fields[12])) * _TICK_S


def _own_disk_bytes() -> int:
    """Of this process and of its children that have ended (proc_pid_io(5)), and of loop devices."""
    total = 0
    with suppress(OSError):
        lines = (line.split(": ") for line in Path("/proc/self/io").read_text().splitlines())
        io = {name: int(value) for name, value in lines}
        total += io["read_bytes"] + io["write_bytes"]
    for device in Path("/sys/block").glob("loop*/stat"):
        with suppress(OSError):
            fields = device.read_text().split()
            total += (int(fields[2]) + int(fields[6])) * 512
    return total


def between(before: Reading, after: Reading) -> dict[str, str]:
    """What others did, by kind, in words; what was too little to matter is left out."""
    seconds = max(after.at_s - before.at_s, 1e-3)
    found: dict[str, list[str]] = {}
    others_s = (after.busy_s - before.busy_s) - (after.own_s - before.own_s)
    cpus = (others_s - (after.kernel_threads_s - before.kernel_threads_s)) / seconds
    if cpus > LEAST_CPUS:
        found.setdefault("cpu", []).append(f"others used {cpus:.2f} CPUs")
    stolen = (after.steal_s - before.steal_s) / seconds
    if stolen > LEAST_STEAL_CPUS:
        found.setdefault("cpu", []).append(f"the hypervisor took {stolen:.2f} CPUs")
    pages = after.reclaimed_pages - before.reclaimed_pages
    if pages > 0:
        found.setdefault("memory", []).append(f"{pages:,} pages of files were reclaimed")
    drops = after.drops - before.drops
    if drops > 0:
        found.setdefault("memory", []).append(f"caches were dropped {drops} times")
    moved = (after.disk_bytes - before.disk_bytes) - (after.own_disk_bytes - before.own_disk_bytes)
    if moved > LEAST_DISK_BYTES and moved / seconds > LEAST_DISK_BYTES_PER_S:
        found.setdefault("disk", []).append(
            f"others moved {moved / 2**20:.0f} MiB ({moved / seconds / 2**20:.1f} MiB/s)"
        )
    return {kind: ", ".join(texts) for kind, texts in found.items()}
