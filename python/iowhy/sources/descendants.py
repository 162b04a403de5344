"""Whom an attached process has started already: a server's work is often done by children that run for long."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PROC = Path("/proc")


def with_descendants(pids: Iterable[int], proc: Path = PROC) -> list[int]:
    """The processes and all that descend from them now, each once: the given ones first, in their order."""
    parents = _parents(proc)
    found = list(dict.fromkeys(pids))
    known = set(found)
    before = -1
    while before != len(found):
        before = len(found)
        children = sorted(pid for pid, parent in parents.items() if parent in known)
        found += [pid for pid in children if pid not in known]
        known.update(found)
    return found


def name_of(pid: int, proc: Path = PROC) -> str | None:
    """Its name as the kernel has it; None when there is no such process."""
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text(errors="replace").rstrip("\n")
    return None


def _parents(proc: Path) -> dict[int, int]:
    """The parent of each process (proc_pid_stat(5)); a name may hold blanks and brackets."""
    parents = {}
    for folder in proc.iterdir():
        if folder.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                stat = (folder / "stat").read_text(errors="replace")
                parents[int(folder.name)] = int(stat.rpartition(")")[2].split()[1])
    return parents
