"""Rows as arrays of numpy, one per column, masked where a value is unknown."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from iowhy.recordings.arrays import masked, objects

_NUMBERS = {"BIGINT": np.int64, "INTEGER": np.int32, "DOUBLE": np.float64, "BOOLEAN": np.bool_}


def arrays(types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> list[Any]:
    """The columns in order; those of other types than numbers are objects, None where unknown."""
    columns = zip(*rows, strict=True) if rows else [()] * len(types)
    return [array(kind, values) for kind, values in zip(types.values(), columns, strict=True)]


def array(kind: str, values: Sequence[Any]) -> Any:
    """One column."""
    number = _NUMBERS.get(kind)
    if number is None:
        return objects(values)
    found: Any = np.array([0 if value is None else value for value in values], number)
    return masked(found, values)


class Batch(Struct, frozen=True):
    """Some rows as arrays: `arrays` by the name of the column, `types` as DuckDB says them."""

    types: Mapping[str, str]
    arrays: Mapping[str, Any]

    @classmethod
    def of(cls, types: Mapping[str, str], rows: Sequence[Sequence[Any]]) -> "Batch":
        """Of rows as tuples."""
        return cls(types, dict(zip(types, arrays(types, rows), strict=True)))

    def __len__(self) -> int:
        return len(next(iter(self.arrays.values())))

    def __getitem__(self, name: str) -> Any:
        return self.arrays[name]

    def known(self, name: str) -> Any:
        """Where a column has a value, as an array of bool."""
        return known(self.arrays[name])

    def filter(self, chosen: Any) -> "Batch":
        """The rows that an array of bool chooses."""
        return Batch(self.types, {name: array[chosen] for name, array in self.arrays.items()})


def known(column: Any) -> Any:
    """Where a column has a value."""
    if column.dtype == object and not np.ma.isMaskedArray(column):
        return np.array([value is not None for value in column], bool)
    return ~np.ma.getmaskarray(column)


def filled(column: Any, unknown: Any = 0) -> Any:
    """A column with something for what is unknown: 0 in one of numbers."""
    return np.ma.filled(column, unknown)
