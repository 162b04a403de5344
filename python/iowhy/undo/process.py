"""Which process is meant: a pid alone is reused, a pid with its start time is not."""

import os
import time
from pathlib import Path

from msgspec import Struct

from iowhy import proc_stat
from iowhy.hung_filesystem import answers


def start_ticks(pid: int) -> int | None:
    """Start time of a process in clock ticks since boot, None when it does not exist."""
    found = proc_stat.fields(pid)
    return int(found[proc_stat.START_TICKS]) if found else None


def is_zombie(pid: int) -> bool:
    """Whether the process has ended and only waits to be reaped (or does not exist)."""
    found = proc_stat.fields(pid)
    return found is None or found[proc_stat.STATE] in ("Z", "X")


def boot_id() -> str:
    """Identity of this boot, so that a journal from before a restart is known as such."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


class Marked(Struct, frozen=True):
    """Processes with a mark, and young ones that are just becoming another program.

    While a process is in execve(2) its environment reads as empty: it may be one of them.
    """

    found: list[int]
    undecided: list[int]


def marked(variable: str, value: str, after_ticks: int = 0) -> Marked:
    """Processes whose first environment holds ``variable=value`` (only those we may read).

    Undecided are those without any environment that started at ``after_ticks`` or later.
    """
    needle = f"{variable}={value}".encode()

    def look(pid: int) -> bool | None:
        """Whether it has the mark; None: it is undecided."""
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False
        if needle in environment.split(b"\0"):
            return True
        return None if not environment and _may_become_another(pid, after_ticks) else False

    pids = [int(folder.name) for folder in Path("/proc").iterdir() if folder.name.isdigit()]
    seen = dict(answers(pids, look))
    # Of one that runs exec the kernel may show nothing before a filesystem answers.
    return Marked(
        [pid for pid in pids if seen.get(pid)], [pid for pid in pids if seen.get(pid) is None]
    )


def now_ticks() -> int:
    """The time since boot in the unit of :func:`start_ticks`."""
    return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))


def _may_become_another(pid: int, after_ticks: int) -> bool:
    found = proc_stat.fields(pid)
    if found is None:
        return False
    kernel_thread = int(found[proc_stat.FLAGS]) & 0x00200000  # PF_KTHREAD, include/linux/sched.h
    ended = found[proc_stat.STATE] in ("Z", "X")
    return not kernel_thread and not ended and int(found[proc_stat.START_TICKS]) >= after_ticks
