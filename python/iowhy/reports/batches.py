"""The rows of a query, a batch at a time: what is written out may be larger than the memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from msgspec import Struct

from iowhy.errors import Problem

BATCH_ROWS = 10_000
#: Rows that are looked at before the first is handed on, to see of what types the columns are.
FIRST_BATCHES = 20

INT, FLOAT, TEXT = "BIGINT", "DOUBLE", "VARCHAR"
_LEAST, _MOST = -(2**63), 2**63 - 1

Row = tuple[Any, ...]


class Rows(Struct, frozen=True):
    """Rows in memory: `types` are the columns and their types in DuckDB's words, in order; `notes` say what they lack.

    What it offers is named as in Arrow's tables.
    """

    types: Mapping[str, str]
    values: Sequence[Row]
    notes: Sequence[str] = ()

    @classmethod
    def of(cls, found: Sequence[Mapping[str, object]]) -> "Rows":
        """Of dictionaries with the same keys."""
        names = list(found[0]) if found else []
        values = [tuple(row[name] for name in names) for row in found]
        types = {name: _type_of(row[at] for row in values) for at, name in enumerate(names)}
        return cls(types, values)

    @property
    def column_names(self) -> list[str]:
        """The names of the columns."""
        return list(self.types)

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self.values)

    def column(self, name: str) -> list[Any]:
        """The values of a column, None where one is unknown."""
        at = self.column_names.index(name)
        return [row[at] for row in self.values]

    def to_pylist(self) -> list[dict[str, Any]]:
        """The rows as dictionaries."""
        return [dict(zip(self.types, row, strict=True)) for row in self.values]

    def head(self, rows: int) -> "Rows":
        """The first of them."""
        return Rows(self.types, self.values[:rows], self.notes)


def _type_of(values: Iterable[object]) -> str:
    kinds = {type(value) for value in values} - {type(None)}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds and kinds <= {int}:
        return INT
    return FLOAT if kinds and kinds <= {int, float} else TEXT


class Result:
    """Rows to be read once, of which no more than a few batches are in memory.

    Whole numbers are int64, shares and means float64; unknown is null. DuckDB sums whole numbers in 128 bits: 64 bits
    again, which the tables had. Columns with a fraction, and those whose first rows do not fit, become float64.
    """

    def __init__(
        self,
        types: Mapping[str, str],
        batches: Iterator[Sequence[Row]],
        count: Callable[[], int] | None = None,
        notes: Sequence[str] = (),
    ) -> None:
        """`types` as DuckDB says them. `count` says how many rows there are where not all of them are among the batches.

        `notes`: what is to be known of what they are made of.
        """
        looked_at = FIRST_BATCHES if any(map(_is_sum, types.values())) else 0
        first = list(islice(batches, looked_at))
        self.types = {
            name: _plain(kind, at, first) for at, (name, kind) in enumerate(types.items())
        }
        self._changed = [
            at for at, (name, kind) in enumerate(types.items()) if self.types[name] != kind
        ]
        self._first = first
        self._rest = batches
        self._count = count
        self.notes = notes

    @classmethod
    def of(cls, rows: Rows) -> "Result":
        """Rows that are in memory."""
        starts = range(0, rows.num_rows, BATCH_ROWS)
        return cls(rows.types, iter([rows.values[at : at + BATCH_ROWS] for at in starts]))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(self.types)

    def batches(self) -> Iterator[Sequence[Row]]:
        """The rows. Raises Problem for a sum that does not fit the type that its column has by its first rows."""
        convert = [
            (at, int if kind == INT else float)
            for at, kind in enumerate(self.types.values())
            if at in self._changed
        ]
        for source in (iter(self._first), self._rest):
            for batch in source:
                yield [_converted(row, convert) for row in batch] if convert else batch
        self._first = []

    def table(self) -> Rows:
        """All rows, in memory."""
        return Rows(self.types, [row for batch in self.batches() for row in batch], self.notes)

    def head(self, rows: int) -> tuple[Rows, int]:
        """The first rows, in memory, and how many there are in all."""
        kept: list[Row] = []
        seen = 0
        for batch in self.batches():
            kept += batch[: max(0, rows - seen)]
            seen += len(batch)
        return Rows(self.types, kept, self.notes), seen if self._count is None else self._count()


def _plain(kind: str, at: int, first: Sequence[Sequence[Row]]) -> str:
    """The type that a column has here."""
    if _is_sum(kind):
        fits = all(
            row[at] is None or _LEAST <= row[at] <= _MOST for batch in first for row in batch
        )
        return INT if fits else FLOAT
    return FLOAT if kind.startswith("DECIMAL(") else kind


def _is_sum(kind: str) -> bool:
    """Whether a column holds whole numbers that may be beyond 64 bits."""
    return kind == "HUGEINT" or (kind.startswith("DECIMAL(") and kind.endswith(",0)"))


def _converted(row: Row, convert: Sequence[tuple[int, type]]) -> Row:
    values = list(row)
    for at, kind in convert:
        value = values[at]
        if value is None:
            continue
        if kind is int and not _LEAST <= value <= _MOST:
            raise Problem("sum-beyond-64-bits", value=value)
        values[at] = kind(value)
    return tuple(values)
