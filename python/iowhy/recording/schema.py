"""The tables of a recording, read from schema.toml (the one truth shared with the recorder)."""

from functools import cache
from typing import TYPE_CHECKING

from iowhy.data_class import dataclass
from iowhy.tables import schema

if TYPE_CHECKING:  # slow to import, and needed only where tables are written or checked
    import pyarrow as pa

VERSION = 1

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
    def arrow_type(self) -> "pa.DataType":
        """The type in Arrow's words."""
        return _arrow_types()[self.type]


@dataclass(frozen=True)
class Table:
    """One table: what a row is, which column is its time (None: rows have none), its columns.

    `sums`: the table over whose rows it holds sums, all or none of them.
    """

    name: str
    row: str
    time: str | None
    columns: tuple[Column, ...]
    sums: str | None = None

    @property
    def arrow_schema(self) -> "pa.Schema":
        """The schema of the table's Parquet files."""
        import pyarrow as pa

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
            sums=table.get("sums"),
        )
        for name, table in loaded.items()
    }


@cache
def _arrow_types() -> "dict[str, pa.DataType]":
    import pyarrow as pa

    return {
        "int": pa.int64(),
        "float": pa.float64(),
        "bool": pa.bool_(),
        "text": pa.string(),
        "ints": pa.list_(pa.int64()),
        "texts": pa.list_(pa.string()),
    }
