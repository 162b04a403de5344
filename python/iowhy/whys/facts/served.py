"""Waits for filesystems that a process in user space serves (FUSE): what answers them is that process."""

from iowhy.data_class import dataclass
from iowhy.relations import Relations


@dataclass(frozen=True)
class Served:
    """Waits for one such filesystem in calls of one name for one reason; `part` (0..1) of all waits of these two.

    `reason` is None for interruptible sleep, `call` for page faults. `tgid` is the process that serves it, None where
    that is not known, as are its mount and kind of a wait without a file.
    """

    call: str | None
    reason: str | None
    waits: int
    total_ns: float
    part: float
    mount: str | None
    kind: str | None
    tgid: int | None


_SERVED = """
SELECT s.syscall AS call, s.reason, s.waits, s.total_ns::DOUBLE AS total_ns, s.part, f.mount, f.kind, f.daemon_tgid AS tgid
FROM served_waits AS s LEFT JOIN served_filesystems AS f ON f.dev = s.dev
WHERE s.total_ns > 0 ORDER BY s.total_ns DESC, s.syscall, s.reason, f.mount
"""


def served(relations: Relations) -> tuple[Served, ...]:
    """The longest first; none where no file of such a filesystem was named."""
    if not (relations.has("waits") or relations.has("syscalls")):
        return ()
    return tuple(relations.read(Served, _SERVED))
