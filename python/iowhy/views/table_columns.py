"""Columns of tables: the key of a row, and how its values are written, which the key's ending says."""

from collections.abc import Callable

from msgspec import Struct

from iowhy import units
from iowhy.views.cells import number_or_none
from iowhy.views.terminal import UNKNOWN, Field


class Column(Struct, frozen=True):
    """A column: the key of the row, by which it is sorted, and how it is shown."""

    key: str
    field: Field


def _by(write: Callable[[float | None], str]) -> Callable[[object], str]:
    return lambda value: UNKNOWN if value is None else write(number_or_none(value))


def _plain(value: object) -> str:
    return UNKNOWN if value is None else str(value)


_WRITERS: tuple[tuple[str, Callable[[object], str]], ...] = (
    ("_ns", _by(units.duration)),
    ("_bytes_per_s", _by(units.rate)),
    ("bytes", _by(units.size)),
    ("_share", _by(units.percent)),
    ("utilisation", _by(units.percent)),
    ("mean_queue", _by(lambda number: f"{number:.1f}")),
)


def column(key: str, heading: str = "", *, left: bool = False, extra: bool = False) -> Column:
    """A column; a text is on the `left`, an `extra` one comes if there is room."""
    write = next((write for end, write in _WRITERS if key.endswith(end)), None)
    if write is None:
        write = _plain if left or key in ("tgid", "tid") else _by(units.count)
    return Column(key, Field(heading or key.replace("_", " "), write, left, extra))
