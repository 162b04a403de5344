"""Which columns the tables of the live view have, and how they are written. The first ones stay when it is narrow."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from iowhy.views.cells import number_or_none
from iowhy.views.table_columns import Column, column

if TYPE_CHECKING:  # slow to import, and the first frame does not wait for it
    from iowhy.reports.engine import Row


#: Of a process, and of a service.
_WAITS_AND_LOADS = (
    column("waited_ns", "waits"),
    column("mostly", "mostly", left=True),
    column("cpu_ns", "CPU"),
    column("read_bytes", "read"),
    column("written_bytes", "written"),
    column("request_ns", "load"),
    column("reason", "reason", left=True),
)
PROCESSES = (
    column("comm", "process", left=True),
    column("tgid", "id"),
    *_WAITS_AND_LOADS,
    column("container", "in", left=True),
    column("runnable_ns", "runnable", extra=True),
    column("requests", "requests", extra=True),
    column("dirtied_pages", "pages dirtied", extra=True),
    column("evicted_pages", "evicted", extra=True),
)
CONTAINERS = (
    column("container", "container or service", left=True),
    column("processes", "processes"),
    *_WAITS_AND_LOADS,
    column("dirtied_pages", "pages dirtied", extra=True),
    column("evicted_pages", "evicted", extra=True),
)
FILES = (
    column("path", "file", left=True),
    column("time_ns", "call time"),
    column("request_bytes", "moved"),
    column("requests", "requests"),
    column("calls", "calls"),
    column("asked_bytes", "asked"),
    column("sync_ns", "in sync"),
    column("jump_share", "jumps"),
    column("extents_after", "extents", extra=True),
    column("size_bytes", "size", extra=True),
)
DEVICES = (
    column("name", "device", left=True),
    column("utilisation", "busy"),
    column("mean_queue", "queue"),
    column("read_bytes_per_s", "read"),
    column("written_bytes_per_s", "written"),
    column("await_ns", "mean wait"),
    column("reads", "reads"),
    column("writes", "writes"),
    column("flushes", "flushes"),
    column("others_time_share", "others'"),
    column("others_most", "most by", left=True),
)
STATEMENTS = (
    column("statement", "statement", left=True),
    column("runs", "runs"),
    column("time_ns", "time"),
    column("cpu_ns", "CPU"),
    column("read_ns", "reads"),
    column("write_ns", "writes"),
    column("sync_ns", "syncs"),
    column("server_ns", "asleep"),
    column("calls", "calls"),
    column("read_bytes", "read", extra=True),
    column("written_bytes", "written", extra=True),
    column("spilled_bytes", "spilled", extra=True),
)
FINDINGS = (
    column("cause", "cause", left=True),
    column("gain_share", "could save"),
    column("confidence_share", "confidence"),
    column("time_share", "of the time"),
    column("title", "what it is", left=True),
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
        column(key, key.removesuffix("_ns").replace("_", " "), left=key in texts) for key in known
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
