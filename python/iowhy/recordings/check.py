"""Is a recording whole and true to the schema? What `iowhy check` prints."""

from pathlib import Path

import duckdb
from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.manifest import Kept
from iowhy.recordings.open_tables import file_sizes, listed, reading
from iowhy.recordings.query_errors import is_query_error
from iowhy.recordings.recording import Recording
from iowhy.recordings.row_counts import mismatches
from iowhy.recordings.schema import Table, tables

# Events of a call that began just before the command, or of writeback that went on after it, lie a
# little outside its time. A minute is far beyond any of these and far below a wrong clock.
OUTSIDE_NS = 60_000_000_000


class Check(Struct, frozen=True):
    """One thing looked at: `ok`, and in words what was found."""

    subject: str
    ok: bool
    found: str


def check_recording(recording: Recording) -> list[Check]:
    """Look at every file, column and count of a recording; never raises for what it finds."""
    checks = [_completeness(recording)]
    with _Files(recording) as files:
        for table in tables().values():
            checks += _table(recording, table, files)
    known = set(tables())
    for name in sorted(recording.manifest.tables):
        if name not in known:
            checks.append(Check(name, False, "the manifest counts a table the schema has not"))
    leftover = sorted(p.name for p in recording.folder.glob("*/*.tmp"))
    if leftover:
        checks.append(
            Check("files", True, f"{len(leftover)} cut off while being written, left out")
        )
    return checks


class _Files:
    """A connection to a recording's files; after an error a new one, as damage may end a connection for good."""

    def __init__(self, recording: Recording) -> None:
        self.of = {name: recording.files(name) for name in tables()}
        self._opened: duckdb.DuckDBPyConnection | None = None

    def __enter__(self) -> "_Files":
        return self

    def __exit__(self, *_: object) -> None:
        self.failed()

    def failed(self) -> None:
        """What comes next is asked of another connection."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @property
    def connection(self) -> duckdb.DuckDBPyConnection:
        """The connection. By statistics of its own a file could say what is in it, unread."""
        if self._opened is None:
            every = [str(file.resolve()) for files in self.of.values() for file in files]
            self._opened = reading(every, "SET disabled_optimizers = 'statistics_propagation';")
        return self._opened


def _completeness(recording: Recording) -> Check:
    if recording.manifest.complete:
        return Check("recording", True, "ended as it should")
    if recording.grows:
        return Check("recording", True, "is still being recorded; what is closed so far is here")
    return Check("recording", True, "cut off: the recorder was killed; what it had closed is here")


def _table(recording: Recording, table: Table, files: _Files) -> list[Check]:
    rows = 0
    for file in files.of[table.name]:
        read, problem = _file(table, file, files)
        if problem is not None:
            return [Check(f"{table.name}/{file.name}", False, problem)]
        rows += read
    counted = recording.manifest.tables.get(table.name, Kept())
    wrong = mismatches(recording.manifest, {table.name: rows}, (table.name,))
    checks = [Check(table.name, False, one.words) for one in wrong]
    if not wrong and (rows or counted.lost):
        found = f"{rows:,} rows" + (f", {counted.lost:,} lost" if counted.lost else "")
        checks.append(Check(table.name, True, found))
    if rows:
        checks += _times(recording, table, files)
    return checks


def _file(table: Table, file: Path, files: _Files) -> tuple[int, str | None]:
    """Rows of a file, all of which are read, and what is wrong with it."""
    place = str(file.resolve())
    source = f"read_parquet({listed([place])})"
    try:
        connection = files.connection
        size = file_sizes(connection, [place])
        if not size:  # no row group
            return 0, _columns(table, connection, place)
        unbounded = size[0].problem()
        problem = str(unbounded) if unbounded else _columns(table, connection, place)
        problem = problem or _values(table, connection, source)
        return size[0].rows, problem and problem.replace(f"{place}: ", "", 1)
    except (OSError, ValueError) as error:
        found = str(error)
    except Problem as error:
        return 0, str(error).replace(f"{place}: ", "", 1)
    except Exception as error:
        if not is_query_error(error):
            raise
        # The file is named already, and DuckDB's class of errors says nothing more.
        found = str(error).replace(f"'{place}' ", "").replace(place, "it")
        found = found.removeprefix("Invalid Input Error: ").removeprefix("IO Error: ")
    files.failed()
    return 0, f"cannot be read: {found.splitlines()[0][:200]}"


def _columns(table: Table, connection: duckdb.DuckDBPyConnection, place: str) -> str | None:
    """Of the columns that the schema has; others are of a later version."""
    names = _top_level(connection, place)
    for column in table.columns:
        if names.count(column.name) > 1:
            return f"column {column.name} is there more than once"
        if column.name not in names and column.null is None:
            return f"column {column.name} is missing"
    described = connection.execute(f"DESCRIBE SELECT * FROM read_parquet({listed([place])})")
    types = {row[0]: row[1] for row in described.fetchall()}
    for column in table.columns:
        if types.get(column.name, column.sql_type) != column.sql_type:
            return f"column {column.name} is {types[column.name]}, not {column.sql_type}"
    return None


def _top_level(connection: duckdb.DuckDBPyConnection, place: str) -> list[str]:
    """The columns of a file, as they are in it: the schema's elements are a tree, depth first."""
    elements = connection.execute(
        f"SELECT name, num_children FROM parquet_schema({listed([place])})"
    ).fetchall()
    names = []
    inside = 0
    for name, children in elements[1:]:
        if inside:
            inside -= 1
        else:
            names.append(name)
        inside += children or 0
    return names


def _values(table: Table, connection: duckdb.DuckDBPyConnection, source: str) -> str | None:
    """Reads every value of every column."""
    described = connection.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()
    names = [row[0] for row in described]
    quoted = ['"' + name.replace('"', '""') + '"' for name in names]
    known = connection.execute(
        f"SELECT count(*), {', '.join(f'count({name})' for name in quoted)} FROM {source}"
    ).fetchall()[0]
    counts = dict(zip(names, known[1:], strict=True))
    for column in table.columns:
        if column.null is None and counts[column.name] < known[0]:
            return f"column {column.name} lacks values and may not"
    return None


def _times(recording: Recording, table: Table, files: _Files) -> list[Check]:
    command = recording.manifest.command
    if table.time is None or command.start_ns is None or command.end_ns is None:
        return []
    places = [str(file.resolve()) for file in files.of[table.name]]
    try:
        outside = files.connection.execute(
            f"SELECT count(*) FROM read_parquet({listed(places)}) WHERE {table.time} < ? OR {table.time} > ?",
            [command.start_ns - OUTSIDE_NS, command.end_ns + OUTSIDE_NS],
        ).fetchone()
    except duckdb.Error as error:
        files.failed()
        return [Check(table.name, False, str(error).splitlines()[0])]
    if outside and outside[0]:
        found = f"{outside[0]:,} rows are over a minute outside the command's time"
        return [Check(table.name, False, found)]
    return []
