"""What is usual for each disk, to compare an interval with: its latency at low load, a ceiling, its own week.

A few numbers for each disk, kept over restarts; nothing of it is rows of a recording.
"""

import json
import math
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from statistics import median

from msgspec import Struct

from iowhy.agent.counted import Disk, Interval, Known, Latency, percentile_ns

STATE = ".devices.json"
#: Disks that are known at most: numbers of those that come and go would pile up.
MOST = 256
HOUR_S, HOURS = 3600, 168
#: Requests of an interval from which their percentiles say something.
LEAST = 20
#: In flight on average, up to which a request waits for no other, and from which many do.
SHALLOW, DEEP = 1.5, 4.0
#: Of the interval with a request in flight, from which a disk is busy all the time.
BUSY = 0.95
#: A ceiling: so many intervals whose rates differ by no more, and in which requests take so many times longer than at low load.
PLATEAU, SPREAD, LONGER = 3, 0.05, 5.0
#: Intervals that the low load is the median of.
QUIET = 64
#: Of what is usual of an hour, the part that a new interval has.
WEIGHT = 1 / 32
#: Intervals of an hour of the week, and of all, from which they are known.
KNOWN_HOUR, KNOWN_WEEK = 30, 360
#: A request that took this many times the median while nothing else did: the disk stood still.
STANDS_OUT = 50
_SIZES = (16 << 10, 128 << 10)


class Usual(Struct):
    """Of one hour of the week: intervals, and logarithms of the median and of the 99th percentile."""

    count: int = 0
    middle: float = 0.0
    high: float = 0.0

    def add(self, middle: float, high: float) -> None:
        """One more interval; the older ones count less and less."""
        self.count += 1
        weight = max(WEIGHT, 1 / self.count)
        self.middle += weight * (middle - self.middle)
        self.high += weight * (high - self.high)


class _Disk:
    def __init__(self) -> None:
        self.silent_ns = 0
        self.quiet: deque[float] = deque(maxlen=QUIET)
        self.rates: deque[tuple[float, float]] = deque(maxlen=PLATEAU)
        #: By kind (operation and size) and hour of the week.
        self.week: dict[str, dict[int, Usual]] = {}


