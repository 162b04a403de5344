"""Is a recording whole and true to the schema? What `iowhy check` prints."""

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording.recording import Recording
from iowhy.recording.schema import Table, tables
from iowhy.recording.sizes import of_parquet

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
        try:
            opened = pq.ParquetFile(file)
            size = of_parquet(file.name, opened, file.stat().st_size)
            problem = size.problem() or _columns(table, opened.schema_arrow)
            if problem is None:
                for batch in opened.iter_batches():
                    problem = problem or _nulls(table, batch)
        except (pa.ArrowException, OSError, ValueError) as error:
            problem = f"cannot be read: {str(error).splitlines()[0][:200]}"
        if problem is not None:
            return [Check(f"{table.name}/{file.name}", False, problem)]
        rows += opened.metadata.num_rows
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


def _columns(table: Table, found: pa.Schema) -> str | None:
    for column in table.columns:
        if found.names.count(column.name) > 1:
            return f"column {column.name} is there more than once"
        if column.name not in found.names:
            if column.null is None:
                return f"column {column.name} is missing"
            continue
        if not _same(found.field(column.name).type, column.arrow_type):
            return f"column {column.name} is {found.field(column.name).type}, not {column.type}"
    return None


def _same(found: pa.DataType, expected: pa.DataType) -> bool:
    """Whether two types hold the same values; whether a list's items may be NULL is no matter."""
    if pa.types.is_list(found) and pa.types.is_list(expected):
        return bool(found.value_type == expected.value_type)
    return bool(found == expected)


def _nulls(table: Table, batch: pa.RecordBatch) -> str | None:
    for column in table.columns:
        if column.null is None and batch.column(column.name).null_count:
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
