"""Intervals from two snapshots of a /proc file: the differences of counters since boot.

The time between the snapshots is not in them. When /proc/stat is among them, its ticks give it:
each CPU's states together pass as fast as time does.
"""

from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import TypeAlias

from iowhy.sources.format import Interval, Part, Snapshot
from iowhy.sources.intervals import Intervals
from iowhy.sources.numbers import NS_PER_S

Key: TypeAlias = tuple[tuple[str, object], ...]


def intervals_of_snapshots(parts: Sequence[Part]) -> tuple[Intervals, list[str]]:
    """Intervals over all files in their order; notes on what is assumed.

    /proc/stat and /proc/vmstat both fill vm_samples: intervals of the same snapshots become one.
    """
    series: dict[tuple[str, str, Key], list[Snapshot]] = defaultdict(list)
    for part in parts:
        for snapshot in part.parsed.snapshots:
            key = tuple(sorted(snapshot.key.items()))
            series[part.format, snapshot.table, key].append(snapshot)
    lengths = _lengths(series)
    found: dict[tuple[str, Key, int, int], Interval] = {}
    notes: list[str] = []

    def note(text: str) -> None:
        if text not in notes:
            notes.append(text)

    for (form, table, key), snapshots in series.items():
        if len(snapshots) < 2:
            note(f"one copy for {form} has only counters since boot: not taken for load")
        start = 0
        for at, (before, after) in enumerate(pairwise(snapshots)):
            length = lengths[at] if at < len(lengths) else NS_PER_S
            if at >= len(lengths):
                note(f"the time between the copies for {form} is not shown: 1 s is assumed")
            shared = before.counters.keys() & after.counters.keys()
            changes: dict[str, float] = {
                name: after.counters[name] - before.counters[name] for name in shared
            }
            if any(change < 0 for change in changes.values()):
                note(f"counters of {form} ran backwards: the copies are not in order")
            else:
                levels = dict(after.levels)
                same = found.get((table, key, start, length))
                if same is not None:
                    changes = {**same.counters, **changes}
                    levels = {**same.levels, **levels}
                found[table, key, start, length] = Interval(
                    table, dict(key), start, length, changes, levels
                )
            start += length
    intervals = Intervals()
    for one in found.values():
        intervals.append(one)
    return intervals, notes


def _lengths(series: dict[tuple[str, str, Key], list[Snapshot]]) -> list[int]:
    """Nanoseconds between the snapshots, from the ticks of one CPU."""
    for (_, table, key), snapshots in series.items():
        if table == "cpu_samples" and dict(key).get("cpu") not in (None, -1):
            ticks_ns = [sum(snapshot.counters.values()) for snapshot in snapshots]
            return [max(after - before, 1) for before, after in pairwise(ticks_ns)]
    return []