class Devices:
    """What is usual for each disk; kept in `folder`, if one is given."""

    def __init__(self, folder: Path | None = None, clock: Callable[[], float] = time.time) -> None:
        self._path = None if folder is None else folder / STATE
        self._clock = clock
        self._disks: dict[str, _Disk] = {}
        self._written = clock()
        self._read()

    def look(self, interval: Interval) -> dict[int, Known]:
        """What this interval says of each disk, and takes it to what is usual."""
        found = {disk.dev: self._known(interval, disk) for disk in interval.disks}
        if self._clock() - self._written >= HOUR_S:
            self.keep()
        return found

    def _known(self, interval: Interval, disk: Disk) -> Known:
        # Numbers of disks are others after a restart.
        name = interval.devices.get(disk.dev, str(disk.dev))
        if name not in self._disks and len(self._disks) >= MOST:
            del self._disks[next(iter(self._disks))]
        one = self._disks.setdefault(name, _Disk())
        rows = [
            row for row in interval.latencies if row.measure == "request" and row.dev == disk.dev
        ]
        moved = [row for row in rows if row.name in ("read", "write") and row.count > row.untimed]
        return Known(
            _silent_ns(one, interval, disk, rows),
            _ceiling(one, interval, disk, moved),
            _slower(one, moved, int(self._clock() // HOUR_S) % HOURS),
        )

    def keep(self) -> None:
        """Writes down what is usual; where that does not work it is learnt again."""
        self._written = self._clock()
        if self._path is None:
            return
        made = {
            name: {
                "quiet": list(disk.quiet),
                "week": {
                    kind: {hour: [one.count, one.middle, one.high] for hour, one in hours.items()}
                    for kind, hours in disk.week.items()
                },
            }
            for name, disk in self._disks.items()
        }
        with suppress(OSError):
            new = self._path.with_name(self._path.name + ".tmp")
            new.write_text(json.dumps(made), "utf-8")
            new.replace(self._path)

    def _read(self) -> None:
        """A damaged file counts as nothing known."""
        if self._path is None:
            return
        try:
            for name, kept in json.loads(self._path.read_text("utf-8")).items():
                disk = _Disk()
                disk.quiet.extend(map(float, kept["quiet"]))
                disk.week = {
                    str(kind): {
                        int(hour): Usual(int(n), float(a), float(z))
                        for hour, (n, a, z) in hours.items()
                    }
                    for kind, hours in kept["week"].items()
                }
                self._disks[str(name)] = disk
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            self._disks = {}


def _silent_ns(one: _Disk, interval: Interval, disk: Disk, rows: Sequence[Latency]) -> int:
    """A whole interval with requests of which none completed, and those before it; else a request that outlasts all others."""
    completed = disk.reads + disk.writes + sum(row.count for row in rows)
    if not completed:
        busy = disk.utilisation is not None and disk.utilisation >= BUSY
        one.silent_ns = one.silent_ns + interval.interval_ns if busy else 0
        return one.silent_ns
    before, one.silent_ns = one.silent_ns, 0
    middle, longest = percentile_ns(rows, 50), percentile_ns(rows, 100)
    if middle is None or longest is None or longest < STANDS_OUT * max(middle, 1):
        return before
    return max(before, longest)


def _ceiling(one: _Disk, interval: Interval, disk: Disk, rows: Sequence[Latency]) -> str | None:
    """The rate stands still while requests queue, and each takes far longer than when few are there."""
    count = sum(row.count - row.untimed for row in rows)
    if count < LEAST:
        one.rates.clear()
        return None
    time_ns = sum(row.sum_ns for row in rows)
    depth, each_ns = time_ns / interval.interval_ns, time_ns / count
    if depth <= SHALLOW:
        one.quiet.append(each_ns)
    busy = disk.utilisation is not None and disk.utilisation >= BUSY
    if not busy or depth < DEEP:
        one.rates.clear()
        return None
    per_s = 1e9 / interval.interval_ns
    one.rates.append(
        ((disk.reads + disk.writes) * per_s, (disk.read_bytes + disk.written_bytes) * per_s)
    )
    if len(one.rates) < PLATEAU or not one.quiet:
        return None
    usual_ns = median(one.quiet)
    of_requests, of_bytes = (_stands_still([pair[at] for pair in one.rates]) for at in (0, 1))
    if each_ns < LONGER * usual_ns or not (of_requests or of_bytes):
        return None
    from iowhy import units

    requests, bytes_ = one.rates[-1]
    rate = f"{units.count(requests)} requests/s" if of_requests else units.rate(bytes_)
    return (
        f"{rate} with {depth:.0f} in flight, {units.duration(each_ns)} each; "
        f"{units.duration(usual_ns)} at low load"
    )


def _stands_still(rates: Sequence[float]) -> bool:
    return min(rates) > 0 and max(rates) - min(rates) <= SPREAD * max(rates)


def _slower(one: _Disk, rows: Sequence[Latency], hour: int) -> float | None:
    """Against the same hour of the week, else against all hours that are known; of requests of one kind and size."""
    worst: float | None = None
    kinds: dict[str, list[Latency]] = {}
    for row in rows:
        kinds.setdefault(str(row.name), []).append(row)
    for name, some in kinds.items():
        count = sum(row.count - row.untimed for row in some)
        middle, high = percentile_ns(some, 50), percentile_ns(some, 99)
        if count < LEAST or middle is None or high is None:
            continue
        size = sum(row.bytes for row in some) / sum(row.count for row in some)
        kind = f"{name} {sum(size > limit for limit in _SIZES)}"
        now = math.log2(max(middle, 1)), math.log2(max(high, 1))
        hours = one.week.setdefault(kind, {})
        usual = _usual(hours, hour)
        hours.setdefault(hour, Usual()).add(*now)
        if usual is not None:
            # Both: one slow request in a hundred, or requests that are slow all in all.
            times = 2.0 ** max(now[0] - usual[0], now[1] - usual[1])
            worst = times if worst is None else max(worst, times)
    return worst


def _usual(hours: Mapping[int, Usual], hour: int) -> tuple[float, float] | None:
    same = hours.get(hour)
    if same is not None and same.count >= KNOWN_HOUR:
        return same.middle, same.high
    known = [one for one in hours.values() if one.count >= KNOWN_HOUR]
    if sum(one.count for one in known) < KNOWN_WEEK:
        return None
    return median(one.middle for one in known), median(one.high for one in known)
