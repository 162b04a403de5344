"""Puts the parts on one time line."""

from collections import defaultdict
from collections.abc import Sequence
from typing import cast

import numpy as np

from iowhy.recordings.schema import tables as schema_tables
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Parsed, Part
from iowhy.sources.numbers import NS_PER_S

#: Columns that hold a point in time (durations and sums end in _ns too).
_TIMES = ("ts_ns", "queue_ns", "issue_ns", "complete_ns", "start_ns", "end_ns")
_NOT_TIMES = {("disk_samples", "queue_ns")}


def offsets(parts: Sequence[Part]) -> tuple[list[int], int | None, list[str]]:
    """What to add to each part's times so that all begin near 0; the wall time of 0; notes.

    Dated parts keep their distances. Undated ones start at 0, and a second undated output of the same tool comes
    after the first: two outputs of one tool are hardly ever of the same seconds.
    """
    spans = [span_of(part.parsed) for part in parts]
    base: dict[str, int] = {}
    for part, span in zip(parts, spans, strict=True):
        if span is not None and part.parsed.clock != "own":
            clock = part.parsed.clock
            base[clock] = min(base.get(clock, span[0]), span[0])
    after: dict[str, int] = defaultdict(int)
    found = []
    for part, span in zip(parts, spans, strict=True):
        if span is None:
            found.append(0)
        elif part.parsed.clock != "own":
            found.append(-base[part.parsed.clock])
        else:
            offset = after[part.format] - min(span[0], 0)
            found.append(offset)
            after[part.format] = offset + max(span[1], span[0] + NS_PER_S)
    notes = []
    clocks = {part.parsed.clock for part, span in zip(parts, spans, strict=True) if span}
    if len(clocks) > 1:
        notes.append("not all inputs are dated: they are taken to begin at the same time")
    elif clocks == {"own"} and len({part.format for part in parts}) > 1:
        notes.append("the inputs are not dated: they are taken to begin at the same time")
    return found, base.get("wall"), notes


def span_of(parsed: Parsed) -> tuple[int, int] | None:
    """First and last time in a part (with what begins then), None when nothing in it is dated."""
    low: list[int] = []
    high: list[int] = []
    for columns in parsed.intervals.groups():
        starts = np.array(columns.starts)
        low.append(int(starts.min()))
        high.append(int((starts + np.array(columns.lengths)).max()))
    for name, rows in parsed.tables.items():
        for column in _time_columns(name):
            lengths = ("interval_ns", "dur_ns") if column == "ts_ns" else ()
            if isinstance(rows, StoredRows):
                if column in rows.columns:
                    ends = [f"{column} + {name}" for name in lengths if name in rows.columns]
                    listed = ", ".join(
                        [f"min({column})", f"max({column})", *(f"max({end})" for end in ends)]
                    )
                    first, *last = rows.value(f"[{listed}]")
                    low += [] if first is None else [first]
                    high += [end for end in last if end is not None]
            else:
                for row in rows:
                    time = row.get(column)
                    if isinstance(time, int):
                        low.append(time)
                        high.append(time)
                        for length in lengths:
                            extra = row.get(length)
                            if isinstance(extra, int):
                                high.append(time + extra)
    return (min(low), max(high)) if low else None


def _time_columns(table: str) -> list[str]:
    known = schema_tables().get(table)
    if known is None:
        return []
    names = {column.name for column in known.columns}
    return [c for c in _TIMES if c in names and (table, c) not in _NOT_TIMES]


def shift(
    table: str, rows: list[dict[str, object]] | StoredRows, offset: int
) -> list[dict[str, object]] | StoredRows:
    """The rows of a table with `offset` (ns) added to each of their times."""
    columns = _time_columns(table)
    if offset == 0 or not columns:
        return rows
    if isinstance(rows, StoredRows):
        there = [column for column in columns if column in rows.columns]
        return rows.replace({column: f"{column} + ({offset})" for column in there})
    shifted = []
    for row in rows:
        moved_row = dict(row)
        for column in columns:
            if row.get(column) is not None:
                moved_row[column] = cast(int, row[column]) + offset
        shifted.append(moved_row)
    return shifted
