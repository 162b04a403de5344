"""Aggregate rates and changes of intervals into the cumulative counters that the schema has.

Where two parts cover the same time, one of them is taken.
"""

from array import array
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct

from iowhy.recordings.schema import tables as schema_tables
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Part
from iowhy.sources.intervals import NO_LEVEL, Columns, Intervals
from iowhy.sources.snapshots import intervals_of_snapshots

_Key: TypeAlias = tuple[str, tuple[tuple[str, object], ...]]


class _Series(Struct):
    """All intervals of one table and key from one part, in time order; arrays of one length."""

    format: str
    starts: Any
    lengths: Any
    counters: dict[str, Any]
    levels: dict[str, Any]

    def worth(self) -> tuple[int, int]:
        return len(self.starts), len(self.counters)

    def span(self) -> tuple[int, int]:
        return int(self.starts[0]), int(self.starts[-1] + self.lengths[-1])


def _series(form: str, groups: Sequence[Columns], offset: int, cpus: int | None) -> _Series:
    """Groups of one table and key as one series; what some intervals lack is NaN, or NO_LEVEL."""

    def joined(
        name: str, of: "Callable[[Columns], Mapping[str, array[Any]]]", none: float, kind: type
    ) -> Any:
        return np.concatenate(
            [
                np.array(of(group)[name], kind)
                if name in of(group)
                else np.full(len(group.starts), none, kind)
                for group in groups
            ]
        )

    starts = np.concatenate([np.array(group.starts, np.int64) for group in groups]) + offset
    order = np.argsort(starts, kind="stable")
    lengths = np.concatenate([np.array(group.lengths, np.int64) for group in groups])
    counters = {
        name: joined(name, lambda group: group.counters, np.nan, np.float64)[order]
        for name in dict.fromkeys(name for group in groups for name in group.counters)
    }
    levels = {
        name: joined(name, lambda group: group.levels, NO_LEVEL, np.int64)[order]
        for name in dict.fromkeys(name for group in groups for name in group.levels)
    }
    first = groups[0]
    if first.table == "cpu_samples" and dict(first.key).get("cpu") == -1 and cpus:
        # Tools print all CPUs' mean in percent; the kernel's counters are the sum.
        counters = {name: values * cpus for name, values in counters.items()}
    return _Series(form, starts[order], lengths[order], counters, levels)


def aggregate(
    parts: Sequence[Part], offsets: Sequence[int], cpus: int | None
) -> tuple[dict[str, StoredRows], list[str]]:
    """The counters by table, and notes on what was left out.

    `offsets` (ns) puts each part on the time line; `cpus` is the number of CPUs where a part has none.
    """
    groups: dict[_Key, list[_Series]] = defaultdict(list)

    def gather(form: str, intervals: Intervals, offset: int, count: int | None) -> None:
        mine: dict[_Key, list[Columns]] = defaultdict(list)
        for columns in intervals.groups():
            mine[columns.table, columns.key].append(columns)
        for key, found in mine.items():
            groups[key].append(_series(form, found, offset, count))

    for part, offset in zip(parts, offsets, strict=True):
        own = part.parsed.host.get("cpus")
        gather(part.format, part.parsed.intervals, offset, own if isinstance(own, int) else cpus)
    copied, notes = intervals_of_snapshots(parts)
    gather("/proc", copied, 0, None)
    rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for (table, key_items), series in groups.items():
        taken: list[_Series] = []
        for candidate in sorted(series, key=_Series.worth, reverse=True):
            start, end = candidate.span()
            clash = next((c for c in taken if start < c.span()[1] and c.span()[0] < end), None)
            if clash is None:
                taken.append(candidate)
            else:
                note = (
                    f"{table} of {candidate.format} left out: {clash.format} covers the same time"
                )
                if note not in notes:
                    notes.append(note)
        taken.sort(key=lambda c: c.span())
        rows[table].append(_counters(dict(key_items), taken))
    return {table: _stored(table, pieces) for table, pieces in rows.items()}, notes


#: Counters are signed 64-bit.
_COUNTER_MAX = 2.0**62


def _counters(key: dict[str, object], series: Sequence[_Series]) -> dict[str, Any]:
    """Cumulative rows: one at the start of each stretch of time, one at the end of each interval."""
    names = [
        name
        for name in series[0].counters
        if all(name in one.counters and not np.isnan(one.counters[name]).any() for one in series)
    ]
    levels = dict.fromkeys(name for one in series for name in one.levels)
    starts = np.concatenate([one.starts for one in series])
    ends = starts + np.concatenate([one.lengths for one in series])
    changes = {name: np.concatenate([one.counters[name] for one in series]) for name in names}
    # More than a counter can hold is damage, not load.
    sound = np.ones(len(starts), dtype=bool)
    for values in changes.values():
        if np.abs(np.cumsum(values)).max() > _COUNTER_MAX:
            sound &= np.abs(values) <= _COUNTER_MAX / len(values)
    starts, ends = starts[sound], ends[sound]
    begins = np.ones(len(starts), dtype=bool)
    begins[1:] = starts[1:] > ends[:-1]
    # Where each interval's row comes, and, before it, the row of a stretch that begins with it.
    at = np.arange(len(starts)) + np.cumsum(begins)
    first = at[begins] - 1
    count = len(starts) + len(first)

    def laid(values: Any, before: Any, kind: type = np.int64) -> Any:
        whole: Any = np.empty(count, kind)
        whole[at], whole[first] = values, before
        return whole

    columns: dict[str, Any] = {"ts_ns": laid(ends, starts[begins])}
    for name, value in key.items():
        columns[name] = np.full(count, value, object if isinstance(value, str) else np.int64)
    for name in levels:
        values = np.concatenate(
            [one.levels.get(name, np.full(len(one.starts), NO_LEVEL)) for one in series]
        )
        whole = laid(values[sound], NO_LEVEL)
        columns[name] = np.ma.masked_equal(whole, NO_LEVEL)
    for name, values in changes.items():
        running = np.cumsum(values[sound])
        before = (running - values[sound])[begins]
        before[:1] = 0.0
        # The total before a stretch is that of the interval before it, to the bit.
        places = np.flatnonzero(begins)[1:] - 1
        before[1:] = running[places]
        columns[name] = np.rint(laid(running, before, np.float64)).astype(np.int64)
    return columns


def _stored(table: str, pieces: Sequence[Mapping[str, Any]]) -> StoredRows:
    """Columns one below the other, unknown where a piece has none."""
    types = {column.name: column.sql_type for column in schema_tables()[table].columns}
    joined = {}
    for name in dict.fromkeys(name for piece in pieces for name in piece):
        of = [piece.get(name, _unknown(len(piece["ts_ns"]))) for piece in pieces]
        joined[name] = np.ma.concatenate(of)  # type: ignore[no-untyped-call]
    return StoredRows.of(joined, {name: types[name] for name in joined})


def _unknown(count: int) -> Any:
    return np.ma.masked_array(np.zeros(count, np.int64), True)
