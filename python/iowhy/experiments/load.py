"""What the rest of the machine did during a trial: its CPU time and its disk traffic."""

import os
import time
from pathlib import Path

from msgspec import Struct

from iowhy.experiments.device import disks_transferred_bytes

_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Reading(Struct, frozen=True):
    """Sums since boot: CPU seconds in use by anybody, of this process tree, and disk bytes."""

    at_s: float
    busy_s: float
    own_s: float
    disk_bytes: int


class Others(Struct, frozen=True):
    """Load that was not the trial's: mean CPUs in use and disk bytes per second.

    Kernel threads that work for the command (writeback, a loop device) count here too; they do so in
    every trial of a condition alike, so trials are judged against their like, never alone.
    """

    cpus: float
    disk_bytes_per_s: float


def read() -> Reading:
    """Reads /proc/stat (proc_stat(5)) and the disks' counters."""
    fields = [int(x) for x in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    user, nice, system, _idle, _iowait, irq, softirq, steal = fields[:8]
    own = os.times()
    return Reading(
        at_s=time.monotonic(),
        busy_s=(user + nice + system + irq + softirq + steal) * _TICK_S,
        own_s=own.user + own.system + own.children_user + own.children_system,
        disk_bytes=disks_transferred_bytes(),
    )


def resting(seconds: float = 0.2) -> Others:
    """What others do now, while no trial runs."""
    before = read()
    time.sleep(seconds)
    return others(before, read(), 0)


def others(
    before: Reading, after: Reading, own_disk_bytes: int, extra_cpu_s: float = 0.0
) -> Others:
    """Load of others between two readings; what is ours beyond our reaped children is passed in."""
    seconds = max(after.at_s - before.at_s, 1e-3)
    own = after.own_s - before.own_s + extra_cpu_s
    cpus = max(0.0, after.busy_s - before.busy_s - own) / seconds
    moved = max(0, after.disk_bytes - before.disk_bytes - own_disk_bytes)
    return Others(cpus, moved / seconds)
