"""PostgreSQL's view pg_stat_io as psql prints it: aligned, expanded (\\x) or as a markdown table.

PostgreSQL's documentation, "pg_stat_io" (from version 16): counts and milliseconds since stats_reset, by kind of process, object
and context. Times are zero unless track_io_timing (for WAL: track_wal_io_timing) is on; an empty cell is an operation that
this kind never does.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _table
from iowhy.sources.numbers import number

NAME = "pg-stat-io"
TOOL = "pg_stat_io"
HINT = r"^\W*backend_type\s*\|"

#: Column → metric; *_time are in ms. Each time belongs to the count before it.
_COUNTS = ("reads", "writes", "writebacks", "extends", "fsyncs", "hits", "evictions")
_TIMES = {
    "read_time": "reads",
    "write_time": "writes",
    "writeback_time": "writebacks",
    "extend_time": "extends",
    "fsync_time": "fsyncs",
}
_NUMBERS = (*_COUNTS, *_TIMES)
_RULE = re.compile(r"[-+|: ]+")
SURE = 0.95
FIRST = (r".*\|\s*`?context`?\s*\||(?:.*\n)*\s*object\s*\|", 3)


def read(block: Block) -> Parsed:
    """Into measurements: subject is "PROCESS OBJECT CONTEXT"."""
    parsed = Parsed(TOOL, units="counts, ms")
    rows: list[dict[str, str]] = []
    columns: list[str] = []
    for at, line in parsed.lines(block):
        text = line.strip()
        if _RULE.fullmatch(text):
            continue
        cells = _table.cells(text) if "|" in text else []
        if "backend_type" in cells and "context" in cells:
            columns = cells if all(cells) else []  # one without a name at the end was wrapped
            if not columns:
                parsed.reject(at, line)
        elif cells and not columns and len(cells) == 2:
            if cells[0] == "backend_type" or not rows:
                rows.append({})
            if cells[0] in _NUMBERS and cells[1] and number(cells[1]) is None:
                parsed.reject(at, line)
            else:
                rows[-1][cells[0]] = cells[1]
        elif columns and len(cells) == len(columns):
            row = dict(zip(columns, cells, strict=True))
            if row["backend_type"] and all(
                row.get(n, "") == "" or number(row[n]) is not None for n in _NUMBERS
            ):
                rows.append(row)
            else:
                parsed.reject(at, line)
        elif not re.match(r"\(\d+ rows?\)|-\[ RECORD \d+ \]", text):
            parsed.reject(at, line)
    timed = any((number(row.get(name, "")) or 0) > 0 for row in rows for name in _TIMES)
    for row in rows:
        _emit(parsed, row, timed=timed)
    if rows:
        parsed.partial = "counts since the statistics were reset, not of one time"
        if not timed:
            parsed.note(
                "pg_stat_io has no times: track_io_timing is off (SET track_io_timing = on)"
            )
        _slowest(parsed, rows, timed=timed)
    return parsed


def _subject(row: dict[str, str]) -> str:
    return " ".join(row.get(name, "?") for name in ("backend_type", "object", "context"))[:100]


def _emit(parsed: Parsed, row: dict[str, str], *, timed: bool) -> None:
    subject = _subject(row)
    for name in _COUNTS:
        value = number(row.get(name, ""))
        parsed.measure(subject, name, value)
    for name, count in _TIMES.items():
        value, of = number(row.get(name, "")), number(row.get(count, ""))
        # A time of zero beside a count is one that was not taken.
        if timed and value is not None and (value > 0 or not of):
            parsed.measure(subject, f"{name}_ns", value * 1e6)
            if of:
                parsed.measure(subject, f"{name}_mean_ns", value * 1e6 / of)


def _slowest(parsed: Parsed, rows: Sequence[dict[str, str]], *, timed: bool) -> None:
    times = [
        (value, name.removesuffix("_time"), _subject(row))
        for row in rows
        for name in _TIMES
        if (value := number(row.get(name, ""))) is not None
    ]
    if timed and times:
        longest, what, who = max(times)
        parsed.note(
            f"since the statistics were reset PostgreSQL waited longest for {what}s of {who}: {longest / 1e3:,.3g} s"
        )
