"""DuckDB's own module, which the package `duckdb` wraps; import this where a query is first run.

The package brings relations and expressions of Python with it, and importing those takes longer than to load
DuckDB: 50 ms of CPU beside 13. Connections and errors are the same objects in both.
"""

import resource
from threading import Lock

from iowhy.errors import Problem

try:
    import _duckdb as database
except ImportError:  # before DuckDB 1.4 it lay within the package
    import duckdb as database  # type: ignore[no-redef]

#: Address space that a query of DuckDB's threads takes at least; with less it ends in a fault of memory.
LEAST_ADDRESS_BYTES = 2 << 30

__all__ = ["connect", "connect_ahead", "database"]

_making = Lock()
_made: "list[database.DuckDBPyConnection]" = []


def connect() -> "database.DuckDBPyConnection":
    """A connection to a database of its own in memory: the one that was made ahead, or is being made, where there is one."""
    _must_have_room()
    with _making:
        return _made.pop() if _made else database.connect(":memory:")


def connect_ahead() -> None:
    """Makes the connection that `connect` gives next. The first one of a process takes some 30 ms, its first statement among them."""
    if _address_space() < LEAST_ADDRESS_BYTES:
        return  # `connect` says so
    with _making:
        if not _made:
            connection = database.connect(":memory:")
            connection.execute("SELECT 1").fetchall()
            _made.append(connection)


def _must_have_room() -> None:
    """Raises Problem where `ulimit -v` allows less than a query takes."""
    most = _address_space()
    if most < LEAST_ADDRESS_BYTES:
        raise Problem(
            f"`ulimit -v` allows {int(most) >> 20:,} MiB of address space, and to read a recording takes "
            f"{LEAST_ADDRESS_BYTES >> 20:,} MiB: `ulimit -v unlimited` in a new shell"
        )


def _address_space() -> float:
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    return float("inf") if most == resource.RLIM_INFINITY else most
