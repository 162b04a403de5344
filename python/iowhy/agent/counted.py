"""What one interval came to, as `iowhy-record aggregate` says it: a line of JSON (agent/src/interval.rs)."""

from collections.abc import Mapping, Sequence

import msgspec
from msgspec import Struct, field

#: Of the last bucket of a histogram, which is open: 2^63 - 1.
OPEN_NS = 2**63 - 1
#: From here on times are in the open bucket.
LONGEST_NS = 2**36
#: Up to here they are in the first.
SHORTEST_NS = 2**10


class Latency(Struct, frozen=True):
    """Times of one kind, of one control group on one device. `up_to_ns` and `counts`: the buckets that hold any, by the
    first time that is too long for each. `id` is the container's or service's, `service` what it is called; `namespace`, `pod` and
    `container` are of a container. None: not known, or none."""

    measure: str
    name: str | None
    service: str | None
    path: str | None
    dev: int | None
    count: int
    untimed: int
    sum_ns: int
    bytes: int
    up_to_ns: Sequence[int]
    counts: Sequence[int]
    id: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None


class Count(Struct, frozen=True):
    """How often something happened, of one control group on one device; whose it is as in Latency."""

    name: str
    service: str | None
    path: str | None
    dev: int | None
    count: int
    bytes: int
    id: str | None = None
    namespace: str | None = None
    pod: str | None = None
    container: str | None = None


class Disk(Struct, frozen=True):
    """One disk in the interval; `utilisation` is the share of it with a request in flight, None if not known."""

    dev: int
    reads: int
    writes: int
    read_bytes: int
    written_bytes: int
    utilisation: float | None


class Known(Struct, frozen=True):
    """What an interval says of one disk, from what is usual for it (devices.py). `silent_ns`: for how long a request had no answer, while
    others took a fiftieth or there was none. `ceiling`: what it does at its ceiling, in words; None: it is at none, or that is not
    known. `slower`: how many times longer requests take than in its own week, None if not known."""

    silent_ns: int = 0
    ceiling: str | None = None
    slower: float | None = None


class Interval(Struct, frozen=True):
    """One interval. `pressure`: the share of it that tasks stalled, by resource and kind (`io`, `some`). `waiting`: threads
    in uninterruptible sleep at its end. `closed`: recordings that were closed. `failed`: why it is in no recording, or
    only in a part of one. `lacking`: sensors that do not run, and why. `known`: of disks, by their numbers, what the agent makes of it."""

    at_ns: int
    interval_ns: int
    latencies: Sequence[Latency]
    counts: Sequence[Count]
    pressure: Mapping[str, Mapping[str, float]]
    disks: Sequence[Disk]
    waiting: int | None
    lost: int
    devices: Mapping[int, str]
    mounts: Mapping[int, str]
    closed: Sequence[str]
    failed: str | None = None
    lacking: Mapping[str, str] = field(default_factory=dict)
    known: Mapping[int, Known] = field(default_factory=dict)


def read(line: str) -> Interval:
    """Takes one line apart."""
    return msgspec.json.decode(line, type=Interval)


def lower_ns(up_to_ns: int) -> int:
    """The shortest time of the bucket that ends there."""
    if up_to_ns == OPEN_NS:
        return LONGEST_NS
    if up_to_ns <= SHORTEST_NS:
        return 0
    # Four buckets to a power of two: an end is (5, 6, 7 or 8) << n.
    power = up_to_ns.bit_length() - 1
    return up_to_ns - (1 << power - (3 if up_to_ns == 1 << power else 2))


def percentile_ns(latencies: Sequence[Latency], percent: float) -> int | None:
    """What `100 - percent` of 100 of these times are at least as long as, for certain: the lower end of the bucket that
    the percentile is in. None: there are no times."""
    buckets: dict[int, int] = {}
    for latency in latencies:
        for up_to, count in zip(latency.up_to_ns, latency.counts, strict=True):
            buckets[up_to] = buckets.get(up_to, 0) + count
    total, passed = sum(buckets.values()), 0
    for up_to in sorted(buckets):
        passed += buckets[up_to]
        if passed * 100 >= percent * total:
            return lower_ns(up_to)
    return None
