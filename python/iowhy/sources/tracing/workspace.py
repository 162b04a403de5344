"""A DuckDB work space: logs larger than memory are taken apart and put together by SQL.

Rows are kept in a database in a temporary directory, results leave as their own files:
what is in memory stays bounded however long the log is.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import duckdb

from iowhy.errors import Problem
from iowhy.recordings.progress_bar import without_progress_bar
from iowhy.recordings.schema import tables
from iowhy.recordings.stored_rows import SETTINGS, StoredRows

#: DuckDB spills to disk beyond this.
MEMORY = "1GB"

#: Smaller logs are taken apart in memory.
ON_DISK_FROM_BYTES = 16 * 1024 * 1024


def space_for(path: Path) -> "Workspace":
    """A work space for what is read from a file of this size."""
    try:
        return Workspace(on_disk=path.stat().st_size > ON_DISK_FROM_BYTES)
    except OSError as error:
        raise Problem("path-error", path=path, error=error.strerror or error) from None


class Workspace:
    """A database that is gone when the `with` block ends; tables it handed out stay readable."""

    def __init__(self, *, on_disk: bool) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="iowhy-trace-")
        where = Path(self._directory.name)
        self.connection = duckdb.connect(
            str(where / "work.duckdb") if on_disk else ":memory:",
            config={"memory_limit": MEMORY, "temp_directory": str(where / "spill")},
        )
        # Text of a trace is data: no SQL of ours reads a file that is not open, or the network.
        self.connection.execute(SETTINGS)
        without_progress_bar(self.connection)

    def __enter__(self) -> "Workspace":
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()
        self._directory.cleanup()

    def run(self, sql: str, parameters: list[object] | None = None) -> None:
        """Run statements for their effect."""
        self.connection.execute(sql, parameters).fetchall()

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """All rows of a small result."""
        return list(self.connection.execute(sql).fetchall())

    def count(self, table: str) -> int:
        """Number of rows of a table of the work space."""
        return int(str(self.rows(f"SELECT count(*) FROM {table}")[0][0]))

    def put(self, table: str, arrays: Mapping[str, Any]) -> None:
        """Make a table of the work space from arrays of numpy, by column."""
        self.connection.register("incoming", dict(arrays))
        self.run(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def table(self, name: str, sql: str, *, in_order: bool = False) -> StoredRows:
        """The result of `sql` as rows of a table of the schema: exactly its columns that `sql` has.

        Rows without a value where the schema wants one are left out. `in_order`: rows come as the first table of
        `sql` has them, whatever is joined to it.
        """
        schema = tables()[name]
        given = {str(row[0]) for row in self.rows(f"DESCRIBE {sql}")}
        columns = [column for column in schema.columns if column.name in given]
        missing = [c.name for c in schema.columns if c.null is None and c.name not in given]
        assert not missing and len(columns) == len(given), (name, missing, given)
        casts = ", ".join(f'TRY_CAST("{c.name}" AS {c.sql_type}) AS "{c.name}"' for c in columns)
        needed = [f'"{c.name}" IS NOT NULL' for c in columns if c.null is None]
        where = f" WHERE {' AND '.join(needed)}" if needed else ""
        if in_order:  # a join whose sides are exchanged gives the other side's order
            self.run("SET disabled_optimizers = 'join_order,build_side_probe_side'")
        try:
            return StoredRows.written(
                self.connection, f"SELECT * FROM (SELECT {casts} FROM ({sql})){where}"
            )
        finally:
            self.run("RESET disabled_optimizers")
