"""Which columns the tables of the live view have, and how they are written. The first ones stay when it is narrow."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy import units
from iowhy.views.cells import number_or_none
from iowhy.views.terminal import UNKNOWN, Field

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row


class Column(Struct, frozen=True):
    """A column: the key of the row that it is sorted by, and how it is shown."""

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


def _column(key: str, heading: str = "", *, left: bool = False, extra: bool = False) -> Column:
    write = next((write for end, write in _WRITERS if key.endswith(end)), None)
    if write is None:
        write = _plain if left or key in ("tgid", "tid") else _by(units.count)
    return Column(key, Field(heading or key.replace("_", " "), write, left, extra))


#: Of a process, and of a service.
_WAITS_AND_LOADS = (
    _column("waited_ns", "waits"),
    _column("mostly", "mostly", left=True),
    _column("cpu_ns", "CPU"),
    _column("read_bytes", "read"),
    _column("written_bytes", "written"),
    _column("request_ns", "load"),
    _column("reason", "reason", left=True),
)
PROCESSES = (
    _column("comm", "process", left=True),
    _column("tgid", "id"),
    *_WAITS_AND_LOADS,
    _column("container", "in", left=True),
    _column("runnable_ns", "runnable", extra=True),
    _column("requests", "requests", extra=True),
    _column("dirtied_pages", "pages dirtied", extra=True),
    _column("evicted_pages", "evicted", extra=True),
)
CONTAINERS = (
    _column("container", "container or service", left=True),
    _column("processes", "processes"),
    *_WAITS_AND_LOADS,
    _column("dirtied_pages", "pages dirtied", extra=True),
    _column("evicted_pages", "evicted", extra=True),
)
FILES = (
    _column("path", "file", left=True),
    _column("time_ns", "call time"),
    _column("request_bytes", "moved"),
    _column("requests", "requests"),
    _column("calls", "calls"),
    _column("asked_bytes", "asked"),
    _column("sync_ns", "in sync"),
    _column("jump_share", "jumps"),
    _column("extents_after", "extents", extra=True),
    _column("size_bytes", "size", extra=True),
)
DEVICES = (
    _column("device", "device", left=True),
    _column("utilisation", "busy"),
    _column("mean_queue", "queue"),
    _column("read_bytes_per_s", "read"),
    _column("written_bytes_per_s", "written"),
    _column("await_ns", "mean wait"),
    _column("reads", "reads"),
    _column("writes", "writes"),
    _column("flushes", "flushes"),
    _column("others_time_share", "others'"),
    _column("others_most", "most by", left=True),
)
FINDINGS = (
    _column("cause", "cause", left=True),
    _column("gain_share", "could save"),
    _column("confidence_share", "confidence"),
    _column("time_share", "of the time"),
    _column("title", "what it is", left=True),
)
_LEFT_OUT = frozenset(
    ("start_s", "exit_code", "share", "inodes", "threads", "unfinished", "mean_bytes")
)


def columns_of(rows: "Sequence[Row]") -> tuple[Column, ...]:
    """The columns of a detail: all that are known in a row of it, as the report has them."""
    keys = [key for key in (rows[0] if rows else {}) if key not in _LEFT_OUT]
    known = [key for key in keys if any(row[key] is not None for row in rows[:100])]
    texts = {key for key in known if any(isinstance(row[key], str) for row in rows[:100])}
    return tuple(
        _column(key, key.removesuffix("_ns").replace("_", " "), left=key in texts) for key in known
    )


def in_order(rows: "Sequence[Row]", key: str, *, descending: bool) -> "list[Row]":
    """Sorted by a column; what is unknown comes last either way."""
    known = [row for row in rows if row.get(key) is not None]
    rest = [row for row in rows if row.get(key) is None]
    if any(isinstance(row[key], str) for row in known):
        known.sort(key=lambda row: str(row[key]).casefold(), reverse=descending)
    else:
        known.sort(key=lambda row: number_or_none(row[key]) or 0.0, reverse=descending)
    return known + rest
