"""A device at work: when it is done with requests that it gets in the order of time."""

from bisect import bisect_left, insort
from collections.abc import Sequence
from heapq import heapreplace
from typing import Protocol

from msgspec import Struct

from iowhy.model.device_kind import Device

READ, WRITE, FLUSH = 0, 1, 2


class Request(Struct, frozen=True, gc=False):
    """One request: where it begins, and how long it took when it was recorded."""

    number: int
    kind: int
    begin: int
    bytes: int
    took_ns: float


class Medium(Protocol):
    """`submit` says when the request is done, or None: then `next_ns` is when to ask `advance`."""

    next_ns: float | None

    def submit(self, now: float, one: Request) -> float | None:
        """Takes a request."""

    def advance(self, now: float) -> tuple[int, float]:
        """The number of the request that is begun now, and when it is done."""


class AsRecorded:
    """A request takes as long as it did, times a factor by its kind."""

    next_ns: float | None = None

    def __init__(self, factors: tuple[float, float, float] = (1.0, 1.0, 1.0)) -> None:
        self._factors = factors

    def submit(self, now: float, one: Request) -> float | None:
        """Takes a request."""
        return now + one.took_ns * self._factors[one.kind]

    def advance(self, now: float) -> tuple[int, float]:
        """It keeps none waiting."""
        raise NotImplementedError


class Cached:
    """What is in a volatile cache, as the time that the medium has to work on it. It does when nothing else is to be done.

    `ways` are by a request's number the bytes from the write before it on the medium.
    """

    def __init__(self, device: Device, ways: Sequence[float]) -> None:
        self._device, self._ways = device, ways
        self._most = device.cache_mib * 1048576
        self._bytes = self._left_ns = self._seen_ns = self._bus_ns = 0.0

    def accept(self, now: float, one: Request) -> float:
        """When a write is in the cache, which may have to make room first; its bytes pass after those of the write before."""
        device = self._device
        over = self._bytes + one.bytes - self._most
        room_ns = self._left_ns * min(1.0, over / self._bytes) if over > 0 < self._bytes else 0.0
        self._bytes += one.bytes
        way = device.access_ns(self._ways[one.number]) if device.has_arm else 0.0
        if self._left_ns <= 0:  # the first waits at least until its place comes by
            way = max(way, device.drain_us * 1e3)
        self._left_ns += way + device.moved_ns(one.bytes, read=False)
        self._bus_ns = max(now + room_ns, self._bus_ns) + device.accepted_ns(one.bytes)
        return self._bus_ns

    def idle(self, busy_until: float, now: float) -> None:
        """The medium has had time for it since then, or since it was last seen."""
        spare_ns = now - max(busy_until, self._seen_ns)
        self._seen_ns = now
        if self._left_ns > 0 < spare_ns:
            left = max(0.0, self._left_ns - spare_ns)
            self._bytes *= left / self._left_ns
            self._left_ns = left

    def emptied(self) -> float:
        """How long the medium takes for all of it."""
        took, self._left_ns, self._bytes = self._left_ns, 0.0, 0.0
        return took


class Arm:
    """One request at a time, the next one in one direction; writes go into its cache, if it has one."""

    def __init__(self, device: Device, ways: Sequence[float]) -> None:
        self._device = device
        self._cache = Cached(device, ways) if device.cache_mib else None
        self._free = 0.0
        self._place = 0
        self._waiting: list[tuple[int, int, Request]] = []
        self.next_ns: float | None = None

    def submit(self, now: float, one: Request) -> float | None:
        """Takes a request."""
        if self._cache is not None:
            if not self._waiting:
                self._cache.idle(self._free, now)
            if one.kind == WRITE:
                return self._cache.accept(now, one)
        if one.kind == FLUSH:
            drained = self._cache.emptied() if self._cache else 0.0
            self._free = max(now, self._free) + drained + self._device.flush_us * 1e3
            if self._waiting:
                self.next_ns = self._free
            return self._free
        if now >= self._free and not self._waiting:
            return self._begin(now, one)
        insort(self._waiting, (one.begin, one.number, one))
        self.next_ns = self._free
        return None

    def _begin(self, now: float, one: Request) -> float:
        distance = abs(one.begin - self._place)
        # What follows at once passes at once.
        way = self._device.access_ns(distance) if distance or now > self._free else 0.0
        self._free = now + way + self._device.moved_ns(one.bytes, read=one.kind == READ)
        self._place = one.begin + one.bytes
        return self._free

    def advance(self, now: float) -> tuple[int, float]:
        """Begins the next request."""
        at = bisect_left(self._waiting, (self._place,))
        _, number, one = self._waiting.pop(at if at < len(self._waiting) else 0)
        done = self._begin(max(now, self._free), one)
        self.next_ns = done if self._waiting else None
        return number, done


class Channels:
    """Several requests at once, whose bytes pass one after the other."""

    next_ns: float | None = None

    def __init__(self, device: Device, ways: Sequence[float]) -> None:
        self._device = device
        self._cache = Cached(device, ways) if device.cache_mib else None
        self._free = [0.0] * device.parallel
        self._bus = self._next = self._last = 0.0
        self._place = 0

    def submit(self, now: float, one: Request) -> float | None:
        """Takes a request."""
        device = self._device
        if device.requests_per_s is not None and one.kind != FLUSH:
            now = max(now, self._next)
            self._next = now + 1e9 / device.requests_per_s
        if one.kind == FLUSH:
            quiet = max(now, self._last)
            if self._cache:
                self._cache.idle(self._bus, now)
                quiet += self._cache.emptied()
            end = quiet + device.flush_us * 1e3
            self._free = [max(end, one) for one in self._free]
            self._bus = self._last = end
            return end
        if one.kind == WRITE and self._cache:
            self._cache.idle(self._bus, now)
            return self._cache.accept(now, one)
        way = abs(one.begin - self._place)
        self._place = one.begin + one.bytes
        first = device.access_ns(way) if one.kind == READ else device.write_us * 1e3
        found = max(now, self._free[0]) + first
        end = max(found, self._bus) + device.moved_ns(one.bytes, read=one.kind == READ)
        heapreplace(self._free, end)
        self._bus = end
        self._last = max(self._last, end)
        return end

    def advance(self, now: float) -> tuple[int, float]:
        """It keeps none waiting."""
        raise NotImplementedError


def medium_of(device: Device, ways: Sequence[float] = ()) -> Medium:
    """A device at rest; one that has an arm and a cache needs the `ways` of writes."""
    return Arm(device, ways) if device.has_arm else Channels(device, ways)
