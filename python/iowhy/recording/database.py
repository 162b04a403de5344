"""DuckDB's own module, which the package `duckdb` wraps; import this where a query is first run.

The package brings relations and expressions of Python with it, and importing those takes longer than to load
DuckDB: 50 ms of CPU beside 13. Connections and errors are the same objects in both.
"""

from threading import Lock

try:
    import _duckdb as database
except ImportError:  # before DuckDB 1.4 it lay within the package
    import duckdb as database  # type: ignore[no-redef]

__all__ = ["connect", "connect_ahead", "database"]

_making = Lock()
_made: "list[database.DuckDBPyConnection]" = []


def connect() -> "database.DuckDBPyConnection":
    """A connection to a database of its own in memory: the one that was made ahead, or is being made, where there is one."""
    with _making:
        return _made.pop() if _made else database.connect(":memory:")


def connect_ahead() -> None:
    """Makes the connection that `connect` gives next. The first one of a process takes some 30 ms, its first statement among them."""
    with _making:
        if not _made:
            connection = database.connect(":memory:")
            connection.execute("SELECT 1").fetchall()
            _made.append(connection)
