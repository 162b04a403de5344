"""Rows of a result as dataclasses: each column is checked against the field that takes it."""

import types
import typing
from collections.abc import Sequence
from functools import cache
from typing import TypeVar

from msgspec import NODEFAULT
from msgspec.structs import fields

from iowhy.recordings.query_errors import UnexpectedValue

if typing.TYPE_CHECKING:  # slow to import, which DuckDB does when it has one to give
    from decimal import Decimal

Row = tuple[typing.Any, ...]
Kind = TypeVar("Kind")


def typed(kind: type[Kind], columns: Sequence[str], rows: Sequence[Row]) -> list[Kind]:
    """One `kind` for each row; columns and fields go by their names.

    NULL is None; it is an error for a field that may not be None, as is another type, a column
    without a field, and a field without column or default. A whole number fits a float.
    """
    wanted = _fields(typing.cast(type, kind))
    for name in columns:
        if name not in wanted:
            raise TypeError(f"{kind.__name__} has no field for the column {name}")
    for name, (_, required) in wanted.items():
        if required and name not in columns:
            raise TypeError(f"{kind.__name__}: the result has no column {name}")
    takes = [wanted[name][0] for name in columns]
    return [
        kind(
            **{
                name: value(found, allowed, f"{kind.__name__}.{name}")
                for name, allowed, found in zip(columns, takes, row, strict=True)
            }
        )
        for row in rows
    ]


def plain(value: object) -> object:
    """A value as Python has it: DuckDB sums whole numbers as 128-bit decimals (float64 beyond 64 bits)."""
    if type(value).__name__ != "Decimal":
        return value
    number = typing.cast("Decimal", value)
    whole = number == number.to_integral_value() and abs(number) < 2**63
    return int(number) if whole else float(number)


@cache
def _fields(kind: type) -> dict[str, tuple[tuple[type, ...], bool]]:
    """By name: the types that a field takes, and whether it must be given."""
    found = {}
    for item in fields(kind):
        hint = item.type
        union = typing.get_origin(hint) in (types.UnionType, typing.Union)
        allowed = typing.get_args(hint) if union else (hint,)
        required = item.default is NODEFAULT and item.default_factory is NODEFAULT
        found[item.name] = (tuple(typing.get_origin(one) or one for one in allowed), required)
    return found


def value(found: object, allowed: tuple[type[Kind], ...], where: str) -> Kind:
    """As one of the types that are allowed. Raises UnexpectedValue."""
    fits: object = found
    if isinstance(found, int) and not isinstance(found, bool) and float in allowed:
        fits = found if int in allowed else float(found)
    elif isinstance(found, float) and found.is_integer() and float not in allowed:
        fits = int(found)
    elif isinstance(found, list) and list not in allowed:
        fits = tuple(found)
    if type(fits) not in allowed:
        raise UnexpectedValue(f"{where}: {found!r:.60} is {type(found).__name__}, not {allowed}")
    return typing.cast(Kind, fits)
