"""What is in the cells of rows, as views draw it."""

from iowhy import units
from iowhy.messages import printable
from iowhy.views.terminal import shorten


def number(value: object) -> float:
    """The number of a cell that has one."""
    assert isinstance(value, int | float)
    return float(value)


def number_or_none(value: object) -> float | None:
    """The number of a cell, None if it has none: NULL, or a text."""
    return float(value) if isinstance(value, int | float) else None


def name_of(key: tuple[object, ...], width: int) -> str:
    """What rows that are together are of, on a line of so many columns."""
    return shorten(" ".join(printable(str(part)) for part in key), width // 2)


def counted(total: float, what: str) -> str:
    """So many of what a column counts, by its name: 12 requests, 1 request."""
    return f"{units.count(total)} {what if total != 1 else what.removesuffix('s')}"
