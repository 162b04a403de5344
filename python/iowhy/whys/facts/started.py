"""What was recorded, as it was started: what the command read on its standard input, which processes were attached to."""

from iowhy.data_class import dataclass
from iowhy.relations import Relations
from iowhy.whys import classes


@dataclass(frozen=True)
class _Path:
    path: str


@dataclass(frozen=True)
class _Process:
    tgid: int


def input_file(relations: Relations) -> str | None:
    """The file that the command was given as its standard input, where it was one and has a name.

    One that it opened itself and made its standard input (dd if=…) was not given.
    """
    if not relations.has("syscalls") or not relations.has("threads"):
        return None
    found = relations.read(
        _Path,
        f"""SELECT DISTINCT f.path FROM syscalls AS s
        JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino AND f.kind = 'file'
        WHERE s.fd = 0 AND s.name IN {classes.quoted(classes.DATA_READS)} AND f.path LIKE '/%'
        AND s.tgid = (SELECT tgid FROM threads ORDER BY start_ns, tid LIMIT 1)
        AND NOT EXISTS (SELECT 1 FROM syscalls AS o WHERE o.tgid = s.tgid AND o.dev = s.dev AND o.ino = s.ino
            AND o.name IN ('open', 'openat', 'openat2')) LIMIT 2""",
    )
    return found[0].path if len(found) == 1 else None


def roots(relations: Relations) -> tuple[int, ...]:
    """The processes that were attached to: those that no other one of the recording started."""
    found = relations.read(
        _Process,
        """SELECT DISTINCT tgid FROM threads
        WHERE ppid IS NULL OR ppid NOT IN (SELECT tgid FROM threads) ORDER BY tgid""",
    )
    return tuple(one.tgid for one in found)
