"""What a filesystem does, and to whom it says no, when it runs short of free space."""

from dataclasses import dataclass

from iowhy.whys.facts import Facts
from iowhy.whys.facts.stacks import MAKES_ROOM, Through, through

#: ENOSPC and EDQUOT (errno(3)), as calls return them.
NO_SPACE = (-28, -122)


@dataclass(frozen=True)
class Space:
    """`waits`: by call and reason, what of their waits is for room. Passes of writeback are those that the
    filesystem asked for (fs_free_space). `refused`: calls that failed for want of space or quota; None
    where single calls were not recorded. `mount`: of the filesystem that was waited for longest."""

    waits: tuple[Through, ...]
    passes: int
    pages: float
    inodes: int
    refused: int | None
    mount: str | None


def space(facts: Facts) -> Space:
    """From waits and stacks, writeback, syscalls, filesystems."""
    found: dict[str, float | None] = {}
    if facts.has("writeback"):
        found = facts.numbers(
            """SELECT count(*) AS passes, sum(pages_written) AS pages,
            count(DISTINCT (dev, ino)) AS inodes FROM writeback
            WHERE reason = 'fs_free_space' AND dev IN (SELECT dev FROM own_filesystems)"""
        )
    refused = None
    if facts.has("syscalls"):
        refused = int(
            facts.numbers(f"SELECT count(*) AS n FROM syscalls WHERE ret IN {NO_SPACE}")["n"] or 0
        )
    return Space(
        waits=tuple(one for one in through(facts, MAKES_ROOM) if one.shown_waits),
        passes=int(found.get("passes") or 0),
        pages=found.get("pages") or 0.0,
        inodes=int(found.get("inodes") or 0),
        refused=refused,
        mount=_mount(facts),
    )


def _mount(facts: Facts) -> str | None:
    if not facts.has("filesystems") or not facts.has("waits"):
        return None
    rows = facts.rows(
        """SELECT f.mount FROM (SELECT dev, sum(dur_ns) AS t FROM waits WHERE dev IS NOT NULL
        GROUP BY dev ORDER BY t DESC LIMIT 1) AS w JOIN filesystems AS f ON f.dev = w.dev LIMIT 1"""
    )
    return str(rows[0][0]) if rows else None
