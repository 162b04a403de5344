"""Choose a part of a recording: by time, by process, by container, by file."""

import re
from datetime import UTC, datetime, timedelta

from msgspec import Struct
from msgspec.structs import replace

from iowhy import quantities
from iowhy.errors import Problem
from iowhy.recordings import Manifest
from iowhy.recordings.schema import Table, tables
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import RecordedFacts

_SHORTEST_ID = 4  # of fewer characters nobody means the beginning of an id
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_OF_A_DAY = re.compile(r"[0-9]{1,2}:[0-9]{2}")


class Filters(Struct, frozen=True):
    """What part to look at. The defaults choose everything.

    since, until: seconds after the start of the command (`12`, `1.5s`, `250ms`, `2m`), or a
    wall-clock time (`2026-11-21T17:20:04`, `17:20:04`; UTC unless it names its offset).
    What begins in [since, until) is in.
    pids: process ids; in tables that name threads, thread ids too.
    file: part of a path, or a pattern with `*` and `?` for the whole path.
    container: name, NAMESPACE/POD/NAME, id or the beginning of an id; a service of systemd.
    device: name of a block device.
    """

    since: str | None = None
    until: str | None = None
    pids: tuple[int, ...] = ()
    file: str | None = None
    container: str | None = None
    device: str | None = None

    def given(self) -> tuple[str, ...]:
        """The names of the filters that choose something."""
        named = {
            "since": self.since,
            "until": self.until,
            "pid": self.pids,
            "file": self.file,
            "container": self.container,
            "device": self.device,
        }
        return tuple(name for name, value in named.items() if value not in (None, ()))


class Selection(Struct, frozen=True):
    """Filters that were resolved against one recording: times in ns, the path as an SQL pattern."""

    since_ns: int | None = None
    until_ns: int | None = None
    pids: tuple[int, ...] = ()
    path_like: str | None = None
    in_container: str | None = None
    """SQL for the processes of the container, `SELECT tgid …`."""
    on_device: str | None = None
    """SQL for the block device, `SELECT dev …`."""

    def facts(self, facts: RecordedFacts) -> RecordedFacts:
        """The facts of the chosen part: less time elapsed, the same origin of times."""
        start = max(facts.start_ns, facts.start_ns if self.since_ns is None else self.since_ns)
        end = min(facts.end_ns, facts.end_ns if self.until_ns is None else self.until_ns)
        return replace(facts, end_ns=max(start, end), elapsed_ns=max(end - start, 0))

    def before(self, until_ns: int) -> "Selection":
        """Of this selection, what begins before a moment."""
        return replace(
            self, until_ns=until_ns if self.until_ns is None else min(self.until_ns, until_ns)
        )

    def where(self, table: str) -> str | None:
        """The SQL condition for the rows of a table, None when nothing is filtered."""
        described = tables()[table]
        columns = {column.name for column in described.columns}
        conditions = self._times(described)
        if self.pids:
            conditions += self._processes(table, columns, ", ".join(map(str, self.pids)), True)
        if self.in_container is not None:
            conditions += self._processes(table, columns, self.in_container, False)
        if self.path_like is not None:
            conditions += self._files(columns)
        if self.on_device is not None and table in ("block_requests", "disk_samples"):
            conditions.append(f"dev IN ({self.on_device})")
        return " AND ".join(conditions) or None

    def chosen_files(self) -> str | None:
        """SQL for the relation `chosen_files(dev, ino)`, None without a file filter."""
        if self.path_like is None:
            return None
        return (
            f"SELECT DISTINCT dev, ino FROM main.files WHERE path LIKE {self.path_like} ESCAPE '!'"
        )

    def _times(self, table: Table) -> list[str]:
        if table.time is None:
            return []
        conditions = []
        if self.since_ns is not None:
            conditions.append(f"{table.time} >= {self.since_ns}")
        if self.until_ns is not None:
            conditions.append(f"{table.time} < {self.until_ns}")
        return conditions

    def _processes(self, table: str, columns: set[str], ids: str, threads: bool) -> list[str]:
        """What these processes did (`threads`: or threads of these ids)."""
        if "tgid" not in columns:
            return []
        mine = f"tgid IN ({ids})"
        if threads and "tid" in columns:
            mine = f"({mine} OR tid IN ({ids}))"
        if table not in ("block_requests", "writeback"):
            return [mine]
        # Kernel workers write back what a process dirtied: by the file, unless it was the work of
        # another process of the recording.
        dev, ino = ("owner_dev", "owner_ino") if table == "block_requests" else ("dev", "ino")
        whose = f"(tgid IN ({ids}) OR tid IN ({ids}))" if threads else f"tgid IN ({ids})"
        touched = (
            f"({dev}, {ino}) IN (SELECT DISTINCT dev, ino FROM main.syscalls WHERE {whose} "
            "AND dev IS NOT NULL AND ino IS NOT NULL)"
        )
        foreign = "coalesce(tgid NOT IN (SELECT tgid FROM main.threads), true)"
        return [
            f"({mine} OR ({foreign} AND {dev} IS NOT NULL AND {ino} IS NOT NULL AND {touched}))"
        ]

    def _files(self, columns: set[str]) -> list[str]:
        for dev, ino in (("owner_dev", "owner_ino"), ("dev", "ino")):
            if {dev, ino} <= columns:
                return [
                    f"{dev} IS NOT NULL AND {ino} IS NOT NULL AND "
                    f"({dev}, {ino}) IN (SELECT dev, ino FROM chosen_files)"
                ]
        return []


