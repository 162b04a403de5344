"""Which files and calls the time of synchronous calls is of: what a setting that concerns some of them can end."""

from collections.abc import Sequence

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations

#: Of the syncs of some files, a thread's from which it is one of those that sync them: less is its start or end.
ONE_OF_THEM = 0.02


class Own(Struct, frozen=True):
    """What is a program's own: the work of its processes, and what concerns files of these patterns (GLOB); both empty: anything.

    `next_to` are ends of names: a file is the program's if there is one with such an end next to it, as a journal next to its database.
    """

    tgids: frozenset[int] = frozenset()
    files: tuple[str, ...] = ()
    next_to: tuple[str, ...] = ()

    def condition(self, row: str, file: str) -> str:
        """SQL: whether a row (with `tid`) and its file, which may be none, are its own. A file of no known path may be."""
        parts = []
        if self.tgids:
            tgids = ", ".join(map(str, sorted(self.tgids)))
            parts.append(f"{row}.tid IN (SELECT tid FROM threads WHERE tgid IN ({tgids}))")
        if self.files:
            parts.append(f"{self.of_files(file)} OR {self._holds(file)}")
        return f"({' OR '.join(parts)})" if parts else "true"

    def _holds(self, file: str) -> str:
        """SQL: whether it is a directory that holds files of these patterns: for their names it is synced, too."""
        like = " OR ".join(f"path GLOB {text_literal(one)}" for one in self.files)
        return f"""coalesce({file}.kind = 'directory' AND {file}.path IN (
            SELECT regexp_replace(path, '/[^/]*$', '') FROM named_files WHERE {like}), false)"""

    def of_files(self, file: str) -> str:
        """SQL: whether a file, which may be none, is its own."""
        either = [f"{file}.path IS NULL"]
        either += [f"{file}.path GLOB {text_literal(one)}" for one in self.files]
        either += [
            f"{file}.path IN (SELECT left(path, length(path) - {len(end)}) FROM named_files "
            f"WHERE suffix(path, {text_literal(end)}))"
            for end in self.next_to
        ]
        return " OR ".join(either)


def share_of_syncs(
    relations: Relations,
    files: Sequence[str],
    spared: Sequence[str],
    by: str,
    own: Own | None = None,
) -> float | None:
    """Of the time in which a sync call is under way, the share in which one is that a setting is about.

    None if none was recorded. It bounds what the setting can gain: a thread that syncs in the background, next to those
    that others wait for, takes nothing from them.

    `files` are patterns of paths (GLOB; none: any file), `spared` those that it leaves alone, `by` what
    syncs: "calls", or "writes" that do it themselves ("": either). A file whose path is not known may be one of them and counts; a call without a file (`sync`)
    is about all of them, and counts only where any file does. `own`: what the program itself syncs; None: anything.
    """
    if not relations.has("syscalls"):
        return None
    matches = Own(files=tuple(files)).of_files("f")
    about = [f"s.ino IS NOT NULL AND ({matches})"] if files else []
    about += [f"NOT coalesce(f.path GLOB {text_literal(one)}, false)" for one in spared]
    if own is not None:
        about.append(own.condition("s", "f"))
    if by:
        about.append("s.by_write" if by == "writes" else "NOT s.by_write")
    return relations.value(
        float,
        f"""
        WITH calls AS (
          SELECT s.ts_ns, s.end_ns, CAST({" AND ".join(about) or "true"} AS INTEGER) AS concerned
          FROM sync_calls AS s LEFT JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino
        ), moments AS (
          SELECT ts_ns AS t_ns, 1 AS any_call, concerned FROM calls
          UNION ALL SELECT end_ns, -1, -concerned FROM calls
        ), steps AS (
          SELECT lead(t_ns) OVER w - t_ns AS ns, sum(any_call) OVER w AS any_call,
            sum(concerned) OVER w AS concerned
          FROM moments WINDOW w AS (ORDER BY t_ns ROWS UNBOUNDED PRECEDING)
        )
        SELECT sum(CASE WHEN concerned > 0 THEN ns ELSE 0 END) / nullif(sum(ns), 0)
        FROM steps WHERE any_call > 0
        """,
    )


def threads_that_sync(relations: Relations, files: Sequence[str]) -> int | None:
    """How many threads make some of the sync calls for files of these patterns (GLOB); None where no calls were recorded.

    A file whose path is not known may be one of them and counts.
    """
    if not relations.has("syscalls"):
        return None
    matches = Own(files=tuple(files)).of_files("f")
    return relations.value(
        int,
        f"""
        WITH calls AS (
          SELECT s.tid, count(*) AS calls FROM sync_calls AS s
          LEFT JOIN named_files AS f ON f.dev = s.dev AND f.ino = s.ino
          WHERE s.ino IS NOT NULL AND ({matches}) GROUP BY s.tid
        )
        SELECT count(*) AS threads FROM calls
        WHERE calls >= {ONE_OF_THEM} * (SELECT sum(calls) FROM calls)
        """,
    )
