"""The tables of one recording on a DuckDB connection: each is there when it is first needed."""

from collections.abc import Collection, Mapping
from pathlib import Path

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.recording.bounds import bound
from iowhy.recording.query_errors import is_query_error
from iowhy.recording.schema import tables


class OpenTables:
    """A connection that reads one recording's files and nothing else; close it.

    Its settings are locked: SQL may come from anybody. `files` are the Parquet files of each table, of
    the recording at `path`.
    """

    def __init__(self, path: Path, files: Mapping[str, list[Path]]) -> None:
        import duckdb

        self.path = path
        self._files = {name: [str(f.resolve()) for f in files[name]] for name in files}
        self._there: set[str] = set()
        self.connection = duckdb.connect(":memory:")
        try:
            bound(self.connection)
            allowed = [file for own in self._files.values() for file in own]
            self.connection.execute(
                f"""SET TimeZone = 'UTC';
                SET enable_progress_bar = false;
                SET autoinstall_known_extensions = false;
                SET autoload_known_extensions = false;
                SET allowed_paths = {_listed(allowed)};
                SET enable_external_access = false;
                SET lock_configuration = true"""
            )
        except BaseException:
            self.connection.close()
            raise

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()

    def need(self, names: Collection[str], *, loaded: bool = False) -> None:
        """Makes those of the named tables that are not there: views, or `loaded` into memory.

        The latter is quicker where several queries read few rows. Raises Problem that names what cannot
        be read, and OutOfMemoryException.
        """
        for name in names:
            if name not in self._there:
                kind = "TABLE" if loaded else "VIEW"
                self.connection.execute(f"CREATE {kind} {name} AS {self.select(name)}")
                self._there.add(name)

    def row_counts(self) -> dict[str, int]:
        """Rows of each table that has any, from the files' own footers."""
        of = {file: name for name, files in self._files.items() for file in files}
        if not of:
            return {}
        found: dict[str, int] = {}
        for file, rows in self.connection.execute(
            f"SELECT file_name, num_rows FROM parquet_file_metadata({_listed(of)})"
        ).fetchall():
            if rows:
                found[of[file]] = found.get(of[file], 0) + rows
        return found

    def select(self, name: str) -> str:
        """The SELECT that gives a table with the columns of the schema, whatever its files have.

        Raises Problem for a file that is damaged, lacks a column or has one of another type.
        """
        table, files = tables()[name], self._files[name]
        if not files:
            empty = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in table.columns)
            return f"SELECT {empty} WHERE false"
        source = f"read_parquet({_listed(files)})"
        found = self._described(name, source)
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
        return f"SELECT {', '.join(columns)} FROM {source}"

    def _described(self, name: str, source: str) -> dict[str, str]:
        """The columns of a table's files and their types."""
        try:
            described = self.connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        except Exception as error:
            if not is_query_error(error):
                raise
            raise Problem(
                f"{self.path / name}: {str(error).splitlines()[0]}; "
                f"`iowhy check {quoted(str(self.path))}` tells which files can be read"
            ) from None
        return {row[0]: row[1] for row in described}


def _listed(texts: Collection[str]) -> str:
    return "[" + ", ".join("'" + text.replace("'", "''") + "'" for text in texts) + "]"
