"""A ceiling of requests or bytes a second that is not the device's own: a token bucket in front of it."""
# long: one ceiling, by all that shows whose it is

import math

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.whys.facts import below_ceiling
from iowhy.whys.facts.below_ceiling import Below, OwnCount
from iowhy.whys.facts.ceiling_requests import (
    FREELY,
    PASSED,
    PASSED_BY_CLOCK,
    Held,
    Quick,
    clock,
    idle_ns,
    parts,
    quick,
    thinks,
)
from iowhy.whys.facts.devices import turns

#: At the ceiling, at least so long and so many slices (fewer if single requests come as by a clock).
LEAST_NS = 1_000_000_000
SLICES = 4
#: What single requests show without those.
SINGLE = ("alone", "passed", "counted")
#: Of the time in which requests queue and the rate is not above the ceiling, at the ceiling.
STEADY = 0.7
#: Requests at once that a device can serve if it has a rate and answers one alone so quickly: rate times latency (Little's law). From 1 on that
#: may be the device's own limit; a quarter of the requests alone are that much quicker than their mean.
PARALLEL = 0.6
#: How much longer a request takes at the ceiling than alone.
LONGER = 2.0
#: Requests alone, from which their median counts; by a device's counters, whose means hide more.
ALONE = 5
QUIET = 32
#: Faster than the ceiling, so long, and in so many slices.
ABOVE_NS, ABOVE_SLICES = 500_000_000, 2.0
#: Of what is faster, after the ceiling was reached and without rest, at most: a slice may hold the end of a rest.
AGAIN = 0.2
#: A token bucket lets requests through as evenly as a clock; what a device does takes now more, now less time: of n requests in a slice the
#: rate deviates by UNEVEN / sqrt(n), at least.
EVEN = 0.02
UNEVEN = 0.3
#: Of the time of a request: no device takes the same for each within this; a bucket that lets them through does.
CLOCK = 0.12
#: Requests in flight at the ceiling, from which one that finds the device idle waits for less than the others; and of their time, from which it
#: takes as long.
QUEUES = 2.0
AS_LATE = 0.75
#: How much longer that must be where only an even rate, and no clock, shows the ceiling.
MUCH_LONGER = 3.0
#: Requests at once that even a simple flash disk serves.
CHANNELS = 3.0
SMALL_BYTES = 32 * 1024
#: No disk that turns answers so quickly at random places.
QUICK_NS = 3e6
#: A flush empties a cache; what waits for it is not at a ceiling.
FLUSHES = 0.2
#: Of a sum: how much more than that its parts vary.
PARTS = 3.0
#: And what each does of it there, at least: else it is one of them that is held.
PART = 0.1
#: A ceiling is measured within that.
NEAR = 0.03


class Rates(Held, frozen=True):
    """A row of the relation device_ceilings."""

    slices: int
    at_ns: int
    busy_ns: int
    spread: float
    each_slice: float
    below_ns: int
    flush_share: float | None
    depth: float
    sizes: float | None
    above_ns: int
    again_ns: int
    above_per_s: float | None
    above_last_ns: int | None
    quiet_requests: int
    quiet_wait_ns: float | None
    parts_vary: float | None
    least_part: float | None

    @property
    def share(self) -> float:
        """Of the busy time, at the ceiling."""
        return min(1.0, self.at_ns / max(self.busy_ns, 1))

    @property
    def above(self) -> bool:
        """Whether it was above the ceiling for long. A single slice may hold a short burst, and then the ceiling."""
        per_s = self.requests_per_s * (self.above_per_s or 0.0) / self.per_s
        slices = per_s * self.above_ns / 1e9 / self.each_slice
        return self.above_ns >= ABOVE_NS and slices >= ABOVE_SLICES

    @property
    def even(self) -> bool:
        """Whether the rate is as even as only a bucket makes it."""
        return self.spread <= min(EVEN, UNEVEN / math.sqrt(self.each_slice))

    @property
    def still(self) -> bool:
        """Whether the rate stands still while requests queue, for however short a time."""
        return self.at_ns >= STEADY * (self.at_ns + self.below_ns)

    @property
    def steady(self) -> bool:
        """Whether it does so long enough, and not for flushes."""
        return self.at_ns >= LEAST_NS and self.still and (self.flush_share or 0.0) < FLUSHES


