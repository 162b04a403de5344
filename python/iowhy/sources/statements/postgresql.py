"""What sessions of PostgreSQL do, as pg_stat_activity shows it (13 and later)."""

import os
import time
from pathlib import Path
from typing import Any

from iowhy.sources.statements.catalogue import tablespaces
from iowhy.sources.statements.normalised import MOST_CHARACTERS
from iowhy.sources.statements.server import Server
from iowhy.sources.statements.session import Session

# Sessions that rest since before the last reading say nothing new. A statement is read once it began or ended since then. The function behind
# pg_stat_activity: the view looks up names of databases and users each time.
_READ = """
SELECT pid, leader_pid, backend_type, {query_id}, left(query, {most}), (extract(epoch FROM query_start) * 1000000)::bigint,
  CASE WHEN state NOT IN ('active', 'fastpath function call') THEN (extract(epoch FROM state_change) * 1000000)::bigint END,
  wait_event_type || ': ' || wait_event, datid, CASE WHEN wait_event_type = 'Lock' THEN (pg_blocking_pids(pid))[1] END,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
FROM pg_stat_get_activity(NULL)
WHERE pid <> pg_backend_pid() AND query <> '' AND query <> '<insufficient privilege>'
  AND (state <> 'idle' OR state_change > to_timestamp($1))
LIMIT {sessions}
"""
_DATABASES = "SELECT oid, datname FROM pg_database"
_PREPARED = b"iowhy"

_MEMORY = "SELECT setting::bigint * 1024 FROM pg_settings WHERE name = 'work_mem'"

# The largest first.
_FILES = """
SELECT pg_relation_filepath(c.oid), CASE
    WHEN i.indrelid IS NOT NULL THEN c.relname || ' (index of ' || i.indrelid::regclass || ')'
    WHEN c.relkind = 't' THEN coalesce('TOAST of ' || (SELECT t.oid::regclass FROM pg_class t WHERE t.reltoastrelid = c.oid), c.relname)
    ELSE n.nspname || '.' || c.relname END
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_index i ON i.indexrelid = c.oid
WHERE pg_relation_filepath(c.oid) IS NOT NULL ORDER BY c.relpages DESC LIMIT {most}
"""


class Connection:
    """A session of our own, that reads the others'."""

    @staticmethod
    def load() -> None:
        """Imports all that it takes. Raises ImportError if that is not installed."""

    def __init__(
        self, server: Server, dsn: str, seconds: float, most: int, database: str | None = None
    ) -> None:
        """Raises psycopg.Error where the server does not let us in."""
        import psycopg

        host, name = os.path.split(server.socket)
        here: dict[str, Any] = {"host": host, "port": name.rpartition(".")[2]}
        given = psycopg.conninfo.conninfo_to_dict(dsn)
        asked = {"dbname": "postgres", "connect_timeout": 3, "application_name": "iowhy"}
        # Bytes as they are: databases of one server have their own encodings.
        asked["client_encoding"] = "SQL_ASCII"
        given |= {} if database is None else {"dbname": database}
        asked |= here if "host" not in given and "service" not in given else {}
        self._connection = psycopg.connect(
            psycopg.conninfo.make_conninfo(**asked | given),
            autocommit=True,
            options="-c statement_timeout=1000 -c lock_timeout=500 -c jit=off -c track_activities=off",
        )
        version = self._connection.info.server_version
        self.name = f"PostgreSQL {version // 10_000}"
        self.thread, self.began_ns = self._connection.info.backend_pid, time.time_ns()
        (own,) = self._connection.execute(_MEMORY).fetchall()
        self.memory_bytes = int(own[0])
        sql = _READ.format(
            query_id="query_id" if version >= 140_000 else "NULL",
            most=MOST_CHARACTERS,
            sessions=most,
        )
        # psycopg's own cursors take as long for a reading as the server does.
        self._checked(self._connection.pgconn.prepare(_PREPARED, sql.encode(), None))
        self._names: dict[bytes, str | None] = {}
        #: When it was read, by the server, if there was something to read.
        self.read_ns: int | None = None
        self._each_s, self._asked_s = seconds, time.time()

    def sessions(self) -> list[Session]:
        """What they do now. Raises psycopg.Error where the server does not answer in time."""
        # By the clock, which is the server's, too: it may answer late.
        now = time.time()
        since = min(self._asked_s - self._each_s, now - 4 * self._each_s)
        found = self._checked(
            self._connection.pgconn.exec_prepared(_PREPARED, [f"{since:.6f}".encode()])
        )
        self._asked_s = now
        rows = [
            [found.get_value(row, column) for column in range(found.nfields)]
            for row in range(found.ntuples)
        ]
        self.read_ns = min((int(row[-1]) * 1000 for row in rows if row[-1]), default=None)
        return [self._session(row) for row in rows]

    def _checked(self, found: Any) -> Any:
        import psycopg

        if found.status not in (psycopg.pq.ExecStatus.TUPLES_OK, psycopg.pq.ExecStatus.COMMAND_OK):
            raise psycopg.errors.error_from_result(found)
        return found

    def _session(self, row: list[bytes | None]) -> Session:
        pid, leader, backend, id_, query, began, ended, wait, database, holder, _ = row
        return Session(
            thread=int(pid or 0),
            text=_text(query) or "",
            began_ns=_ns(began),
            ended_ns=_ns(ended),
            wait=_text(wait),
            holder=None if holder is None else int(holder),
            leader=None if leader is None else int(leader),
            id=_text(id_),
            database=None if database is None else self._name(database),
            backend=_text(backend),
        )

    def _name(self, database: bytes) -> str | None:
        """Of a database, by its number; one that was made since, too."""
        if database not in self._names:
            found = self._connection.execute(_DATABASES)
            self._names |= {str(number).encode(): _text(name) for number, name in found}
            self._names.setdefault(database, None)
        return self._names[database]

    def files(self, pid: int, most: int) -> list[dict[str, str]]:
        """What the files of this database are, below the folder in which the server works."""
        cwd = Path(f"/proc/{pid}/cwd")
        folder = cwd.readlink()
        spaces = tablespaces(cwd)
        found = self._connection.execute(_FILES.format(most=most))
        texts = (tuple(_text(value) for value in row) for row in found)
        return [
            {"path": str(_behind(folder, spaces, path)), "object": name} for path, name in texts
        ]


def _behind(folder: Path, spaces: dict[str, Path], path: str) -> Path:
    first, second, *below = path.split("/")
    space = spaces.get(second) if first == "pg_tblspc" else None
    return space.joinpath(*below) if space else folder / path


def _text(value: Any) -> Any:
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _ns(microseconds: bytes | None) -> int | None:
    return None if microseconds is None else int(microseconds) * 1000


def unreadable(dsn: str) -> bool:
    """Whether it has a password, or cannot be read as a connection string, which anybody could see in ps."""
    import psycopg

    try:
        return "password" in psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        return True
