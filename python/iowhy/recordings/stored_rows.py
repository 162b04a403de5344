"""Rows of a table that are changed by SQL and are in files without a name: they may be more than fit into memory.

The files are Parquet, gone with the last reference to them, kill -9 included: SQL reads and writes them by the
number of their descriptor (proc(5), /proc/self/fd).
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache, cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.progress_bar import without_progress_bar
from iowhy.recordings.sql_text import text_literal

if TYPE_CHECKING:  # slow to import
    import duckdb

#: Only files that this process has open; nothing of one is kept beside it, as the next file may have its number.
SETTINGS = """SET allowed_directories = ['/proc/self/fd/'];
    SET enable_external_access = false;
    SET enable_external_file_cache = false"""
#: How DuckDB finds the type of a column of Python's objects: by all of them. By a thousand, which it looks at otherwise, a column
#: whose lists are mostly empty has no type, and one that is not cannot be read.
LOOK_AT_ALL = {"pandas_analyze_sample": 2**63 - 1}


class StoredRows(Struct, frozen=True, dict=True):
    """A SELECT over files that it keeps open; `columns` are its columns with their types in DuckDB's words."""

    files: tuple[IO[bytes], ...]
    sql: str
    columns: Mapping[str, str]

    @classmethod
    def written(cls, connection: "duckdb.DuckDBPyConnection", sql: str) -> "StoredRows":
        """What a query gives on a connection with SETTINGS. Raises Problem if there is no room for it."""
        import duckdb

        file = tempfile.TemporaryFile(prefix="iowhy-rows-")  # noqa: SIM115
        try:
            columns = {
                str(row[0]): str(row[1]) for row in connection.execute(f"DESCRIBE {sql}").fetchall()
            }
            connection.execute(
                f"COPY ({sql}) TO '{path_of(file)}' (FORMAT parquet, COMPRESSION snappy, USE_TMP_FILE false)"
            )
        except duckdb.IOException as error:
            raise Problem(
                "no-room-for-rows",
                gettempdir=tempfile.gettempdir(),
                error=str(error).splitlines()[0],
            ) from None
        return cls((file,), f"SELECT * FROM {parquet_of(file)}", columns)

    @classmethod
    def of(cls, arrays: Any, types: Mapping[str, str] | None = None) -> "StoredRows":
        """Arrays of numpy by the names of their columns, masked where a value is unknown; texts and lists are objects.

        `types`: of the columns, where the arrays do not say them.
        """
        types = types or {}
        casts = ", ".join(
            f'CAST("{name}" AS {types[name]}) AS "{name}"' if name in types else f'"{name}"'
            for name in _names(arrays)
        )
        with closing(_database().cursor()) as connection:
            connection.register("given", arrays)
            try:
                return cls.written(connection, f"SELECT {casts} FROM given")
            finally:
                connection.unregister("given")

    @classmethod
    def together(cls, pieces: Sequence["StoredRows"]) -> "StoredRows":
        """The rows of all pieces, one after the other; a column that one lacks is NULL there."""
        columns = {name: kind for piece in pieces for name, kind in piece.columns.items()}
        sql = " UNION ALL BY NAME ".join(f"({piece.sql})" for piece in pieces)
        return cls(tuple(file for piece in pieces for file in piece.files), sql, columns)

    def __len__(self) -> int:
        return self._count

    @cached_property
    def _count(self) -> int:
        return int(self.value("count(*)"))

    def select(self, columns: Mapping[str, str], where: str = "true") -> "StoredRows":
        """Columns, by the SQL of their values, of the rows that are chosen."""
        listed = ", ".join(f'{sql} AS "{name}"' for name, sql in columns.items())
        return self._over(f"SELECT {listed} FROM ({self.sql}) WHERE {where}")

    def replace(self, values: Mapping[str, str], where: str = "true") -> "StoredRows":
        """All columns, some of them with other values."""
        return self.select({name: values.get(name, f'"{name}"') for name in self.columns}, where)

    def value(self, sql: str) -> Any:
        """What an aggregate over the rows gives."""
        return self._fetched(f"SELECT {sql} FROM ({self.sql})")[0][0]

    def rows(self) -> list[dict[str, object]]:
        """All rows, in memory."""
        return [dict(zip(self.columns, row, strict=True)) for row in self._fetched(self.sql)]

    def write(self, path: Path) -> None:
        """As a Parquet file of a recording. Raises DuckDB's errors."""
        with closing(_database().cursor()) as connection:
            connection.execute(
                f"COPY ({self.sql}) TO {text_literal(str(path))} (FORMAT parquet, COMPRESSION zstd, USE_TMP_FILE false)"
            )

    def _over(self, sql: str) -> "StoredRows":
        described = self._fetched(f"DESCRIBE {sql}")
        return StoredRows(self.files, sql, {str(row[0]): str(row[1]) for row in described})

    def _fetched(self, sql: str) -> list[Any]:
        with closing(_database().cursor()) as connection:
            return list(connection.execute(sql).fetchall())


def path_of(file: IO[bytes]) -> str:
    """How SQL calls an open file."""
    return f"/proc/self/fd/{file.fileno()}"


def parquet_of(file: IO[bytes]) -> str:
    """An open file of Parquet, as a table of SQL."""
    return f"read_parquet('{path_of(file)}')"


def _names(arrays: Any) -> list[str]:
    return list(arrays) if isinstance(arrays, Mapping) else list(arrays.column_names)


@cache
def _database() -> "duckdb.DuckDBPyConnection":
    """Of this process; each use has its own cursor."""
    import duckdb

    connection = duckdb.connect(
        ":memory:", config={"memory_limit": "1GB", "temp_directory": "", **LOOK_AT_ALL}
    )
    # It writes the files of recordings as well, by their names; no SQL of others gets here.
    connection.execute("SET enable_external_file_cache = false")
    without_progress_bar(connection)
    return connection


def _close() -> None:
    if _database.cache_info().currsize:
        _database().close()
        _database.cache_clear()


# Its threads are not those of a process that is forked, which would wait for them for ever.
os.register_at_fork(before=_close)
