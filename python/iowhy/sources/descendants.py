"""Whom an attached process has started already: a server's work is often done by children that run for long."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from iowhy import proc_stat


def with_descendants(pids: Iterable[int], proc: Path = proc_stat.PROC) -> list[int]:
    """The processes and all that descend from them now, each once: the given ones first, in their order."""
    parents = proc_stat.parents(proc)
    found = list(dict.fromkeys(pids))
    known = set(found)
    before = -1
    while before != len(found):
        before = len(found)
        children = sorted(pid for pid, parent in parents.items() if parent in known)
        found += [pid for pid in children if pid not in known]
        known.update(found)
    return found


def name_of(pid: int, proc: Path = proc_stat.PROC) -> str | None:
    """Its name as the kernel has it; None when there is no such process."""
    with suppress(OSError):
        return (proc / str(pid) / "comm").read_text(errors="replace").rstrip("\n")
    return None
