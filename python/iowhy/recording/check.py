"""Is a recording whole and true to the schema? What `iowhy check` prints."""

from contextlib import closing
from pathlib import Path

import duckdb

from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording.open_tables import file_sizes, listed, reading
from iowhy.recording.query_errors import is_query_error
from iowhy.recording.recording import Recording
from iowhy.recording.schema import Table, tables

# Events of a call that began just before the command, or of writeback that went on after it, lie a
# little outside its time. A minute is far beyond any of these and far below a wrong clock.
OUTSIDE_NS = 60_000_000_000


@dataclass(frozen=True)
class Check:
    """One thing looked at: `ok`, and in words what was found."""

    subject: str
    ok: bool
    found: str


def check_recording(recording: Recording) -> list[Check]:
    """Look at every file, column and count of a recording; never raises for what it finds."""
    checks = [_completeness(recording)]
    for table in tables().values():
        checks += _table(recording, table)
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


def _completeness(recording: Recording) -> Check:
    if recording.manifest.complete:
        return Check("recording", True, "ended as it should")
    return Check("recording", True, "cut off: the recorder was killed; what it had closed is here")


def _table(recording: Recording, table: Table) -> list[Check]:
    rows = 0
    for file in recording.files(table.name):
        read, problem = _file(table, file)
        if problem is not None:
            return [Check(f"{table.name}/{file.name}", False, problem)]
        rows += read
    counted = recording.manifest.tables.get(table.name)
    if counted is None:
        return [Check(table.name, True, f"{rows:,} rows")] if rows else []
    checks = []
    if recording.manifest.complete and counted.kept != rows:
        found = f"{rows:,} rows, the manifest counts {counted.kept:,}"
        checks.append(Check(table.name, False, found))
    elif rows or counted.lost:
        found = f"{rows:,} rows" + (f", {counted.lost:,} lost" if counted.lost else "")
        checks.append(Check(table.name, True, found))
    if rows:
        checks += _times(recording, table)
    return checks


def _file(table: Table, file: Path) -> tuple[int, str | None]:
    """Rows of a file, all of which are read, and what is wrong with it."""
    place = str(file.resolve())
    source = f"read_parquet({listed([place])})"
    try:
        # By statistics of its own a file could say what is in it, unread.
        with closing(
            reading([place], "SET disabled_optimizers = 'statistics_propagation';")
        ) as connection:
            size = file_sizes(connection, [place])
            if not size:  # no row group
                problem = _columns(table, connection, place)
                return 0, problem
            problem = size[0].problem() or _columns(table, connection, place)
            if problem is None:
                problem = _values(table, connection, source)
            return size[0].rows, problem
    except (OSError, ValueError) as error:
        found = str(error)
    except Exception as error:
        if not is_query_error(error):
            raise
        # The file is named already, and DuckDB's class of errors says nothing more.
        found = str(error).replace(f"'{place}' ", "").replace(place, "it")
        found = found.removeprefix("Invalid Input Error: ").removeprefix("IO Error: ")
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
    """The columns of a file, as they stand in it: the schema's elements are a tree, depth first."""
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


def _times(recording: Recording, table: Table) -> list[Check]:
    command = recording.manifest.command
    if table.time is None or command.start_ns is None or command.end_ns is None:
        return []
    try:
        with recording.connected() as connection:
            outside = connection.execute(
                f"SELECT count(*) FROM {table.name} WHERE {table.time} < ? OR {table.time} > ?",
                [command.start_ns - OUTSIDE_NS, command.end_ns + OUTSIDE_NS],
            ).fetchone()
    except Problem as problem:
        # Damage of another table is told once, there.
        named = (recording.path / table.name, recording.folder / table.name)
        own = any(str(place) in str(problem) for place in named)
        return [Check(table.name, False, str(problem).splitlines()[0])] if own else []
    except duckdb.Error as error:
        return [Check(table.name, False, str(error).splitlines()[0])]
    if outside and outside[0]:
        found = f"{outside[0]:,} rows lie over a minute outside the command's time"
        return [Check(table.name, False, found)]
    return []
