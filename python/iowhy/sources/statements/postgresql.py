"""What sessions of PostgreSQL do, as pg_stat_activity shows it (13 and later)."""

import os
import time
from pathlib import Path
from typing import Any

from iowhy.sources.statements.catalogue import tablespaces
from iowhy.sources.statements.normalised import MOST_CHARACTERS
from iowhy.sources.statements.server import Server
from iowhy.sources.statements.session import Session

# Sessions that rest since before the last reading say nothing new. A statement is read once it began or ended since then.
_READ = """
SELECT pid AS thread, leader_pid AS leader, backend_type AS backend, {query_id} AS id, left(query, {most}) AS text,
  (extract(epoch FROM query_start) * 1000000)::bigint * 1000 AS began_ns,
  CASE WHEN state NOT IN ('active', 'fastpath function call') THEN (extract(epoch FROM state_change) * 1000000)::bigint * 1000 END AS ended_ns,
  wait_event_type || ': ' || wait_event AS wait, datname AS database,
  CASE WHEN wait_event_type = 'Lock' THEN (pg_blocking_pids(pid))[1] END AS holder,
  (extract(epoch FROM clock_timestamp()) * 1000000)::bigint * 1000 AS read_ns
FROM pg_stat_activity
WHERE pid <> pg_backend_pid() AND query <> '' AND query <> '<insufficient privilege>'
  AND (state <> 'idle' OR state_change > now() - make_interval(secs => %s))
LIMIT {sessions}
"""

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
        self._sql = _READ.format(
            query_id="query_id::text" if version >= 140_000 else "NULL::text",
            most=MOST_CHARACTERS,
            sessions=most,
        )
        #: When it was read, by the server, if there was something to read.
        self.read_ns: int | None = None
        self._each_s, self._read_s = seconds, time.monotonic()

    def sessions(self) -> list[Session]:
        """What they do now. Raises psycopg.Error where the server does not answer in time."""
        now = time.monotonic()
        since = max(now - self._read_s + self._each_s, 4 * self._each_s)
        found = self._connection.execute(self._sql, (since,))
        self._read_s = now
        names = [one.name for one in found.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in found]
        read = [row.pop("read_ns") for row in rows]
        self.read_ns = min(read, default=None)
        return [_session(row) for row in rows]

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


def _session(row: dict[str, Any]) -> Session:
    return Session(**{name: _text(value) for name, value in row.items()})


def unreadable(dsn: str) -> bool:
    """Whether it has a password, or cannot be read as a connection string, which anybody could see in ps."""
    import psycopg

    try:
        return "password" in psycopg.conninfo.conninfo_to_dict(dsn)
    except psycopg.Error:
        return True
