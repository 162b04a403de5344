"""The tables of a recording, read from schema.toml (the one truth shared with the recorder)."""

from functools import cache

from msgspec import Struct

from iowhy.tables import schema

VERSION = 1

_SQL = {
    "int": "BIGINT",
    "float": "DOUBLE",
    "bool": "BOOLEAN",
    "text": "VARCHAR",
    "ints": "BIGINT[]",
    "texts": "VARCHAR[]",
}


class Column(Struct, frozen=True):
    """One column: its type (a key of schema.toml), its meaning, and what NULL means in it."""

    name: str
    type: str
    doc: str
    null: str | None

    @property
    def sql_type(self) -> str:
        """The type in DuckDB's words."""
        return _SQL[self.type]


class Table(Struct, frozen=True):
    """One table: what a row is, which column is its time (None: rows have none), its columns.

    `sums`: the table over whose rows it holds sums, all or none of them.
    """

    name: str
    row: str
    time: str | None
    columns: tuple[Column, ...]
    sums: str | None = None


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
