"""What sessions of MariaDB and MySQL do: by the performance schema where it is on, else by MariaDB's list of processes."""

import os
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from iowhy.sources.statements.normalised import MOST_CHARACTERS
from iowhy.sources.statements.refused import Unreadable
from iowhy.sources.statements.server import Server
from iowhy.sources.statements.session import Session

_AT_WORK = ("Query", "Execute")
_LIST = f"""
SELECT ID, TID, LEFT(INFO, {MOST_CHARACTERS}), STATE, DB, NULL, QUERY_ID, COMMAND, TIME_MS, NULL, NULL
FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND TID > 0 LIMIT %s
"""
# The end of a statement that runs is now, so that our own, read first, says what time it is. Sessions keep their last one.
_SCHEMA = f"""
SELECT STRAIGHT_JOIN t.PROCESSLIST_ID, t.THREAD_OS_ID, LEFT(e.SQL_TEXT, {MOST_CHARACTERS}), t.PROCESSLIST_STATE, t.PROCESSLIST_DB,
  e.DIGEST, e.EVENT_ID, t.PROCESSLIST_COMMAND, e.TIMER_START DIV 1000, IF(e.END_EVENT_ID IS NULL, NULL, e.TIMER_END DIV 1000),
  n.TIMER_END DIV 1000
FROM performance_schema.threads AS o
JOIN performance_schema.events_statements_current AS n ON n.THREAD_ID = o.THREAD_ID AND n.NESTING_EVENT_LEVEL = 0
JOIN performance_schema.events_statements_current AS e ON e.NESTING_EVENT_LEVEL = 0
JOIN performance_schema.threads AS t ON t.THREAD_ID = e.THREAD_ID
WHERE o.PROCESSLIST_ID = CONNECTION_ID() AND t.PROCESSLIST_ID <> CONNECTION_ID() AND t.THREAD_OS_ID > 0
LIMIT %s
"""
# InnoDB answers from a copy that it renews only if nobody has asked for 0.1 s.
_LOCKS_EVERY_S = 0.15
_WAITERS = """
FROM information_schema.INNODB_LOCK_WAITS AS l
JOIN information_schema.INNODB_TRX AS w ON w.trx_id = l.requesting_trx_id
JOIN information_schema.INNODB_TRX AS o ON o.trx_id = l.blocking_trx_id
"""
_LOCKS_LIST = f"""
SELECT w.trx_mysql_thread_id, h.TID {_WAITERS}
JOIN information_schema.PROCESSLIST AS h ON h.ID = o.trx_mysql_thread_id
"""
_LOCKS_MARIADB = f"""
SELECT w.trx_mysql_thread_id, h.THREAD_OS_ID {_WAITERS}
JOIN performance_schema.threads AS h ON h.PROCESSLIST_ID = o.trx_mysql_thread_id
"""
_LOCKS_MYSQL = """
SELECT w.PROCESSLIST_ID, h.THREAD_OS_ID FROM performance_schema.data_lock_waits AS l
JOIN performance_schema.threads AS w ON w.THREAD_ID = l.REQUESTING_THREAD_ID
JOIN performance_schema.threads AS h ON h.THREAD_ID = l.BLOCKING_THREAD_ID
"""
_CONSUMER = "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME = 'events_statements_current' AND ENABLED = 'YES'"
_OWN_LIST = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
_OWN_SCHEMA = (
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
)


class _Clock:
    """A server's timer by our clock: each reading was after it was asked for and before it was answered."""

    def __init__(self) -> None:
        self._least_ns, self._most_ns = -(1 << 63), 1 << 63

    def read(self, timer_ns: int, before_ns: int, after_ns: int) -> None:
        least_ns, most_ns = before_ns - timer_ns, after_ns - timer_ns
        self._least_ns, self._most_ns = max(self._least_ns, least_ns), min(self._most_ns, most_ns)
        if self._least_ns > self._most_ns:
            # One of them was set anew.
            self._least_ns, self._most_ns = least_ns, most_ns

    def at(self, timer_ns: int) -> int:
        return timer_ns + (self._least_ns + self._most_ns) // 2


