"""Intervals of samplers, kept as columns: a day of `vmstat 1` is 86,400 lines, and each has several."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, overload

import numpy as np
from msgspec import Struct, field

#: A level that is not known.
NO_LEVEL = -(2**63)
NO_LEVELS: Mapping[str, int | None] = {}

Key: TypeAlias = tuple[tuple[str, object], ...]


class Interval(Struct, frozen=True):
    """What happened in one interval, for the *_samples tables, whose counters are cumulative.

    `counters` hold the change within the interval (rate times length), `levels` the value at its
    end; `key` distinguishes the things ({"dev": n}, {"cpu": 3}, {}). Diagnosis adds the intervals up.
    """

    table: str
    key: Mapping[str, object]
    start_ns: int
    interval_ns: int
    counters: Mapping[str, float]
    levels: Mapping[str, int | None] = field(default_factory=dict)


class Columns(Struct):
    """Intervals of one table, key and set of counters. `levels` hold NO_LEVEL where one is not known."""

    table: str
    key: Key
    starts: "array[int]"
    lengths: "array[int]"
    counters: "dict[str, array[float]]"
    levels: "dict[str, array[int]]"

    def at(self, index: int) -> Interval:
        """One of them."""
        return Interval(
            self.table,
            dict(self.key),
            self.starts[index],
            self.lengths[index],
            {name: values[index] for name, values in self.counters.items()},
            {
                name: None if values[index] == NO_LEVEL else values[index]
                for name, values in self.levels.items()
            },
        )


class Intervals(Sequence[Interval]):
    """A list of intervals that takes a tenth of the memory."""

    def __init__(self) -> None:
        self._groups: dict[tuple[str, Key, tuple[str, ...], tuple[str, ...]], int] = {}
        self._columns: list[Columns] = []
        #: Which group each is of, and its place there.
        self._order: array[int] = array("I")
        self._places: array[int] = array("I")

    def append(self, one: Interval) -> None:
        """Add one."""
        self.add(one.table, one.key, one.start_ns, one.interval_ns, one.counters, one.levels)

    def add(
        self,
        table: str,
        key: Mapping[str, object],
        start_ns: int,
        interval_ns: int,
        counters: Mapping[str, float],
        levels: Mapping[str, int | None] = NO_LEVELS,
    ) -> None:
        """Add one, by the fields of `Interval`."""
        columns = self._of(table, tuple(sorted(key.items())), counters, levels)
        columns.starts.append(start_ns)
        columns.lengths.append(interval_ns)
        for name, value in counters.items():
            columns.counters[name].append(value)
        for name, level in levels.items():
            columns.levels[name].append(NO_LEVEL if level is None else level)

    def extend(
        self,
        table: str,
        key: Mapping[str, object],
        starts: Any,
        interval_ns: int,
        counters: Mapping[str, Any],
        levels: Mapping[str, Any] | None = None,
    ) -> None:
        """Add many of one length, as arrays of numpy."""
        levels = levels or {}
        columns = self._of(
            table, tuple(sorted(key.items())), tuple(counters), tuple(levels), len(starts)
        )
        columns.starts.frombytes(np.asarray(starts, np.int64).tobytes())
        columns.lengths.frombytes(np.full(len(starts), interval_ns, np.int64).tobytes())
        for name, values in counters.items():
            columns.counters[name].frombytes(np.asarray(values, np.float64).tobytes())
        for name, values in levels.items():
            known = np.asarray(values)
            if known.dtype.kind == "f":
                known = np.where(np.isfinite(known), known, NO_LEVEL)
            columns.levels[name].frombytes(known.astype(np.int64).tobytes())

    def _of(
        self,
        table: str,
        key: Key,
        counters: Iterable[str],
        levels: Iterable[str],
        more: int = 1,
    ) -> Columns:
        names = (table, key, tuple(counters), tuple(levels))
        index = self._groups.get(names)
        if index is None:
            index = self._groups[names] = len(self._columns)
            self._columns.append(
                Columns(
                    table,
                    key,
                    array("q"),
                    array("q"),
                    {name: array("d") for name in names[2]},
                    {name: array("q") for name in names[3]},
                )
            )
        columns = self._columns[index]
        for place in range(len(columns.starts), len(columns.starts) + more):
            self._order.append(index)
            self._places.append(place)
        return columns

    def groups(self) -> Sequence[Columns]:
        """All of them, by table, key and set of counters."""
        return self._columns

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Interval]:
        for index, place in zip(self._order, self._places, strict=True):
            yield self._columns[index].at(place)

    @overload
    def __getitem__(self, at: int) -> Interval: ...

    @overload
    def __getitem__(self, at: slice) -> list[Interval]: ...

    def __getitem__(self, at: int | slice) -> Interval | list[Interval]:
        if isinstance(at, slice):
            return [self[index] for index in range(*at.indices(len(self)))]
        return self._columns[self._order[at]].at(self._places[at])

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Intervals | list):
            return len(self) == len(other) and all(
                mine == theirs for mine, theirs in zip(self, other, strict=True)
            )
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]
