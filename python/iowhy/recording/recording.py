"""Open a recording and look at its tables through DuckDB."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import duckdb

from iowhy.errors import Problem
from iowhy.recording.bounds import MEMORY_VARIABLE, bound, memory_bytes
from iowhy.recording.manifest import Manifest, read_manifest
from iowhy.recording.schema import Table, tables


@dataclass(frozen=True)
class Recording:
    """A recording on disk: its directory and its manifest."""

    path: Path
    manifest: Manifest

    def ran(self, sensor: str) -> bool:
        """Whether a sensor ran: without it, what it would have told is unknown, not 0."""
        return self.manifest.ran(sensor)

    def files(self, table: str) -> list[Path]:
        """The Parquet files of a table, in the order they were closed."""
        folder = self.path / table
        if folder.is_symlink() or not folder.is_dir():
            return []
        # A link could point anywhere: a recording is hostile input.
        return sorted(f for f in folder.glob("*.parquet") if f.is_file() and not f.is_symlink())

    def row_counts(self, connection: duckdb.DuckDBPyConnection) -> dict[str, int]:
        """Rows of each table that has any, from the files' own footers."""
        files = {str(f.resolve()): table for table in tables() for f in self.files(table)}
        if not files:
            return {}
        paths = ", ".join(map(_quoted, files))
        found: dict[str, int] = {}
        for path, rows in connection.execute(
            f"SELECT file_name, num_rows FROM parquet_file_metadata([{paths}])"
        ).fetchall():
            if rows:
                found[files[path]] = found.get(files[path], 0) + rows
        return found

    def connection(self) -> duckdb.DuckDBPyConnection:
        """A new DuckDB connection with one view per table of the schema; the caller closes it.

        A table without files is an empty view of the right types. The connection reads this
        recording's files and nothing else, and its settings are locked: SQL may come from anybody.
        Raises Problem that names the file that cannot be read.
        """
        connection = duckdb.connect(":memory:")
        try:
            bound(connection)
            connection.execute("SET TimeZone = 'UTC'")
            connection.execute("SET enable_progress_bar = false")
            connection.execute("SET autoinstall_known_extensions = false")
            connection.execute("SET autoload_known_extensions = false")
            opened: list[Path] = []
            for table in tables().values():
                files = self.files(table.name)
                connection.execute(self._view(connection, table, files))
                opened += files
            allowed = ", ".join(_quoted(str(file.resolve())) for file in opened)
            connection.execute(f"SET allowed_paths = [{allowed}]")
            connection.execute("SET enable_external_access = false")
            connection.execute("SET lock_configuration = true")
        except BaseException:
            connection.close()
            raise
        return connection

    @contextmanager
    def connected(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """`connection()` as a context that closes it and turns damage into a Problem."""
        connection = self.connection()
        try:
            yield connection
        except duckdb.OutOfMemoryException as error:
            raise Problem(
                f"{self.path}: more than {memory_bytes() >> 20:,} MiB of memory would be needed "
                f"({str(error).splitlines()[0]}); {MEMORY_VARIABLE}=4GiB allows more"
            ) from None
        except (duckdb.IOException, duckdb.InvalidInputException) as error:
            raise Problem(f"{self.path}: {str(error).splitlines()[0]}") from None
        finally:
            connection.close()

    def _view(self, connection: duckdb.DuckDBPyConnection, table: Table, files: list[Path]) -> str:
        if not files:
            empty = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in table.columns)
            return f"CREATE VIEW {table.name} AS SELECT {empty} WHERE false"
        paths = ", ".join(_quoted(str(f.resolve())) for f in files)
        source = f"read_parquet([{paths}])"
        try:
            described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        except duckdb.Error as error:
            raise Problem(
                f"{self.path / table.name}: {str(error).splitlines()[0]}; "
                f"`iowhy check {self.path}` tells which files can be read"
            ) from None
        found = {row[0]: row[1] for row in described}
        columns = []
        for column in table.columns:
            if column.name not in found:
                if column.null is None:
                    raise Problem(f"{files[0]}: column {column.name} is missing")
                columns.append(f'NULL::{column.sql_type} AS "{column.name}"')
            elif found[column.name] != column.sql_type:
                raise Problem(
                    f"{files[0]}: column {column.name} is {found[column.name]}, "
                    f"the schema says {column.sql_type}"
                )
            else:
                columns.append(f'"{column.name}"')
        return f"CREATE VIEW {table.name} AS SELECT {', '.join(columns)} FROM {source}"


def open_recording(path: str | Path) -> Recording:
    """Open the recording in directory `path`. Raises Problem when it is none."""
    path = Path(path)
    if not path.exists():
        meant = path.with_name(f"{path.name}.iowhy")
        way_out = (
            f"there is {meant}" if meant.is_dir() else f"`iowhy run -o {path} -- CMD` makes one"
        )
        raise Problem(f"{path}: no such recording; {way_out}")
    if not path.is_dir():
        raise Problem(
            f"{path}: a recording is a directory; "
            f"to read another tool's text use `iowhy diagnose {path}`"
        )
    return Recording(path, read_manifest(path / "manifest.json"))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
