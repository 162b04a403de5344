"""A relation: an SQL file with a header, in the folder of its layer."""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.recordings.schema import tables
from iowhy.relations.facts import RecordedFacts
from iowhy.relations.literals import COLUMNS, literal
from iowhy.relations.percentiles import few_percentiles_sql, percentiles_sql
from iowhy.relations.sql_header import Column, parse_headed

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: The folders of relations, from the recording upwards: each may use those before it. What begins with `_` is its own folder's.
LAYERS = (
    "core",
    "machine",
    "requests",
    "devices",
    "calls",
    "syncs",
    "waits",
    "writeback",
    "cache",
    "files",
    "pasted",
    "threads",
    "budget",
    "callers",
    "statements",
)
#: What a relation is where no thread was timed (other tools' texts, a recording of no length).
WITHOUT_THREADS = {
    "budget_sums": "pasted_sums",
    "budget_totals": "pasted_totals",
    "budget_grid": "device_grid",
    "phase_cells": "device_cells",
}
#: What sums by the rows are where these are few: the rows. A group of its own costs more than a row.
OF_FEW_ROWS = {"call_sums": "_call_rows", "request_sums": "_request_rows"}
FEW_TO_GROUP = 1_000_000
#: Rows of a recording of which those of one column fit into memory whatever that may be.
FEW_IN_MEMORY = 4_000_000

_KEYS = ("title", "uses", "filtered as", "kept", "percentiles by")
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?<![\w.\"])(main\.)?([A-Za-z_]\w*)(?![\w\"])")
_DEFINITION = re.compile(r"\b(\w+)\s+AS\s+(?:(?:NOT\s+)?MATERIALIZED\s+)?\(", re.IGNORECASE)


class Relation(Struct, frozen=True):
    """One relation: what it uses, and its SQL; of percentiles, the SQL of their values, by their keys.

    `filtered_as`: the table like which its rows are filtered; empty when it is made of what the
    filters leave, "nothing" when filters do not apply to it.
    """

    name: str
    title: str
    notes: str
    columns: tuple[Column, ...]
    uses: tuple[str, ...]
    filtered_as: str
    kept: bool
    sql: str
    percentiles_by: tuple[str, ...] = ()

    def body(self, facts: RecordedFacts) -> str:
        """The SQL for a recording."""
        if self.name in COLUMNS:
            return literal(self.name, facts)
        if not self.percentiles_by:
            return self.sql
        asked = [one.name for one in self.columns[len(self.percentiles_by) :]]
        few = sum(facts.rows.values()) <= FEW_IN_MEMORY
        return (few_percentiles_sql if few else percentiles_sql)(
            self.percentiles_by, asked, self.sql
        )


def parse(name: str, text: str) -> Relation:
    """The relation in `text`. Raises Problem with the line that is wrong."""
    headed = parse_headed(text, f"{name}.sql", _KEYS, ("title",))
    fields, columns = headed.fields, headed.columns
    if not (columns or name in tables()):
        raise Problem("sql-without-columns", name=name)
    filtered_as, kept = fields.get("filtered as", ""), fields.get("kept", "view")
    if filtered_as not in ("", "nothing", *tables()):
        raise Problem("sql-filtered-unknown", name=name, filtered_as=filtered_as)
    if kept not in ("view", "table"):
        raise Problem("sql-kept-unknown", name=name)
    if not headed.sql:
        raise Problem("sql-only-header", name=name)
    return Relation(
        name=name,
        title=fields["title"],
        notes=headed.notes,
        columns=tuple(columns),
        uses=_listed(fields.get("uses", "")),
        filtered_as=filtered_as,
        kept=kept == "table",
        sql=headed.sql,
        percentiles_by=_percentiles(name, _listed(fields.get("percentiles by", "")), columns),
    )


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word for part in text.split(",") if (word := part.strip()))


def _percentiles(name: str, keys: tuple[str, ...], columns: Sequence[Column]) -> tuple[str, ...]:
    """The keys. Raises Problem for columns that are no percentiles by them."""
    if keys:
        if keys != tuple(one.name for one in columns[: len(keys)]):
            raise Problem("sql-percentiles-wrong", name=name, keys=", ".join(keys))
        try:
            percentiles_sql(keys, [one.name for one in columns[len(keys) :]], "")
        except ValueError as error:
            raise Problem("sql-columns-wrong", name=name, error=error) from None
    return keys


class _Relations(Mapping[str, Relation]):
    """Those of the layers, each read when it is first asked for: of a short command that is few of them."""

    def __init__(self) -> None:
        self._files: dict[str, Path | Traversable] = {}
        self.layers = {"": tuple(COLUMNS)}
        for layer in LAYERS:
            files = files_by_name("iowhy.relations", ".sql", below=layer)
            self.layers[layer] = tuple(files)
            self._files |= files
        self._read = {
            name: Relation(
                name, title, "", tuple(Column(*one) for one in columns), (), "nothing", False, ""
            )
            for name, (title, columns) in COLUMNS.items()
        }
        self._names = dict.fromkeys((*self._read, *sorted(self._files)))

    def __getitem__(self, name: str) -> Relation:
        if name not in self._read:
            self._read[name] = parse(name, self._files[name].read_text("utf-8"))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


@cache
def relations() -> Mapping[str, Relation]:
    """All relations by name."""
    return _all()


def layers() -> Mapping[str, tuple[str, ...]]:
    """Their names by layer, in order; before them all what is made of no table."""
    return _all().layers


@cache
def _all() -> _Relations:
    return _Relations()


def chosen(name: str, facts: RecordedFacts) -> Relation | None:
    """The relation that is under a name in a recording; None: the recording's own table, or no name of either.

    A table of sums that the recorder did not write is the relation of its name, which gives them by the rows: here, and nowhere
    else, the two meet.
    """
    if name in WITHOUT_THREADS and not facts.timed:
        return relations()[WITHOUT_THREADS[name]]
    if name not in relations() or (name in tables() and facts.has(name)):
        return None
    if name in OF_FEW_ROWS and facts.rows.get(str(tables()[name].sums), 0) <= FEW_TO_GROUP:
        return relations()[OF_FEW_ROWS[name]]
    return relations()[name]


@cache
def named_in(sql: str) -> frozenset[str]:
    """The tables and relations that an SQL text names, `main.NAME` for tables as recorded.

    By their names alone, outside comments and strings, but not those that it defines itself.
    """
    bare = _NOISE.sub(" ", sql)
    known, own = _names(), defined_in(bare)
    return frozenset(
        main + name
        for main, name in _WORD.findall(bare)
        if name in known and (main or name.lower() not in own)
    )


def tables_in(sql: str) -> frozenset[str]:
    """The recording's tables that an SQL text names."""
    return frozenset(name.removeprefix("main.") for name in named_in(sql)) & tables().keys()


def defined_in(sql: str) -> frozenset[str]:
    """The names of relations that the SQL brings itself, as what --sql printed does; in small letters."""
    return frozenset(name.lower() for name in _DEFINITION.findall(sql))


@cache
def _names() -> frozenset[str]:
    return frozenset({*tables(), *relations()})
