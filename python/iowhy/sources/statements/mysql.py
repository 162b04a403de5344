"""What sessions of MariaDB and MySQL do: by the performance schema where it is on, else by MariaDB's list of processes."""

import os
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from iowhy.sources.statements.normalised import MOST_CHARACTERS
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
_LOCKS = """
SELECT w.trx_mysql_thread_id, h.trx_mysql_thread_id FROM information_schema.INNODB_LOCK_WAITS AS l
JOIN information_schema.INNODB_TRX AS w ON w.trx_id = l.requesting_trx_id
JOIN information_schema.INNODB_TRX AS h ON h.trx_id = l.blocking_trx_id
"""
_OWN_LIST = "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"
_OWN_SCHEMA = (
    "SELECT THREAD_OS_ID FROM performance_schema.threads WHERE PROCESSLIST_ID = CONNECTION_ID()"
)


class Connection:
    """A session of our own, that reads the others'."""

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
        if given.hostname:
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
        own = self._rows(_OWN_LIST if self._mariadb else _OWN_SCHEMA)
        self.thread = int(own[0][0])
        on, self.memory_bytes = self._rows("SELECT @@performance_schema, @@sort_buffer_size")[0]
        self.began_ns = time.time_ns()
        self._sql = _SCHEMA if on or not self._mariadb else _LIST

    def _rows(self, sql: str, *values: object) -> Sequence[Sequence[Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows: Sequence[Sequence[Any]] = cursor.fetchall()
            return rows

    def sessions(self, now_ns: int) -> list[Session]:
        """What they do now. Raises pymysql.Error where the server does not answer in time."""
        rows = self._rows(self._sql, self._most)
        working = [row for row in rows if row[3] in _AT_WORK and row[2]]
        held: dict[int, int] = {}
        if self._mariadb and working:
            held = {one[0]: one[1] for one in self._rows(_LOCKS)}
        threads = {row[0]: row[1] for row in rows}
        return [
            Session(
                thread,
                text or "",
                began_ns=began
                if (began := now_ns - int(float(spent or 0) * 1e6)) and command in _AT_WORK
                else None,
                ended_ns=began if command not in _AT_WORK else None,
                wait="Lock: row" if number in held else state or None,
                holder=threads.get(held.get(number, -1)),
                id=digest,
                run=run,
                database=database,
                backend="client backend",
            )
            for number, thread, text, command, spent, state, database, digest, run in rows
            if command in (*_AT_WORK, "Sleep")
        ]


def unreadable(dsn: str) -> bool:
    """Whether it has a password, or cannot be read as mysql://USER@HOST, which anybody could see in ps."""
    given = urlsplit(dsn)
    return (
        given.scheme not in ("mysql", "mariadb") or bool(given.password) or "passw" in given.query
    )
