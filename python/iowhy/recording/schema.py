"""The tables of a recording, read from schema.toml (the one truth shared with the recorder)."""

from dataclasses import dataclass
from functools import cache

import pyarrow as pa

from iowhy.tables import schema

VERSION = 1

_ARROW = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "ints": pa.list_(pa.int64()),
    "texts": pa.list_(pa.string()),
}
_SQL = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
    "ints": "BIGINT[]",
    "texts": "VARCHAR[]",
}


@dataclass(frozen=True)
class Column:
    """One column: its type (a key of schema.toml), its meaning, and what NULL means in it."""

    name: str
    type: str
    doc: str
    null: str | None

    @property
    def sql_type(self) -> str:
        """The type in DuckDB's words."""
        return _SQL[self.type]

    @property
    def arrow_type(self) -> pa.DataType:
        """The type in Arrow's words."""
        return _ARROW[self.type]


@dataclass(frozen=True)
class Table:
    """One table: what a row is, which column is its time (None: rows have none), its columns."""

    name: str
    row: str
    time: str | None
    columns: tuple[Column, ...]

    @property
    def arrow_schema(self) -> pa.Schema:
        """The schema of the table's Parquet files."""
        return pa.schema(
            [pa.field(c.name, c.arrow_type, nullable=c.null is not None) for c in self.columns]
        )


@cache
def tables() -> dict[str, Table]:
    """All tables by name, in the order of schema.toml."""
    loaded = dict(schema())
    if loaded.pop("version") != VERSION:
        raise AssertionError("schema.toml and schema.py disagree on the version")
    return {
        name: Table(
            name=name,
            row=table["row"],
            time=table.get("time"),
            columns=tuple(
                Column(column, spec["type"], spec["doc"], spec.get("null"))
                for column, spec in table["columns"].items()
            ),
        )
        for name, table in loaded.items()
    }