class Ceiling(Struct, frozen=True):
    """A ceiling that is not the device's own.

    `name` is the device's, `names` those whose sum stands still. `counts`: requests, bytes, or "either", where all requests are of one size.
    `share`: at it, of the device's busy time. `alone_ns`: the same request, if it does not wait for the ceiling; `at_most`: each of them may have waited for it a little. `thinks_ns`: between a thread's request and its next. `above_requests_per_s`:
    what it did for `above_ns` (until `above_until_ns` after the begin of all, where that was at the begin) before or between.
    `by`: what shows that it is not the device's own: counted (the volume counts it itself), alone, burst, passed, even, model. `above`: the device
    that is asked and is on this one; `part`: of what this one moves, what that one does. `own_count`: what the
    volume counts of it.
    """

    dev: int | None
    name: str
    names: tuple[str, ...]
    counts: str
    requests_per_s: float
    bytes_per_s: float
    share: float
    wait_ns: float
    by: str
    alone_ns: float | None
    at_most: bool
    thinks_ns: float
    above_requests_per_s: float | None
    above_ns: int
    above_until_ns: int | None
    size_bytes: int | None
    above: str | None = None
    part: float = 1.0
    own_count: OwnCount | None = None

    @property
    def of_machine(self) -> bool:
        """Whether it is one of all volumes of the machine."""
        return bool(self.names) or (
            self.by == "counted" and self.own_count is not None and self.own_count.of_machine
        )

    @property
    def per_s(self) -> float:
        """What it counts, a second."""
        return self.bytes_per_s if self.counts == "bytes" else self.requests_per_s

    @property
    def unit(self) -> str:
        """The unit of that."""
        return "bytes/s" if self.counts == "bytes" else "1/s"

    @property
    def each_bytes(self) -> float:
        """A request's mean size."""
        return self.bytes_per_s / self.requests_per_s


def _rates(relations: Relations, dev: int | None) -> list[Rates]:
    """Of a device, and of all together."""
    of_device = f"dev = {dev or 0} OR dev IS NULL"
    sql = f"SELECT * EXCLUDE (above_bytes) FROM device_ceilings WHERE {of_device}"
    return relations.read(Rates, sql)


def ceiling(
    relations: Relations,
    dev: int | None,
    *,
    jumps: float | None,
    evidence: Relations | None = None,
) -> Ceiling | None:
    """Of a device or what that is on, the lowest first; else of all together. `jumps`: share of requests that jump. `evidence`: where it is
    looked for how quickly single requests are answered, if that is more than a stretch of time that is looked at.
    """
    if dev is None or not relations.has("disk_samples"):
        return None
    evidence = relations if evidence is None else evidence
    layers = below_ceiling.stack(relations, dev)
    for at in reversed(layers):
        part = 1.0 if at.dev == dev else below_ceiling.part(relations, dev, at.dev)
        found = (
            None
            if part < PART
            else _of(
                relations, evidence, at, below_ceiling.own_count(relations, at.dev), jumps, at.dev
            )
        )
        if found is not None:
            return replace(found, above=None if at.dev == dev else layers[0].name, part=part)
    return _of(relations, evidence, None, None, jumps, dev)