class Connection:
    """A session of our own, that reads the others'."""

    #: When sessions were read last.
    read_ns: int | None = None

    @staticmethod
    def load() -> None:
        """Imports all that it takes. Raises ImportError if that is not installed."""

    def __init__(
        self, server: Server, dsn: str, _seconds: float, most: int, database: str | None = None
    ) -> None:
        """Raises pymysql.Error or OSError where the server does not let us in."""
        import pymysql

        given = urlsplit(dsn)
        options: dict[str, Any] = {"unix_socket": server.socket}
        # As all its clients read it.
        if given.hostname and (given.hostname != "localhost" or given.port):
            options = {"host": given.hostname, "port": given.port or 3306}
        options |= {"user": unquote(given.username)} if given.username else {}
        options |= dict(parse_qsl(given.query))
        options |= {} if database is None else {"database": database}
        options.setdefault("password", os.environ.get("MYSQL_PWD", ""))
        self._connection = pymysql.connect(
            autocommit=True, connect_timeout=3, read_timeout=2, write_timeout=2, **options
        )
        # MariaDB before 11 says so to clients that know only MySQL's numbers.
        version = self._connection.get_server_info().removeprefix("5.5.5-")
        self._mariadb = "MariaDB" in version
        self.name = f"{'MariaDB' if self._mariadb else 'MySQL'} {'.'.join(version.split('.')[:2])}"
        self._most = most
        on, self.memory_bytes = self._rows("SELECT @@performance_schema, @@sort_buffer_size")[0]
        # MariaDB has it off unless it was asked for.
        shown = bool(on) and bool(self._rows(_CONSUMER)[0][0])
        if not shown and not self._mariadb:
            raise Unreadable("its consumer events_statements_current is off (setup_consumers)")
        own = self._rows(_OWN_LIST if self._mariadb else _OWN_SCHEMA)
        self.thread, self.began_ns = int(own[0][0]), time.time_ns()
        self._sql = _SCHEMA if shown else _LIST
        self._locks = _LOCKS_MARIADB if shown else _LOCKS_LIST
        if not self._mariadb:
            self._locks = _LOCKS_MYSQL
        self._clock = _Clock()
        self._held: dict[int, int] = {}
        self._asked_s = 0.0

    def _rows(self, sql: str, *values: object) -> Sequence[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
            return rows

    def sessions(self) -> list[Session]:
        """What they do now. Raises pymysql.Error where the server does not answer in time."""
        before_ns = time.time_ns()
        rows = self._rows(self._sql, self._most)
        after_ns = time.time_ns()
        self.read_ns = (before_ns + after_ns) // 2
        if rows and rows[0][-1] is not None:
            self._clock.read(int(rows[0][-1]), before_ns, after_ns)
            self.read_ns = self._clock.at(int(rows[0][-1]))
        if any(row[7] in _AT_WORK and row[2] for row in rows):
            self._ask_locks()
        else:
            self._held = {}
        return [
            Session(
                thread,
                text or "",
                *self._times(command, began, ended, timer),
                wait=_wait(state, number in self._held),
                holder=self._held.get(number),
                id=digest,
                run=run,
                database=database,
                backend="client backend",
            )
            for number, thread, text, state, database, digest, run, command, began, ended, timer in rows
            if command in (*_AT_WORK, "Sleep")
        ]

    def _times(
        self, command: str, began: Any, ended: Any, timer: Any
    ) -> tuple[int | None, int | None]:
        """When its statement began and ended: by the server's timer, in ns; of a list by the milliseconds since then."""
        if timer is not None:
            return self._clock.at(int(began)), None if ended is None else self._clock.at(int(ended))
        since = (self.read_ns or 0) - int(float(began or 0) * 1e6)
        return (since, None) if command in _AT_WORK else (None, since)

    def _ask_locks(self) -> None:
        """Notes who waits for whom."""
        if time.monotonic() >= self._asked_s + _LOCKS_EVERY_S:
            rows = self._rows(self._locks)
            self._held = {int(waiter): int(holder) for waiter, holder in rows}
            self._asked_s = time.monotonic()


def _wait(state: str | None, held: bool) -> str | None:
    """In the server's words, those for locks as PostgreSQL's begin."""
    if held:
        return "Lock: row"
    waits = state is not None and state.startswith("Waiting for") and state.endswith(" lock")
    return f"Lock: {state}" if waits else state or None


def unreadable(dsn: str) -> bool:
    """Whether it has a password, or cannot be read as mysql://USER@HOST, which anybody could see in ps."""
    given = urlsplit(dsn)
    return (
        given.scheme not in ("mysql", "mariadb") or bool(given.password) or "passw" in given.query
    )
