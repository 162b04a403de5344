"""The tables of one recording on a DuckDB connection: each is there when it is first needed."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.recordings.progress_bar import without_progress_bar
from iowhy.recordings.query_errors import is_query_error, removed_while_read
from iowhy.recordings.query_limits import bound, memory_bytes, must_have_room
from iowhy.recordings.schema import tables
from iowhy.recordings.sizes import (
    MOST_FILES,
    MOST_FOOTER_BYTES,
    FileSize,
    footers_must_be_bounded,
    must_be_bounded,
)
from iowhy.recordings.sql_text import text_literal

if TYPE_CHECKING:  # slow to import
    import duckdb

#: Files of one table that cost nothing to open for each query, and rows of a file from which reading it is the work.
FEW_FILES, SMALL_FILE_ROWS = 16, 20_000
#: Files that take no more together are read by the thread that asks: what they hold is less work than to wake others.
SMALL_BYTES = 2 << 20
#: No thread but those that ask. Of three that it believes in a table for GROUP BY has room for 32,768 groups at first, of one
#: or two for 262,144: to make that empty takes longer than to group few rows.
ALONE = "SET threads = 3; SET external_threads = 3;"
#: Of the memory for queries, what one table takes that is read once.
SHARE_LOADED = 6


class OpenTables:
    """A connection that reads one recording's files and nothing else; close it.

    Its settings are locked: SQL may come from anybody. `files` are the Parquet files of each table, of
    the recording at `path`; those `written` may be written by it as well.
    """

    def __init__(
        self,
        path: Path,
        files: Mapping[str, list[Path]],
        written: Collection[Path] = (),
    ) -> None:
        self.path = path
        self._files = {name: [str(f.resolve()) for f in files[name]] for name in files}
        self._there: set[str] = set()
        every = [file for own in self._files.values() for file in own]
        small = _bytes_of(every) <= SMALL_BYTES
        self.connection = reading([*every, *map(str, written)], ALONE if small else "")

    def close(self) -> None:
        """Closes the connection."""
        self.connection.close()

    def need(
        self,
        names: Collection[str],
        *,
        loaded: bool = False,
        select: Callable[[str], str] | None = None,
    ) -> None:
        """Makes those of the named tables that are not there: views, or `loaded` into memory.

        The latter is quicker where several queries read few rows. `select` gives the SELECT of a table's rows in
        place of that of all of them. Raises Problem that names what cannot
        be read, and OutOfMemoryException.
        """
        for name in self.missing(names):
            assert self.sizes is not None  # before anything is read
            kind = "TABLE" if loaded else "VIEW"
            self.connection.execute(f"CREATE {kind} {name} AS {(select or self.select)(name)}")
            self._there.add(name)

    def missing(self, names: Collection[str]) -> list[str]:
        """Those of the named tables that are not there yet, in their order."""
        return [name for name in names if name not in self._there]

    def row_counts(self) -> dict[str, int]:
        """Rows of each table that has any, from the files' own footers. Raises Problem as `sizes`."""
        of = {file: name for name, files in self._files.items() for file in files}
        found: dict[str, int] = {}
        for one in self.sizes:
            if one.rows:
                found[of[one.file]] = found.get(of[one.file], 0) + one.rows
        return found

    def scattered(self, name: str) -> bool:
        """Whether a table is in many small files and fits into memory: to open them takes longer than to read them."""
        files = set(self._files[name])
        own = [one for one in self.sizes if one.file in files]
        rows = sum(one.rows for one in own)
        bytes_needed = sum(one.memory_bytes for one in own)
        return (
            len(own) > FEW_FILES
            and rows < SMALL_FILE_ROWS * len(own)
            and bytes_needed <= memory_bytes() // SHARE_LOADED
        )

    @cached_property
    def sizes(self) -> list[FileSize]:
        """All files as their footers have them. Raises Problem for what would be too much to read."""
        files = [file for own in self._files.values() for file in own]
        if len(files) > MOST_FILES:
            raise Problem("too-many-files", path=self.path, files=len(files), most_files=MOST_FILES)
        if not files:
            return []
        footers_must_be_bounded(files)
        try:
            found = file_sizes(self.connection, files)
        except Exception as error:
            if not is_query_error(error):
                raise
            raise self._unreadable(files) or error from None
        must_be_bounded(found)
        return found

    def _unreadable(self, files: list[str]) -> Problem | None:
        """Which of the files has a footer that cannot be read, and why."""
        for file in files:
            try:
                self.connection.execute(_footers([file])).fetchall()
            except Exception as error:
                if not Path(file).exists():
                    return removed_while_read(file)
                if is_query_error(error):
                    return Problem(
                        "file-damaged",
                        path=file,
                        error=str(error).splitlines()[0],
                        way_out=self._way_out(),
                    )
                raise
        return None

    def _way_out(self) -> str:
        return f"`iowhy check {quoted(str(self.path))}` says which files can be read"

    def select(self, name: str) -> str:
        """The SELECT that gives a table with the columns of the schema, whatever its files have.

        Raises Problem for a file that is damaged, lacks a column or has one of another type.
        """
        table, files = tables()[name], self._files[name]
        if not files:
            empty = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in table.columns)
            return f"SELECT {empty} WHERE false"
        source = f"read_parquet({listed(files)})"
        found = self._columns.get(files[0], {})
        if any(found.get(column.name) != column.sql_type for column in table.columns):
            found = self._described(name, source)  # which says why, where it cannot be read
        columns = []
        for column in table.columns:
            if column.name not in found:
                if column.null is None:
                    raise Problem("column-missing", path=files[0], name=column.name)
                columns.append(f'NULL::{column.sql_type} AS "{column.name}"')
            elif found[column.name] != column.sql_type:
                raise Problem(
                    "column-of-another-type",
                    path=files[0],
                    name=column.name,
                    have=found[column.name],
                    sql_type=column.sql_type,
                )
            else:
                columns.append(f'"{column.name}"')
        return f"SELECT {', '.join(columns)} FROM {source}"

    @cached_property
    def _columns(self) -> dict[str, dict[str, str]]:
        """The columns and their types of each table's first file, which are those of the table: of all tables by one
        question, as to describe one after the other takes longer than to read what few rows they have. Empty where this
        DuckDB, or one of the files, does not say.
        """
        first = [files[0] for files in self._files.values() if files]
        try:
            told = self.connection.execute(
                f"SELECT file_name, name, duckdb_type, num_children FROM parquet_schema({listed(first)})"
            ).fetchall()
        except Exception as error:
            if not is_query_error(error):
                raise
            return {}
        by_file: dict[str, list[tuple[str, str, int]]] = {}
        for file, *element in told:
            by_file.setdefault(file, []).append((element[0], element[1], element[2] or 0))
        return {file: _outermost(elements) for file, elements in by_file.items()}

    def _described(self, name: str, source: str) -> dict[str, str]:
        """The columns of a table's files and their types."""
        try:
            described = self.connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
        except Exception as error:
            if not is_query_error(error):
                raise
            raise Problem(
                "file-damaged",
                path=self.path / name,
                error=str(error).splitlines()[0],
                way_out=self._way_out(),
            ) from None
        return {row[0]: row[1] for row in described}


