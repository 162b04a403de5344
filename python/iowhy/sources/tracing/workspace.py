"""A DuckDB work space: logs larger than memory are taken apart and put together by SQL.

Rows are kept in a database in a temporary directory, results leave as Arrow files that are mapped, not read:
what is in memory stays bounded however long the log is.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

import duckdb
import pyarrow as pa

from iowhy.errors import Problem
from iowhy.recording.schema import tables

#: DuckDB spills to disk beyond this.
MEMORY = "1GB"
#: Results with more rows go through a mapped file.
MAPPED_FROM_ROWS = 200_000
BATCH_ROWS = 65_536


#: Smaller logs are taken apart in memory.
ON_DISK_FROM_BYTES = 16 * 1024 * 1024


def space_for(path: Path) -> Workspace:
    """A work space for what is read from a file of this size."""
    try:
        return Workspace(on_disk=path.stat().st_size > ON_DISK_FROM_BYTES)
    except OSError as error:
        raise Problem(f"{path}: {error.strerror or error}") from None


class Workspace:
    """A database that is gone when the `with` block ends; tables it handed out stay readable."""

    def __init__(self, *, on_disk: bool) -> None:
        self._directory = tempfile.TemporaryDirectory(prefix="iowhy-trace-")
        where = Path(self._directory.name)
        self.connection = duckdb.connect(
            str(where / "work.duckdb") if on_disk else ":memory:",
            config={"memory_limit": MEMORY, "temp_directory": str(where / "spill")},
        )
        # Text of a trace is data: no SQL of ours reads a file or the network.
        self.connection.execute("SET enable_external_access = false")

    def __enter__(self) -> Workspace:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
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

    def put(self, table: str, rows: pa.Table | pa.RecordBatchReader) -> None:
        """Make a table of the work space from Arrow's rows."""
        self.connection.register("incoming", rows)
        self.run(f"CREATE OR REPLACE TABLE {table} AS SELECT * FROM incoming")
        self.connection.unregister("incoming")

    def table(self, name: str, sql: str) -> pa.Table:
        """The result of `sql` as a table of the schema: exactly its columns that `sql` has.

        Rows without a value where the schema wants one are left out.
        """
        schema = tables()[name]
        relation = self.connection.sql(sql)
        given = set(relation.columns)
        columns = [column for column in schema.columns if column.name in given]
        missing = [c.name for c in schema.columns if c.null is None and c.name not in given]
        assert not missing and len(columns) == len(given), (name, missing, given)
        casts = ", ".join(f'TRY_CAST("{c.name}" AS {c.sql_type}) AS "{c.name}"' for c in columns)
        needed = [f'"{c.name}" IS NOT NULL' for c in columns if c.null is None]
        where = f" WHERE {' AND '.join(needed)}" if needed else ""
        final = self.connection.sql(f"SELECT * FROM (SELECT {casts} FROM ({sql})){where}")
        types = pa.schema([(c.name, c.arrow_type) for c in columns])
        reader = final.to_arrow_reader(BATCH_ROWS)
        return mapped((batch.cast(types) for batch in reader), types)


def mapped(batches: Iterator[pa.RecordBatch], types: pa.Schema) -> pa.Table:
    """The batches as one table: in memory when they are few, else a file that is mapped."""
    kept: list[pa.RecordBatch] = []
    held = 0
    for batch in batches:
        kept.append(batch)
        held += batch.num_rows
        if held > MAPPED_FROM_ROWS:
            break
    else:
        return pa.Table.from_batches(kept, types)
    try:
        with tempfile.NamedTemporaryFile(prefix="iowhy-rows-", suffix=".arrow") as file:
            with pa.ipc.new_file(file, types) as writer:
                for batch in kept:
                    writer.write_batch(batch)
                kept.clear()
                for batch in batches:
                    writer.write_batch(batch)
            file.flush()
            # The mapping outlives the name: nothing is left behind, even by kill -9.
            return pa.ipc.open_file(pa.memory_map(file.name)).read_all()
    except OSError as error:
        raise Problem(
            f"{tempfile.gettempdir()}: no room for the rows of the log ({error.strerror}); "
            "point TMPDIR at a larger disk"
        ) from None
