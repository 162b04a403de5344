"""Where the files are that a command uses: what an experiment has to copy, warm or drop."""

import os
from pathlib import Path

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.users import is_everything

#: Files of the system, which every program reads: no place of the command's own data.
_SYSTEM = r"^/(usr|lib[^/]*|s?bin|etc|proc|sys|dev)/"
#: The files that carry this much of what is moved decide where its data lie; the rest is small change.
_CARRIES = 0.9
#: More than so many are not named one by one.
MOST_FILES = 200_000


class _Place(Struct, frozen=True):
    first: str | None
    last: str | None
    heaviest: str | None
    below_bytes: float | None
    all_bytes: float | None


class DataPlace(Struct, frozen=True):
    """`directory` holds the files that carry nearly all that the command moves, `heaviest` the one that carries most."""

    directory: Path
    heaviest: Path


def outside(relations: Relations, page_bytes: int, cwd: Path) -> DataPlace | None:
    """Where its data are, when that is not said well enough by the directory in which it ran: most of them are not below that,
    or it is a home. None where nothing was moved. By bytes of its requests and of pages that it dirtied.
    """
    if not relations.has("files"):
        return None
    found = relations.one(
        _Place,
        f"""WITH weights AS ({_weights(page_bytes, least=1)}), own AS (
            SELECT weight, min(path) AS first, max(path) AS last, count(*) * weight AS bytes,
                sum(CASE WHEN starts_with(path, {text_literal(_below(cwd))}) THEN weight ELSE 0 END) AS below
            FROM weights WHERE NOT regexp_matches(path, {text_literal(_SYSTEM)})
            GROUP BY weight
        ), heavy AS (
            -- Files of one weight count all or none: there are few weights, and to put all paths in order takes long.
            SELECT *, sum(bytes) OVER (ORDER BY weight DESC) - bytes AS before, sum(bytes) OVER () AS whole FROM own
        )
        SELECT min(first) AS first, max(last) AS last, arg_max(first, weight) AS heaviest,
            CAST(sum(below) AS DOUBLE) AS below_bytes, CAST(sum(bytes) AS DOUBLE) AS all_bytes
        FROM heavy WHERE before < {_CARRIES} * whole""",
    )
    if found.first is None or found.last is None or found.heaviest is None:
        return None
    if 2 * (found.below_bytes or 0.0) >= (found.all_bytes or 0.0) and not is_everything(cwd):
        return None
    # All paths lie between the first and the last one: what those two share, all share.
    shared = os.path.commonpath([Path(found.first).parent, Path(found.last).parent])
    return DataPlace(Path(shared), Path(found.heaviest).parent)


def used(relations: Relations, page_bytes: int) -> tuple[Path, ...]:
    """The files that it read, wrote or mapped, and that had not been removed when it ended; none if not known."""
    if not relations.has("files"):
        return ()
    sql = f"SELECT path FROM ({_weights(page_bytes)}) WHERE NOT deleted ORDER BY path LIMIT {MOST_FILES}"
    return tuple(map(Path, relations.values(str, sql)))


def _below(directory: Path) -> str:
    return f"{str(directory).rstrip('/')}/"


def _weights(page_bytes: int, least: int = 0) -> str:
    """SQL: each file by its path, and the bytes that it was about: requests, or what was dirtied where those came later.

    `least`: of each of these two, what counts.
    """
    return f"""SELECT n.path, min(n.deleted) AS deleted, sum(w.weight) AS weight
        FROM (
            SELECT owner_dev AS dev, owner_ino AS ino, bytes AS weight FROM file_requests
            UNION ALL
            SELECT dev, ino, coalesce(dirtied_pages, 0) * {page_bytes} AS weight FROM file_cache
            WHERE ino IS NOT NULL
        ) AS w
        JOIN named_files AS n ON n.dev = w.dev AND n.ino = w.ino
        WHERE coalesce(w.weight, 0) >= {least} AND n.kind = 'file' AND n.path LIKE '/%'
        GROUP BY n.path"""


#: Of the time that reading waits, the part in files that are gone at the end from which a second run would not find its input.
GONE = 0.5


def inputs_gone(relations: Relations, reading_ns: int) -> bool:
    """Whether what it read was gone at its end (mv to another filesystem, rm of a tree, a log that is cut off when it has been
    copied): it cannot run a second time.

    `reading_ns` is all that its threads waited to read, in page faults too: of those it is not known which file they were for, and a few
    calls for what it replaced (git's index) say nothing of them.
    """
    if not relations.has("syscalls") or not relations.has("files"):
        return False
    found = relations.value(
        bool,
        f"""
        SELECT sum(s.blocked_ns) > 0 AND coalesce(sum(s.blocked_ns) FILTER (WHERE f.ino IS NOT NULL), 0)
          >= {GONE} * greatest(sum(s.blocked_ns), {reading_ns})
        FROM calls_by_file AS s JOIN call_kinds AS k ON k.name = s.name
        LEFT JOIN (
            SELECT dev, ino FROM named_files WHERE deleted OR (kind = 'file' AND size_bytes = 0)
        ) AS f ON f.dev = s.dev AND f.ino = s.ino
        WHERE s.ino IS NOT NULL AND k.kind IN ('read', 'copy')
        """,
    )
    return bool(found)
