"""Where the rows of many recordings are, and the tables that DuckDB makes of them: the key in front, whatever columns files have.

A recording has its own files, or is in a pack with others, whose files say of which recording a row is.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.fleet.members import Member
from iowhy.fleet.sql_parts import KEY
from iowhy.recordings.day_packs import NUMBER
from iowhy.recordings.open_tables import listed
from iowhy.recordings.schema import Table

if TYPE_CHECKING:  # slow to import
    import duckdb

Columns = tuple[tuple[str, str], ...]
"""Names and types of a file's columns."""


class TableFiles(Struct, frozen=True):
    """The files of one table. `own`: of each file the number of its recording; `shared`: of each file of a pack
    the number of each recording that is asked for, by its number in the pack."""

    own: dict[str, int] = field(default_factory=dict)
    shared: dict[str, dict[int, int]] = field(default_factory=dict)

    def files(self) -> list[str]:
        """All of them."""
        return [*self.own, *self.shared]

    def of(self, numbers: Collection[int]) -> "TableFiles":
        """Those with rows of some recordings."""
        shared = {
            file: {at: number for at, number in found.items() if number in numbers}
            for file, found in self.shared.items()
        }
        return TableFiles(
            {file: number for file, number in self.own.items() if number in numbers},
            {file: found for file, found in shared.items() if found},
        )


def table_files(members: Sequence[Member], names: Sequence[str]) -> dict[str, TableFiles]:
    """The files of some tables of the members. Raises Problem for a pack that lacks one."""
    found = {name: TableFiles() for name in names}
    for member in members:
        entry = member.entry
        for name in names:
            if entry is None:
                for file in member.recording.files(name):
                    found[name].own[str(file.resolve())] = member.number
            elif entry.rows.get(name):
                file = entry.file(name).resolve()
                found[name].shared.setdefault(str(file), {})[entry.number] = member.number
    return found


def table_sql(connection: "duckdb.DuckDBPyConnection", table: Table, lies: TableFiles) -> str:
    """The rows of a table of all the recordings.

    Raises Problem for a file that lacks a column or has one of another type.
    """
    parts = []
    for have, alike in _alike(connection, lies.files()).items():
        columns = _columns(table, dict(have), alike[0])
        own = [file for file in alike if file in lies.own]
        if own:
            numbers = ", ".join(str(lies.own[file]) for file in own)
            parts.append(
                f"SELECT CAST([{numbers}][CAST(file_index AS BIGINT) + 1] AS BIGINT) AS {KEY}, {columns} "
                f"FROM read_parquet({listed(own)})"
            )
        shared = {file: lies.shared[file] for file in alike if file in lies.shared}
        if shared:
            parts.append(_of_packs(columns, shared))
    if not parts:
        empty = ", ".join(f'NULL::{c.sql_type} AS "{c.name}"' for c in table.columns)
        parts = [f"SELECT NULL::BIGINT AS {KEY}, {empty} WHERE false"]
    return " UNION ALL ".join(parts)


def _of_packs(columns: str, shared: Mapping[str, Mapping[int, int]]) -> str:
    lists = ", ".join(
        "[" + ", ".join(str(found.get(at, "NULL")) for at in range(max(found) + 1)) + "]"
        for found in shared.values()
    )
    asked = [at for found in shared.values() for at in found]
    # Rows stand in the order of these numbers: row groups of others are not read.
    return (
        f"SELECT * FROM (SELECT CAST([{lists}][CAST(file_index AS BIGINT) + 1][{NUMBER} + 1] AS BIGINT) AS {KEY}, {columns} "
        f"FROM read_parquet({listed(list(shared))}) WHERE {NUMBER} BETWEEN {min(asked)} AND {max(asked)}) AS p "
        f"WHERE {KEY} IS NOT NULL"
    )


def _alike(connection: "duckdb.DuckDBPyConnection", files: list[str]) -> dict[Columns, list[str]]:
    """The files by the columns that they have, of which types: recorders of several versions wrote them."""
    found: dict[Columns, list[str]] = {}
    if not files:
        return found
    rows = connection.execute(
        f"""SELECT file_name, list(name ORDER BY name), list(duckdb_type ORDER BY name)
        FROM parquet_schema({listed(files)}) WHERE duckdb_type IS NOT NULL GROUP BY file_name ORDER BY file_name"""
    ).fetchall()
    for file, names, types in rows:
        found.setdefault(tuple(zip(names, types, strict=True)), []).append(file)
    return found


def must_fit(connection: "duckdb.DuckDBPyConnection", table: Table, files: Collection[str]) -> None:
    """Raises Problem for a file that lacks a column of the schema or has one of another type."""
    for have, alike in _alike(connection, list(files)).items():
        _columns(table, dict(have), alike[0])


def _columns(table: Table, have: Mapping[str, str], file: str) -> str:
    columns = []
    for column in table.columns:
        if column.name in have:
            if have[column.name] != column.sql_type:
                raise Problem(
                    "column-of-another-type",
                    path=file,
                    name=column.name,
                    have=have[column.name],
                    sql_type=column.sql_type,
                )
            columns.append(f'"{column.name}"')
        elif column.null is None:
            raise Problem("column-missing", path=file, name=column.name)
        else:
            columns.append(f'NULL::{column.sql_type} AS "{column.name}"')
    return ", ".join(columns)
