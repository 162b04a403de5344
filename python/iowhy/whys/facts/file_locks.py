"""Locks on files that another process holds: of which file, and those that are files themselves."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts.copied_up import OPENS
from iowhy.whys.facts.sleeps import LOCKS, TIMERS, Sleep

#: Calls that make a file, or fail if it is there (EEXIST): a link, or open with O_EXCL.
_MAKES = frozenset({"link", "linkat", "mkdir", "mkdirat", "symlink", "symlinkat"}) | OPENS
#: Folders are made whether they are there or not (`mkdir -p`): only one that is made in the end was waited for.
_FOLDERS = frozenset({"mkdir", "mkdirat"})
_EXISTS = -17
#: Of the pauses, tries from which the pauses are between them; and at least so many.
_MOST = 0.5
_TRIES = 2


class LockFile(Struct, frozen=True):
    """A file that is there, which a call failed so often to make. `path` is None if not known."""

    call: str
    tries: int
    path: str | None = None


class HeldFile(Struct, frozen=True):
    """A locked file that others wait for: its path, and who holds the lock in `waits` waits, of `holders`; what is not known is None."""

    path: str | None
    holder: str | None = None
    tgid: int | None = None
    waits: int = 0
    holders: int = 0


_TRIED = f"""
SELECT name AS call, count(*) FILTER (WHERE ret = {_EXISTS}) AS tries
FROM syscalls WHERE name IN {classes.quoted(_MAKES)}
GROUP BY name
HAVING count(*) FILTER (WHERE ret = {_EXISTS}) >= greatest({_TRIES}, {{least}})
  AND (name NOT IN {classes.quoted(_FOLDERS)} OR arg_max(ret, ts_ns) >= 0)
ORDER BY tries DESC, name LIMIT 1
"""
_NAMED = f"""
SELECT f.path FROM syscalls AS s JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino
WHERE s.name IN {classes.quoted(OPENS)} AND regexp_full_match(f.path, '.*[./_-](lock|lck)|.*/lock[^/]*')
GROUP BY f.path ORDER BY count(*) DESC, f.path LIMIT 1
"""


def lock_file(relations: Relations, sleep: Sleep | None) -> LockFile | None:
    """What is tried again after each pause; None: nothing is, or that is not known."""
    if sleep is None or sleep.call not in TIMERS or not relations.has("syscalls"):
        return None
    found = relations.first(LockFile, _TRIED.format(least=_MOST * sleep.calls))
    if found is None:
        return None
    return LockFile(found.call, found.tries, relations.value(str, _NAMED))


_HELD = """
WITH h AS (
  SELECT dev, ino, holder_tgid, count(*) AS waits, count(*) OVER () AS holders FROM lock_waits
  GROUP BY dev, ino, holder_tgid ORDER BY waits DESC, holder_tgid LIMIT 1
), named AS (
  SELECT tgid, comm FROM threads WHERE tid = tgid UNION ALL SELECT tgid, coalesce(title, comm) FROM neighbours
)
SELECT (SELECT max(f.path) FROM named_files AS f WHERE f.dev = h.dev AND f.ino = h.ino) AS path,
  (SELECT max(n.comm) FROM named AS n WHERE n.tgid = h.holder_tgid) AS holder,
  h.holder_tgid AS tgid, h.waits, h.holders
FROM h
"""


def held_file(relations: Relations, sleep: Sleep | None) -> HeldFile | None:
    """What is locked, and by whom, where a thread sleeps for a lock; None: for none, or no file is known."""
    if sleep is None or sleep.call not in LOCKS:
        return None
    found = relations.first(HeldFile, _HELD) if relations.has("lock_waits") else None
    if found is not None:
        return replace(found, path=found.path or sleep.path)
    return None if sleep.path is None else HeldFile(sleep.path)
