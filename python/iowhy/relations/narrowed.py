"""A part of a recording as if it were the whole: a stretch of time, or some of its processes.

Reports take filters (reports/filters.py), which leave rows out of their tables. A verdict of one process needs more: to
it, the others of a recorded machine are neighbours, and their requests are those of others.
"""

from collections.abc import Callable

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.schema import tables
from iowhy.relations.facts import RecordedFacts

#: Selects a table's rows with the columns of the schema (OpenTables.select).
Select = Callable[[str], str]


class Narrowed(Struct, frozen=True):
    """What is left: rows that begin in [since_ns, until_ns), of threads' time and waits the part that is there, and of `pids` where any are given.

    `existed`: from when to when these processes were there, which is then the time that shares are of. Of what else
    was recorded, the rows that begin within it are left; theirs stay, those of an interval that reaches beyond it too.
    """

    since_ns: int | None = None
    until_ns: int | None = None
    pids: tuple[int, ...] = ()
    existed: tuple[int, int] | None = None

    def facts(self, facts: RecordedFacts) -> RecordedFacts:
        """The facts of the part: its times; what was summed up over the whole recording does not hold for it."""
        start = max(facts.start_ns, facts.start_ns if self.since_ns is None else self.since_ns)
        end = min(facts.end_ns, facts.end_ns if self.until_ns is None else self.until_ns)
        if self.existed is not None:
            start, end = max(start, self.existed[0]), min(end, self.existed[1])
        end = max(start, end)
        return replace(facts, start_ns=start, end_ns=end, elapsed_ns=end - start).without_sums()

    def select(self, name: str, whole: Select) -> str:
        """The SELECT of a table's rows that are left."""
        if self.pids:
            return self._timed(name, self._of_pids(name, whole))
        return self._timed(name, whole(name))

    def _timed(self, name: str, select: str) -> str:
        if name == "thread_time":
            select = self._cut(select)
        if name == "waits":
            select = self._clipped(select)
        time = tables()[name].time
        bounds = []
        if time is not None and self.since_ns is not None:
            bounds.append(f"{time} >= {self.since_ns}")
        if time is not None and self.until_ns is not None:
            bounds.append(f"{time} < {self.until_ns}")
        if time is not None and self.existed is not None:
            bounds.append(
                self._beside(name, f"{time} >= {self.existed[0]} AND {time} < {self.existed[1]}")
            )
        return f"SELECT * FROM ({select}) AS t WHERE {' AND '.join(bounds)}" if bounds else select

    def _clipped(self, select: str) -> str:
        """Waits that reach beyond the stretch: what is in it of them. One may be nearly all of a phase, and begin just before it."""
        begin = "ts_ns" if self.since_ns is None else f"greatest(ts_ns, {self.since_ns})"
        end = "ts_ns + dur_ns"
        if self.until_ns is not None:
            end = f"least({end}, {self.until_ns})"
        if (begin, end) == ("ts_ns", "ts_ns + dur_ns"):
            return select
        return (
            f"SELECT * REPLACE ({begin} AS ts_ns, {end} - {begin} AS dur_ns) FROM ({select}) AS t "
            f"WHERE {end} > {begin}"
        )

    def _cut(self, select: str) -> str:
        """Threads' time where intervals reach beyond the stretch (a sleeper's last a second): its part, evenly."""
        begin = "ts_ns" if self.since_ns is None else f"greatest(ts_ns, {self.since_ns})"
        end = "ts_ns + interval_ns"
        if self.until_ns is not None:
            end = f"least({end}, {self.until_ns})"
        if (begin, end) == ("ts_ns", "ts_ns + interval_ns"):
            return select
        kept = f"({end} - {begin})"
        names = [column.name for column in tables()["thread_time"].columns]
        parts = {
            name: f"CAST(floor({name}::DOUBLE * {kept} / interval_ns) AS BIGINT)"
            for name in names
            if name.endswith("_ns") and name not in ("ts_ns", "interval_ns", "sleeping_ns")
        }
        awake = " - ".join(
            f"coalesce({parts[name]}, 0)"
            for name in ("cpu_user_ns", "cpu_kernel_ns", "runnable_ns", "blocked_ns")
        )
        parts |= {"ts_ns": begin, "interval_ns": kept}
        parts["sleeping_ns"] = (
            f"CASE WHEN sleeping_ns IS NOT NULL THEN greatest({kept} - {awake}, 0) END"
        )
        said = ", ".join(f"{sql} AS {name}" for name, sql in parts.items())
        return f"SELECT * REPLACE ({said}) FROM ({select}) AS t WHERE {kept} > 0"

    def _beside(self, name: str, within: str) -> str:
        """The condition for rows that begin while the processes were there, or are their own."""
        if not any(column.name == "tgid" for column in tables()[name].columns):
            return f"({within})"
        return f"({within} OR tgid IN ({', '.join(map(str, self.pids))}))"

    def _of_pids(self, name: str, whole: Select) -> str:
        ids = ", ".join(map(str, self.pids))
        rows = f"({whole(name)}) AS t"
        match name:
            case "block_requests":
                # A worker of the kernel is no process that was recorded; what it writes of their files is theirs.
                own = f"""coalesce(tgid IN ({ids}), false)
                    OR in_scope AND coalesce(tgid NOT IN (SELECT tgid FROM ({whole("threads")}) AS r), true)
                        AND (owner_dev, owner_ino) IN ({self._touched(ids, whole)})"""
                return f"SELECT * REPLACE (CASE WHEN in_scope IS NOT NULL THEN {own} END AS in_scope) FROM {rows}"
            case "writeback":
                return f"SELECT * FROM {rows} WHERE (dev, ino) IN ({self._touched(ids, whole)})"
            case "dirtied_by_others":
                cached = f"({whole('page_cache')}) AS p"
                return f"""SELECT * FROM {rows} WHERE tgid NOT IN ({ids}) UNION ALL
                    SELECT ts_ns, interval_ns, tgid, dev, dirtied_pages FROM {cached}
                    WHERE tgid NOT IN ({ids}) AND dev IS NOT NULL AND dirtied_pages > 0"""
            case "neighbours":
                others = f"({whole('threads')}) AS r WHERE tid = tgid AND tgid NOT IN ({ids})"
                return f"SELECT * FROM {rows} UNION ALL SELECT tgid, comm, container, title FROM {others}"
            case "page_cache":
                return f"SELECT * FROM {rows} WHERE tgid IS NULL OR tgid IN ({ids})"
        if any(column.name == "tgid" for column in tables()[name].columns):
            return f"SELECT * FROM {rows} WHERE tgid IN ({ids})"
        return whole(name)

    @staticmethod
    def _touched(ids: str, whole: Select) -> str:
        return f"""SELECT dev, ino FROM ({whole("syscalls")}) AS c
            WHERE tgid IN ({ids}) AND dev IS NOT NULL AND ino IS NOT NULL"""
