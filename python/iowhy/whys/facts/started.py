"""What was recorded, as it was started: what the command read on its standard input, which processes were attached to."""

from iowhy.relations import Relations
from iowhy.whys import classes

_OPENS = frozenset({"open", "openat", "openat2"})
# The files that the first process read and did not open.
_GIVEN = f"""
WITH own AS (
  SELECT tgid, dev, ino, bool_or(name IN {classes.quoted(classes.DATA_READS)}) AS reads,
    bool_or(name IN {classes.quoted(_OPENS)}) AS opened
  FROM calls_by_file
  WHERE tgid = (SELECT tgid FROM threads ORDER BY start_ns, tid LIMIT 1)
    AND name IN {classes.quoted(classes.DATA_READS | _OPENS)}
  GROUP BY tgid, dev, ino
)
SELECT s.tgid, s.dev, s.ino, f.path FROM own AS s
JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino AND f.kind = 'file'
WHERE s.reads AND NOT s.opened AND f.path LIKE '/%'
"""


def input_file(relations: Relations) -> str | None:
    """The file that the command was given as its standard input, where it was one and has a name.

    One that it opened itself and made its standard input (dd if=…) was not given.
    """
    if not relations.has("syscalls") or not relations.has("threads"):
        return None
    if not relations.value(int, f"SELECT count(*) FROM ({_GIVEN}) AS g"):
        return None  # it opened all that it read: its calls need not be read
    found = relations.values(
        str,
        f"""SELECT DISTINCT g.path FROM syscalls AS s JOIN ({_GIVEN}) AS g ON g.dev = s.dev AND g.ino = s.ino
        WHERE s.fd = 0 AND s.name IN {classes.quoted(classes.DATA_READS)} AND s.tgid = g.tgid LIMIT 2""",
    )
    return found[0] if len(found) == 1 else None


def roots(relations: Relations) -> tuple[int, ...]:
    """The processes that were attached to: those that no other one of the recording started."""
    return tuple(
        relations.values(
            int,
            """SELECT DISTINCT tgid FROM threads
            WHERE ppid IS NULL OR ppid NOT IN (SELECT tgid FROM threads) ORDER BY tgid""",
        )
    )
