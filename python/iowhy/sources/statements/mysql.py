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
SELECT ID, TID, LEFT(INFO, {MOST_CHARACTERS}), COMMAND, TIME_MS, STATE, DB, NULL, QUERY_ID
FROM information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND TID > 0 LIMIT %s
"""
_SCHEMA = f"""
SELECT t.PROCESSLIST_ID, t.THREAD_OS_ID, LEFT(e.SQL_TEXT, {MOST_CHARACTERS}), t.PROCESSLIST_COMMAND, e.TIMER_WAIT / 1000000000,
  t.PROCESSLIST_STATE, t.PROCESSLIST_DB, e.DIGEST, e.EVENT_ID
FROM performance_schema.threads AS t
JOIN performance_schema.events_statements_current AS e ON e.THREAD_ID = t.THREAD_ID AND e.NESTING_EVENT_LEVEL = 0
WHERE t.PROCESSLIST_ID <> CONNECTION_ID() AND t.THREAD_OS_ID > 0 AND e.END_EVENT_ID IS NULL LIMIT %s
"""
# InnoDB answers from a copy that it renews only if nobody has asked for 0.1 s.
_LOCKS_EVERY_S = 0.15
_WAITERS = """
FROM information_schema.INNODB_LOCK_WAITS AS l
JOIN information_schema.INNODB_TRX AS w ON w.trx_id = l.requesting_trx_id
JOIN information_schema.INNODB_TRX AS o ON o.trx_id = l.blocking_trx_id
"""
_LOCKS_LIST = f"""
SELECT w.trx_mysql_thread_id, h.TID, NULL, NULL, NULL {_WAITERS}
JOIN information_schema.PROCESSLIST AS h ON h.ID = o.trx_mysql_thread_id
"""
# With the holder's last statement, which is over.
_LAST = f"h.THREAD_OS_ID, LEFT(e.SQL_TEXT, {MOST_CHARACTERS}), e.DIGEST, e.EVENT_ID"
_OVER = """
LEFT JOIN performance_schema.events_statements_current AS e ON e.THREAD_ID = h.THREAD_ID AND e.NESTING_EVENT_LEVEL = 0
  AND e.END_EVENT_ID IS NOT NULL
"""
_LOCKS_MARIADB = f"""
SELECT w.trx_mysql_thread_id, {_LAST} {_WAITERS}
JOIN performance_schema.threads AS h ON h.PROCESSLIST_ID = o.trx_mysql_thread_id {_OVER}
"""
_LOCKS_MYSQL = f"""
SELECT w.PROCESSLIST_ID, {_LAST} FROM performance_schema.data_lock_waits AS l
JOIN performance_schema.threads AS w ON w.THREAD_ID = l.REQUESTING_THREAD_ID
JOIN performance_schema.threads AS h ON h.THREAD_ID = l.BLOCKING_THREAD_ID {_OVER}
"""
_CONSUMER = "SELECT COUNT(*) FROM performance_schema.setup_consumers WHERE NAME = 'events_statements_current' AND ENABLED = 'YES'"
_OWN_LIST = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
_OWN_SCHEMA = (
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
)


class Connection:
    """A session of our own, that reads the others'."""

    #: No server of these says when it was read.
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
        self._held: dict[int, int] = {}
        self._asked_s = 0.0
        #: Of each holder the number of its last statement, and when it was met first.
        self._last: dict[int, tuple[int, int]] = {}

    def _rows(self, sql: str, *values: object) -> Sequence[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
            return rows

    def sessions(self, now_ns: int) -> list[Session]:
        """What they do now. Raises pymysql.Error where the server does not answer in time."""
        rows = self._rows(self._sql, self._most)
        holders: list[Session] = []
        if any(row[3] in _AT_WORK and row[2] for row in rows):
            holders = self._ask_locks(now_ns)
        else:
            self._held = {}
        return [
            Session(
                thread,
                text or "",
                began_ns=began
                if (began := now_ns - int(float(spent or 0) * 1e6)) and command in _AT_WORK
                else None,
                ended_ns=began if command not in _AT_WORK else None,
                wait=_wait(state, number in self._held),
                holder=self._held.get(number),
                id=digest,
                run=run,
                database=database,
                backend="client backend",
            )
            for number, thread, text, command, spent, state, database, digest, run in rows
            if command in (*_AT_WORK, "Sleep")
        ] + holders

    def _ask_locks(self, now_ns: int) -> list[Session]:
        """Notes who waits for whom; returns the holders whose statement is over, if the server knows it."""
        if time.monotonic() < self._asked_s + _LOCKS_EVERY_S:
            return []
        rows = self._rows(self._locks)
        self._asked_s = time.monotonic()
        self._held = {waiter: holder for waiter, holder, *_ in rows}
        last = {
            holder: self._last[holder]
            if self._last.get(holder, (None, 0))[0] == run
            else (run, now_ns)
            for _, holder, text, _, run in rows
            if text
        }
        self._last = last
        return [
            Session(
                holder,
                text,
                last[holder][1],
                last[holder][1],
                id=digest,
                run=run,
                backend="client backend",
            )
            for _, holder, text, digest, run in rows
            if text
        ]


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
