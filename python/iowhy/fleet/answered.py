"""The answer to a report of a fleet: what was gathered, by recording, with host, recording and started in front."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.fleet.members import COLUMNS
from iowhy.fleet.sql_parts import KEY
from iowhy.recordings.open_tables import listed, reading
from iowhy.recordings.sql_text import text_literal
from iowhy.relations.sql_header import Column
from iowhy.reports.batches import Result
from iowhy.reports.engine import result

if TYPE_CHECKING:  # slow to import
    import duckdb

#: What stands before the columns of each report.
FRONT = (
    Column("host", "the machine's name", "text"),
    Column("recording", "the recording", "text"),
    Column("started", "when it began, UTC", "text"),
)
_ROWS_AT_ONCE = 500

Tables = dict[str, tuple[Mapping[str, str], Sequence[Mapping[str, object]]]]
"""By name: the columns with their types, and the rows."""


@contextmanager
def answered(
    members: Sequence[Mapping[str, object]],
    parts: Mapping[str, Sequence[Path]],
    sql: str,
    tables: Tables | None = None,
) -> Iterator[Result]:
    """The rows of `sql` over `recordings`, what was gathered and other tables, each under its name."""
    if parts and not any(parts.values()) and not tables:
        raise Problem("no-readable-recording")
    with closing(reading([str(part) for own in parts.values() for part in own])) as connection:
        for name, (columns, rows) in {"recordings": (COLUMNS, members), **(tables or {})}.items():
            _make(connection, name, columns, rows)
        for name, own in parts.items():
            connection.execute(f"CREATE VIEW {name} AS {gathered_rows(own)}")
        yield result(connection.execute(sql), nullcontext)


def gathered_rows(parts: Sequence[Path]) -> str:
    """The rows of some parts; `place` is their order within each recording."""
    if not parts:
        return f"SELECT NULL::BIGINT AS {KEY}, NULL::BIGINT AS place WHERE false"
    return f"SELECT *, file_row_number AS place FROM read_parquet({listed([str(p) for p in parts])}, union_by_name = true)"


def _make(
    connection: "duckdb.DuckDBPyConnection",
    name: str,
    columns: Mapping[str, str],
    rows: Sequence[Mapping[str, object]],
) -> None:
    made = ", ".join(f"{column} {kind}" for column, kind in columns.items())
    connection.execute(f"CREATE TABLE {name} ({made})")
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        values = ", ".join(
            f"({', '.join(_literal(row[column]) for column in columns)})"
            for row in rows[at : at + _ROWS_AT_ONCE]
        )
        connection.execute(f"INSERT INTO {name} VALUES {values}")


def by_recording(name: str) -> str:
    """What was gathered under a name, recording by recording."""
    return f"""SELECT r.host, r.recording, r.started, g.* EXCLUDE ({KEY}, place)
        FROM {name} g JOIN recordings r ON r.{KEY} = g.{KEY} ORDER BY g.{KEY}, g.place"""


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, int | float) else text_literal(str(value))