def _of(
    relations: Relations,
    evidence: Relations,
    at: Below | None,
    own_count: OwnCount | None,
    jumps: float | None,
    dev: int,
) -> Ceiling | None:
    """Of one device; of all together if `at` is none."""
    rows = _rates(relations, dev)
    found = [one for one in rows if (one.dev is None) == (at is None) and one.steady]
    if at is None:
        found = [
            one
            for one in found
            if (one.parts_vary or 0) >= PARTS * max(one.spread, 0.01)
            and (one.least_part or 0) >= PART
        ]
    if not found:
        return None
    # What stands still for longer is what is counted.
    longest = max(one.at_ns for one in found)
    most = [one for one in found if one.at_ns >= 0.9 * longest]
    best = min(most, key=lambda one: (one.spread, one.counts != "requests"))
    counts = own_count.counts if own_count is not None and own_count.at_limit else _counts(best)
    near = best.each_bytes / 1.5, best.each_bytes * 1.5
    same = (one for one in found if one.counts == counts and near[0] <= one.each_bytes <= near[1])
    return _made(relations, evidence, next(same, best), counts, jumps, at, own_count)


def stands(relations: Relations, dev: int | None) -> bool:
    """Whether the rate of a device, of what it is on, or of all together stands still: only then is it worth to look for a ceiling elsewhere."""
    if dev is None or not relations.has("disk_samples"):
        return False
    layers = below_ceiling.stack(relations, dev)
    return any(one.still for at in layers for one in _rates(relations, at.dev))


def within(relations: Relations, whole: Ceiling) -> Ceiling | None:
    """A ceiling that all of a recording shows, in a stretch of it: if the rate stands still there, too, at the same height."""
    rows = _rates(relations, whole.dev)
    for one in rows:
        same = one.dev == whole.dev and whole.counts in (one.counts, "either")
        at = whole.bytes_per_s if one.counts == "bytes" else whole.requests_per_s
        near = abs(one.per_s - at) <= NEAR * at
        if same and near and one.still:
            return replace(
                whole,
                requests_per_s=one.requests_per_s,
                bytes_per_s=one.bytes_per_s,
                share=one.share,
                wait_ns=one.wait_ns,
                thinks_ns=thinks(relations, one),
                above_until_ns=None,
            )
    return None


class Standing(Struct, frozen=True):
    """A rate that stands still, of which nothing shows whose limit it is. `spread`: its standard deviation, of the rate."""

    requests_per_s: float
    bytes_per_s: float
    spread: float


def standing(relations: Relations, dev: int | None) -> Standing | None:
    """Of a device of which no request alone is known, and that never did more: its own limit, or one that was bought."""
    if dev is None or relations.has("block_requests") or not relations.has("disk_samples"):
        return None
    rates = [one for one in _rates(relations, dev) if one.dev == dev and one.slices >= SLICES]
    found = [one for one in rates if one.steady and one.even]
    unknown = [one for one in found if one.quiet_requests < QUIET and one.above_ns < ABOVE_NS]
    if not unknown or len(unknown) < len(found):
        return None
    best = min(unknown, key=lambda one: one.spread)
    return Standing(best.requests_per_s, best.bytes_per_s, best.spread)


def _counts(best: Rates) -> str:
    """What the ceiling counts: what stands still although sizes differ, else what a request of that size comes to first."""
    if (best.sizes or 1.0) > 1.2:
        return best.counts
    each = best.each_bytes
    return "requests" if each <= SMALL_BYTES else "bytes" if each >= 4 * SMALL_BYTES else "either"


