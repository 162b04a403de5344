"""Which programs were at work: by the files of theirs that were opened or mapped, never by a name alone.

Of a process that ran before it was recorded these are the files of its code that stacks were seen in.
"""

import re
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations

#: Of the time of all threads that is not sleep, a program's from which it is what was at work.
AT_WORK = 0.1


def executables(relations: Relations, names: Iterable[str]) -> dict[str, frozenset[int]]:
    """Of some programs, those whose executable file was seen and whose processes did a part of the work, or
    those that these started (a build is done by the compilers of make), each with all of these processes.

    A process carries the first 15 letters of its executable's name, behind which a version may be (python3.11); threads may
    have their own names.
    """
    if not relations.has("threads"):
        return {}
    comms = [comm for (comm,) in relations.rows("SELECT DISTINCT comm FROM threads")]
    # Most are in no recording: the few that may be are asked for.
    there = [
        name for name in sorted(set(names)) if any(_called(comm or "", name) for comm in comms)
    ]
    listed = ", ".join(f"('{name}')" for name in there)
    if not listed:
        return {}
    seen = relations.rows(
        f"""
        WITH RECURSIVE asked (name) AS (VALUES {listed}), busy AS (
          SELECT tgid, sum(interval_ns - coalesce(sleeping_ns, 0)) AS ns FROM thread_time GROUP BY tgid
        ), whole AS (SELECT greatest(sum(ns), 1) AS ns FROM busy
        ), processes AS (SELECT DISTINCT tgid, ppid FROM threads
        ), under (name, tgid) AS (
          SELECT a.name, t.tgid FROM asked AS a JOIN threads AS t ON t.comm = left(a.name, 15)
            OR starts_with(t.comm, left(a.name || '.', 15)) OR starts_with(t.comm, left(a.name || '-', 15))
          UNION SELECT u.name, p.tgid FROM under AS u JOIN processes AS p ON p.ppid = u.tgid
        ), files_of AS (
          SELECT DISTINCT regexp_extract(path, '[^/]*$') AS base FROM ({seen_paths(relations)}) AS s
          WHERE regexp_matches(path, '/(s?bin|libexec|lib[^/]*|pkg/tool)/')
        )
        SELECT a.name, list(DISTINCT u.tgid) AS tgids FROM asked AS a
        JOIN under AS u ON u.name = a.name
        LEFT JOIN busy AS b ON b.tgid = u.tgid
        CROSS JOIN whole AS w
        WHERE EXISTS (SELECT 1 FROM files_of AS f
                      WHERE f.base = a.name OR f.base LIKE a.name || '.%' OR f.base LIKE a.name || '-%')
        GROUP BY a.name, w.ns HAVING coalesce(sum(b.ns), 0) >= {AT_WORK} * w.ns
        """
    )
    return {name: frozenset(tgids) for name, tgids in seen}


def _called(comm: str, name: str) -> bool:
    """Whether a thread has the name of an executable; a version may be behind it."""
    return comm == name[:15] or comm.startswith((f"{name}."[:15], f"{name}-"[:15]))


#: What a package holds that an interpreter runs: who installs it writes it.
_CODE = r"\.([cm]?js|py|pyc|jar)$"


def matched(
    relations: Relations, patterns: Sequence[str], *, installed: bool = False
) -> frozenset[str]:
    """Of some patterns of paths (GLOB), those that a file of the recording has; `installed`: code that it wrote is not counted. What
    Python compiled is where its source is."""
    if not patterns or not relations.has("files"):
        return frozenset()
    # Few paths have the longest fixed part of any: only these are compared.
    parts = sorted({max(re.split(r"[*?]|\[[^]]*\]", one), key=len) for one in patterns})
    some = text_literal("|".join(map(re.escape, parts)))
    made = ""
    if installed and relations.has("syscalls"):
        made = f"""
        EXCEPT SELECT f.path FROM named_files AS f JOIN calls_by_file AS c ON c.dev = f.dev AND c.ino = f.ino
        JOIN call_kinds AS k ON k.name = c.name
        WHERE (k.kind = 'write' OR c.name = 'ftruncate') AND regexp_matches(f.path, {text_literal(_CODE)})"""
    rows = relations.rows(
        f"""
        SELECT DISTINCT path
        FROM (SELECT replace(path, '/__pycache__/', '/') AS path FROM ({seen_paths(relations)}{made}) AS s) AS p
        WHERE regexp_matches(path, {some})
        """
    )
    paths = [path for (path,) in rows]
    return frozenset(one for one in set(patterns) if any(fnmatchcase(path, one) for path in paths))


def seen_paths(relations: Relations) -> str:
    """SQL: paths of files that were opened or whose code ran."""
    files = "SELECT path FROM named_files WHERE kind <> 'directory'"
    return f"{files} UNION ALL SELECT path FROM modules" if relations.has("modules") else files


class FilesMoved(Struct, frozen=True):
    """Of how many files data were read, and written."""

    read: int
    written: int


def files_moved(relations: Relations) -> FilesMoved | None:
    """Files whose data calls moved; None where calls were not recorded. A copy from file to file counts as both."""
    if not relations.has("syscalls"):
        return None
    return relations.one(
        FilesMoved,
        """
        SELECT count(CASE WHEN read_bytes + copied_bytes > 0 THEN 1 END) AS read,
          count(CASE WHEN written_bytes + copied_bytes > 0 THEN 1 END) AS written
        FROM file_calls AS c
        LEFT JOIN (SELECT dev, ino FROM named_files WHERE kind <> 'file') AS o ON o.dev = c.dev AND o.ino = c.ino
        WHERE o.ino IS NULL
        """,
    )


class BytesMoved(Struct, frozen=True):
    """What calls read and wrote, pipes too."""

    read: int
    written: int


def bytes_moved(relations: Relations, names: Iterable[str]) -> BytesMoved | None:
    """What processes of these names read and wrote with calls; None where that was not recorded, or they moved nothing."""
    if not relations.has("syscalls") or not relations.has("threads"):
        return None
    listed = ", ".join(text_literal(name[:15]) for name in sorted(set(names)))
    found = relations.one(
        BytesMoved,
        f"""
        SELECT CAST(coalesce(sum(CASE WHEN k.kind = 'read' THEN s.done_bytes END), 0) AS BIGINT) AS read,
          CAST(coalesce(sum(CASE WHEN k.kind = 'write' THEN s.done_bytes END), 0) AS BIGINT) AS written
        FROM calls_by_filesystem AS s JOIN call_kinds AS k ON k.name = s.name
        WHERE s.tgid IN (SELECT tgid FROM threads WHERE comm IN ({listed}))
        """,
    )
    return found if found.read or found.written else None
