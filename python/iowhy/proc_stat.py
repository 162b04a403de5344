"""The fields of /proc/PID/stat (proc_pid_stat(5)) by their place after the name."""

from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")

#: Places in what `fields` returns: the manual counts from 1 and has pid and name before them.
STATE, PARENT, FLAGS, START_TICKS = 0, 1, 6, 19


def fields(pid: int, proc: Path = PROC) -> list[str] | None:
    """All fields after the name, START_TICKS at least among them; None when there is no such process.

    The name may hold blanks and brackets, but it ends with the last closing one.
    """
    try:
        found = (proc / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return found if len(found) > START_TICKS else None


def all_fields(proc: Path = PROC) -> dict[int, list[str]]:
    """The fields of each process that there is now."""
    out = {}
    with suppress(OSError):
        for entry in proc.iterdir():
            if entry.name.isdecimal() and (found := fields(int(entry.name), proc)) is not None:
                out[int(entry.name)] = found
    return out