def _made(
    relations: Relations,
    evidence: Relations,
    one: Rates,
    counts: str,
    jumps: float | None,
    at: Below | None,
    own_count: OwnCount | None,
) -> Ceiling | None:
    """If something shows that it is not the device's own limit."""
    writes, in_order = one.read_share < 0.9, jumps is not None and jumps < 0.3
    if at is not None and turns(at.name, at.rotational) and not at.bought and (writes or in_order):
        # A disk writes from its cache and reads on ahead: it answers the first of these at the speed of its memory.
        return None
    deviates = clock(relations, one)
    timed = deviates is not None and deviates <= CLOCK
    few_slices = one.slices < SLICES
    if few_slices and not timed and not (own_count is not None and own_count.at_limit):
        return None
    if one.depth >= QUEUES and not (own_count is not None and own_count.at_limit):
        # A bucket lets through at once what finds the device idle; what takes as long then is the device's answer.
        idle = idle_ns(relations, one)
        if idle is not None and idle >= AS_LATE * one.wait_ns:
            return None
    below = quick(evidence, one)
    alone, alone_ns = _alone(one, below, timed=timed)
    # Where it was above the ceiling for long, there may be another ceiling.
    passed = below.passed >= (PASSED_BY_CLOCK if timed else PASSED) and not one.above
    enough = alone >= (1 if timed else ALONE)
    known = below.passed_ns if passed else alone_ns if enough else None
    by = _by(one, counts, known, at, own_count, timed=timed, writes=writes, passed=passed)
    if by is None or (few_slices and by not in SINGLE):
        return None
    few = below.freely < FREELY if passed else below.alone < ALONE
    usual_ns = below.freely_ns if passed else below.least_ns if few else below.usual_ns
    names = () if one.dev is not None else tuple(parts(relations, "name", str))
    above = one.above_per_s if one.above else None
    begin = relations.facts.start_ns
    return Ceiling(
        dev=one.dev,
        name=" and ".join(names) if at is None else at.name or f"{at.dev >> 20}:{at.dev & 0xFFFFF}",
        names=names,
        counts=counts,
        requests_per_s=one.requests_per_s,
        bytes_per_s=one.bytes_per_s,
        share=one.share,
        wait_ns=one.wait_ns,
        by=by,
        alone_ns=None if known is None else usual_ns or known,
        at_most=few,
        thinks_ns=thinks(relations, one),
        above_requests_per_s=None if above is None else one.requests_per_s * above / one.per_s,
        above_ns=one.above_ns,
        above_until_ns=None
        if above is None or one.above_last_ns is None
        else one.above_last_ns - begin,
        size_bytes=None if at is None else at.size_bytes,
        own_count=own_count,
    )


def _alone(one: Rates, below: Quick, *, timed: bool) -> tuple[int, float | None]:
    """How many requests found it idle, and how long one takes: by single ones, else by the counters."""
    alone, alone_ns = below.alone, below.alone_ns
    if alone < ALONE and one.quiet_requests >= QUIET:
        alone, alone_ns = one.quiet_requests, one.quiet_wait_ns
    # One of the first may have come late for what else begins then.
    return alone, below.least_ns if timed and alone < ALONE else alone_ns


def _by(
    one: Rates,
    counts: str,
    alone_ns: float | None,
    at: Below | None,
    own_count: OwnCount | None,
    *,
    timed: bool,
    writes: bool,
    passed: bool,
) -> str | None:
    """What shows that the ceiling is not the device's own."""
    if own_count is not None and own_count.at_limit:
        return "counted"
    # A flash disk takes writes into its memory, until that is full: then they come slower, but unevenly.
    even = timed or one.even
    sure = even or not writes
    # What a volume that counts its limits does not count is not what was bought.
    never = own_count is not None and own_count.never
    # Credits that were spent come back while it rests, and not while requests queue.
    spent = one.again_ns <= AGAIN * one.above_ns
    if one.above and spent and sure:
        return "burst"
    if at is not None and at.bought and not never:
        return "model"
    if alone_ns is None or one.wait_ns < LONGER * alone_ns:
        return None
    if passed and sure:
        return "passed"
    parallel = one.requests_per_s * alone_ns / 1e9
    if parallel <= PARALLEL and sure:
        return "alone"
    # As many as its driver gives it at a time, or one head can serve: its own, however even.
    own = at is not None and (
        turns(at.name, at.rotational)
        or (at.at_once is not None and parallel >= PARALLEL * at.at_once)
    )
    small = counts == "requests" and one.each_bytes <= SMALL_BYTES
    seeks = alone_ns >= QUICK_NS and not timed
    if (
        small
        and not (seeks or own or never)
        and parallel < CHANNELS
        and even
        and one.wait_ns >= (LONGER if timed else MUCH_LONGER) * alone_ns
    ):
        return "even"
    return None