def _outermost(elements: Sequence[tuple[str, str, int]]) -> dict[str, str]:
    """Names and types of the columns, of a schema's elements: each is followed by those that it is made of, the first is all."""
    found: dict[str, str] = {}
    inside = 0
    for name, kind, parts in elements[1:]:
        if inside == 0:
            found[name] = kind
        inside += parts - (inside > 0)
    return found


def _bytes_of(files: Collection[str]) -> int:
    """What files take together; one that went has none."""
    found = 0
    for file in files:
        with suppress(OSError):
            found += Path(file).stat().st_size
    return found


def reading(files: Collection[str], settings: str = "") -> "duckdb.DuckDBPyConnection":
    """A connection that reads these files and nothing else, its settings locked after `settings`; the caller closes it."""
    must_have_room()
    import duckdb  # slow to import

    connection = duckdb.connect(":memory:")
    try:
        bound(connection)
        without_progress_bar(connection)
        connection.execute(
            f"""SET TimeZone = 'UTC';
            SET autoinstall_known_extensions = false;
            SET autoload_known_extensions = false;
            SET allowed_paths = {listed(files)};
            {settings}
            SET enable_external_access = false;
            SET lock_configuration = true"""
        )
    except BaseException:
        connection.close()
        raise
    return connection


def file_sizes(connection: "duckdb.DuckDBPyConnection", files: Collection[str]) -> list[FileSize]:
    """Files by their footers, of which nothing else is read. Raises DuckDB's errors, and Problem for a footer of one file that is too long."""
    for file in files:
        with suppress(OSError):
            if Path(file).stat().st_size > MOST_FOOTER_BYTES:
                footers_must_be_bounded([file])
    rows = connection.execute(_footers(files)).fetchall()
    return [FileSize(row[0], Path(row[0]).stat().st_size, *row[1:]) for row in rows]


def _footers(files: Collection[str]) -> str:
    """A FileSize for each file, without its length."""
    return f"""SELECT
        file_name,
        CAST(sum(CASE WHEN column_id = 0 THEN row_group_num_rows ELSE 0 END) AS BIGINT),
        max(column_id) + 1,
        count(DISTINCT row_group_id),
        CAST(sum(greatest(total_uncompressed_size, 0)) AS BIGINT),
        max(total_uncompressed_size),
        coalesce(max(CASE WHEN type = 'BYTE_ARRAY' THEN strlen(stats_max_value) END), 0)
    FROM parquet_metadata({listed(files)})
    GROUP BY file_name"""


def listed(texts: Collection[str]) -> str:
    """Texts as a list of SQL."""
    return "[" + ", ".join(map(text_literal, texts)) + "]"
