"""The database servers among what is recorded, and the sockets on which they listen."""

import re
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from iowhy import proc_stat
from iowhy.proc_stat import PROC

#: Programs, and what speaks to them.
KINDS = {"postgres": "postgresql", "mariadbd": "mysql", "mysqld": "mysql"}
_LISTENS = 0x10000  # linux/net.h, __SO_ACCEPTCON


class Server(Struct, frozen=True):
    """A server: what it speaks, its first process, its socket as it is reached from here, and the user that it runs as."""

    kind: str
    pid: int
    socket: str
    uid: int
    gid: int


def servers(pids: Iterable[int] | None, proc: Path = PROC) -> list[Server]:
    """Those of some processes, or of those that these belong to; None: all of the machine."""
    parents = proc_stat.parents(proc)
    asked = list(parents) if pids is None else list(pids)
    first = {one for pid in asked if (one := _first(pid, parents, proc)) is not None}
    return [made for pid in sorted(first) if (made := _server(pid, proc)) is not None]


def _program(pid: int, proc: Path) -> str | None:
    with suppress(OSError):
        return (proc / str(pid) / "exe").readlink().name.removesuffix(" (deleted)")
    return None


def _first(pid: int, parents: dict[int, int], proc: Path) -> int | None:
    """The process of the server's program that started it; None: it belongs to none."""
    program = _program(pid, proc)
    if program not in KINDS:
        return None
    while _program(parents.get(pid, 0), proc) == program:
        pid = parents[pid]
    return pid


def _server(pid: int, proc: Path) -> Server | None:
    found = _socket(pid, proc)
    if found is None:
        return None
    owner = (proc / str(pid)).stat()
    return Server(KINDS[str(_program(pid, proc))], pid, found, owner.st_uid, owner.st_gid)


def _socket(pid: int, proc: Path) -> str | None:
    """The path of the socket on which it listens, also of a container's."""
    own: set[str] = set()
    with suppress(OSError):
        for one in (proc / str(pid) / "fd").iterdir():
            with suppress(OSError):
                own.add(str(one.readlink()))
    with suppress(OSError):
        for line in (proc / str(pid) / "net/unix").read_text(errors="replace").splitlines()[1:]:
            # Num RefCount Protocol Flags Type St Inode Path
            parts = line.split(maxsplit=7)
            if len(parts) < 8 or not int(parts[3], 16) & _LISTENS or parts[7].endswith("x.sock"):
                continue
            if f"socket:[{parts[6]}]" in own and parts[7].startswith("/"):
                inside = f"{proc}/{pid}/root{parts[7]}"
                same = Path(parts[7]).exists() and Path(parts[7]).samefile(inside)
                return parts[7] if same else inside
    return None


def threads_here(pid: int, proc: Path = PROC) -> dict[int, tuple[int, int]]:
    """Of a server in another PID namespace: of each of its threads there, process and thread here. Empty: its numbers are ours."""
    if _inner(pid, proc) in (None, pid):
        return {}
    parents = proc_stat.parents(proc)
    found = {}
    for process in [pid, *(one for one, parent in parents.items() if parent == pid)]:
        with suppress(OSError):
            for task in (proc / str(process) / "task").iterdir():
                inner = _inner(int(task.name), proc / str(process) / "task")
                if inner is not None:
                    found[inner] = process, int(task.name)
    return found


def _inner(pid: int, proc: Path) -> int | None:
    with suppress(OSError):
        status = (proc / str(pid) / "status").read_text(errors="replace")
        if found := re.search(r"^NSpid:.*?(\d+)$", status, re.MULTILINE):
            return int(found[1])
    return None
