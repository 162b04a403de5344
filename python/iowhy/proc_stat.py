"""The fields of /proc/PID/stat (proc_pid_stat(5)) by their place after the name."""

import re
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")

#: Places in what `fields` returns: the manual counts from 1 and has pid and name before them.
STATE, FLAGS, START_TICKS = 0, 6, 19


def fields(pid: int, proc: Path = PROC) -> list[str] | None:
    """All fields after the name, START_TICKS at least among them; None when there is no such process.

    The name may hold blanks and brackets, but it ends with the last closing one.
    """
    try:
        found = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return found if len(found) > START_TICKS else None


def parents(proc: Path = PROC) -> dict[int, int]:
    """The parent of each process that there is now: of its status, which it shows also while it runs exec."""
    out = {}
    with suppress(OSError):
        for entry in proc.iterdir():
            if not entry.name.isdecimal():
                continue
            with suppress(OSError):
                status = (entry / "status").read_text(errors="replace")
                if found := re.search(r"^PPid:\s*(\d+)$", status, re.MULTILINE):
                    out[int(entry.name)] = int(found[1])
    return out