def must_be_good(filters: Filters) -> None:
    """Raises Problem for what chooses a part of no recording whatever."""
    _must_be_time("--since", filters.since)
    _must_be_time("--until", filters.until)
    for pid in filters.pids:
        if not 0 <= pid < 2**31:
            raise Problem("pid-negative", pid=pid)
    if filters.file == "":
        raise Problem("file-pattern-empty")
    if filters.container is not None and not filters.container.strip():
        raise Problem("container-name-empty")


def resolve(filters: Filters, manifest: Manifest, facts: RecordedFacts) -> Selection:
    """`filters` as times and patterns of one recording. Raises Problem for one that is no good."""
    must_be_good(filters)
    since = moment("--since", filters.since, manifest, facts)
    until = moment("--until", filters.until, manifest, facts)
    long = facts.elapsed_ns
    if since is not None and until is not None and since >= until:
        raise Problem(
            "since-not-before-until", since=filters.since, until=filters.until, elapsed_ns=long
        )
    if since is not None and long > 0 and since >= facts.end_ns:
        raise Problem("since-after-the-end", since=filters.since, elapsed_ns=long)
    like = None if filters.file is None else _like(filters.file)
    of_container = _of_container(filters.container)
    return Selection(since, until, filters.pids, like, of_container, _on_device(filters.device))


def _on_device(asked: str | None) -> str | None:
    if asked is None:
        return None
    return f"SELECT dev FROM main.devices WHERE name = {text_literal(asked.removeprefix('/dev/'))}"


def _of_container(asked: str | None) -> str | None:
    if asked is None:
        return None
    name = text_literal(asked.strip())
    start = _like(asked.strip() + "*") if len(asked.strip()) >= _SHORTEST_ID else name
    return (
        "SELECT tgid FROM main.threads WHERE container IN (SELECT id FROM main.containers WHERE "
        f"name = {name} OR concat_ws('/', pod_namespace, pod, coalesce(name, id)) = {name} OR id = {name} OR id = {text_literal(asked.strip() + '.service')} OR "
        f"runtime IS DISTINCT FROM 'systemd' AND id LIKE {start} ESCAPE '!')"
    )


def _must_be_time(option: str, text: str | None) -> None:
    if text is None:
        return
    text = text.strip()
    span_ns = quantities.duration_ns(text)
    if span_ns is not None:
        if span_ns > quantities.MOST:
            raise Problem("longer-than-any-recording", option=option, text=text)
        return
    try:
        _wall_ns(text, "2026-11-21")
    except (ValueError, OverflowError):
        raise Problem("not-a-moment", option=option, text=text) from None


def moment(option: str, text: str | None, manifest: Manifest, facts: RecordedFacts) -> int | None:
    """A time as people type it, on the recording's clock; None for none. Raises Problem."""
    _must_be_time(option, text)
    if text is None:
        return None
    text = text.strip()
    span_ns = quantities.duration_ns(text)
    if span_ns is not None:
        return facts.start_ns + span_ns
    clock = manifest.clock
    wall = _wall(text, manifest, facts)
    if wall is None or clock.wall_ns is None or clock.monotonic_ns is None:
        raise Problem("recording-does-not-say", option=option, text=text)
    return clock.monotonic_ns + wall - clock.wall_ns


def _wall(text: str, manifest: Manifest, facts: RecordedFacts) -> int | None:
    """Nanoseconds since 1970 of a date and time, or of a time on the day the recording began; None if not known."""
    day = ""
    if _OF_A_DAY.match(text):
        if manifest.clock.wall_ns is None or manifest.clock.monotonic_ns is None:
            return None
        begin_ns = manifest.clock.wall_ns + facts.start_ns - manifest.clock.monotonic_ns
        day = (_EPOCH + timedelta(microseconds=begin_ns // 1000)).date().isoformat()
    return _wall_ns(text, day)


def _wall_ns(text: str, day: str) -> int:
    """The same, of a time without a date on this day. Raises ValueError, OverflowError."""
    if _OF_A_DAY.match(text):
        text = f"{day}T{text.zfill(8) if text.count(':') == 2 else text.zfill(5)}"
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH) // timedelta(microseconds=1) * 1000


def _like(pattern: str) -> str:
    """An SQL literal for LIKE with `!` as the escape character."""
    text = re.sub(r"([!%_])", r"!\1", pattern).replace("'", "''")
    if "*" in pattern or "?" in pattern:
        return "'" + text.replace("*", "%").replace("?", "_") + "'"
    return f"'%{text}%'"
