"""Waits for filesystems that a process in user space (FUSE) or a server serves: what answers them is not a device of this machine."""

from typing import Literal

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations


class Served(Struct, frozen=True):
    """Waits for one such filesystem in calls of one name for one reason; `part` (0..1) of all waits of these two.

    `reason` is None for interruptible sleep, `call` for page faults. `tgid` is the process that serves it, None if
    not known, as are its mount and kind of a wait without a file. `unanswered_ns`: how long the recorder waited for
    an answer of that filesystem that did not come.
    """

    call: str | None
    reason: str | None
    waits: int
    total_ns: float
    part: float
    mount: str | None
    kind: str | None
    tgid: int | None
    unanswered_ns: float | None = None


_SERVED = """
SELECT s.syscall AS call, s.reason, s.waits, s.total_ns::DOUBLE AS total_ns, s.part, f.mount, f.kind, f.daemon_tgid AS tgid,
    f.unanswered_ns::DOUBLE AS unanswered_ns
FROM served_waits AS s LEFT JOIN served_filesystems AS f ON f.dev = s.dev
WHERE s.served_by = '{by}' AND s.total_ns > 0 ORDER BY f.unanswered_ns IS NULL, s.total_ns DESC, s.syscall, s.reason, f.mount
"""


def served(relations: Relations, by: Literal["process", "server"]) -> tuple[Served, ...]:
    """Filesystems that do not answer first, then the longest; none where no file of such a filesystem was named."""
    if not (relations.has("waits") or relations.has("syscalls")):
        return ()
    return tuple(relations.read(Served, _SERVED.format(by=by)))


def is_there(relations: Relations, by: Literal["process", "server"]) -> bool:
    """Whether there is any such filesystem: nearly no command has one, and the rest asks for all of its calls."""
    known = f"SELECT count(*) AS n FROM served_filesystems WHERE served_by = '{by}'"
    return relations.has("filesystems") and bool(relations.value(int, known))


class Answers(Struct, frozen=True):
    """Operations of one kind that NFS asked of a server, the machine's; times in ns, means of one operation."""

    op: str
    operations: int
    rtt_ns: float
    queue_ns: float
    timeouts: int


_ANSWERS = """
SELECT op, operations, mean_rtt_ns::DOUBLE AS rtt_ns, mean_queue_ns::DOUBLE AS queue_ns, timeouts
FROM remote_operations WHERE mount = {mount} ORDER BY execute_ns DESC, op LIMIT 1
"""


def answers(relations: Relations, mount: str | None) -> Answers | None:
    """The kind of operation that took most of the time; None if not known (no NFS)."""
    if mount is None or not (relations.has("remote_samples") and relations.has("filesystems")):
        return None
    return relations.first(Answers, _ANSWERS.format(mount=text_literal(mount)))
