"""A volume stops at a rate that is not its device's own: a limit that was bought, or that a host sets."""
# long: one ceiling is shown in seven ways, and each is a sentence

from msgspec.structs import replace

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, named, next_command, tariffs, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.dirty_throttled import dirty_reasons, fits
from iowhy.whys.chain import chain_of, link
from iowhy.whys.facts import Facts, below_ceiling, ceiling_requests, ceilings
from iowhy.whys.facts.ceilings import Ceiling
from iowhy.whys.facts.io_limits import DeviceLimits
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

#: Of the device's busy time at the ceiling, from which that is looked at; from ALL on all of the waiting is looked at: how long requests took
#: says nothing of the device then.
OFTEN = 0.1
ALL = 0.4
#: The need is said up to so many times the ceiling: beyond that, other limits may be met first.
MOST = 50.0
#: What shows it, and how well.
CONFIDENCE = {
    "counted": 0.97,
    "burst": 0.9,
    "alone": 0.9,
    "passed": 0.9,
    "even": 0.7,
    "model": 0.85,
}


def find(facts: Facts) -> Candidate | None:
    """The rate stands still while requests queue, and they are answered more quickly below it."""
    found = facts.ceiling
    if found is None or found.share < OFTEN:
        return None
    known = facts.budget.known
    paused = _paused(facts)
    waits = facts.budget.elapsed(*classes.STORAGE) + paused
    # CPUs that are full are in no iowait, whoever waits.
    unseen = facts.run.pasted and facts.budget.modes("saturated") >= thresholds.LISTED
    known = known and not (unseen and waits < thresholds.LISTED)
    if known and waits < thresholds.LISTED:
        return None
    if not known and not facts.run.pasted:
        return None
    needed = _needed(found)
    fraction = 1.0 if found.share >= ALL else found.share
    claimed = fraction * (1 - (facts.requests.others_share or 0.0)) * found.part
    claims: tuple[Claim, ...] = (Claim(classes.STORAGE, fraction=claimed),) if known else ()
    if paused:
        dirty = frozenset({classes.THROTTLED})
        claims = (*claims, Claim(dirty, reasons=dirty_reasons(facts), fraction=claimed))
    return Candidate(
        claims=claims,
        chain=_chain(facts, found, needed),
        summary=_says(found, known=known),
        saving=Saving(
            (found.share if fraction == 1.0 else 1.0) * (1 - found.requests_per_s / needed),
            f"with {_limit(found, needed)}",
        ),
        remedies=_remedies(facts, found, needed),
        confidence=CONFIDENCE[found.by],
        lowered_by=(
            *((_ONLY_EVEN,) if found.by == "even" else ()),
            *((_UNSEEN,) if facts.budget.known and not known else ()),
        ),
        fixed_share=None if known else found.share,
        share_of=f"{found.name}'s time",
        headline=None if known else _held(found),
        needs=("disk_samples", "block_requests"),
    )


def _paused(facts: Facts) -> float:
    """Share of the time for which the kernel pauses it as the device takes its data no faster; 0 if all that may stay in memory."""
    reasons = frozenset() if fits(facts) else dirty_reasons(facts)
    return sum(one.elapsed for one in facts.budget.pieces if one.reason in reasons)


_UNSEEN = "CPUs that are full show no waiting for it"
_ONLY_EVEN = "only the evenness of the rate shows that the limit is not the device's own"


def _needed(found: Ceiling) -> float:
    """Requests a second that it would make if none waited for the ceiling.

    As many as it made before; else each thread makes its next one after what it does in between and what a request takes alone.
    """
    if found.above_requests_per_s is not None:
        return found.above_requests_per_s
    return found.requests_per_s * min(_quicker(found), MOST)


def _quicker(found: Ceiling) -> float:
    each = found.thinks_ns + (found.alone_ns or 0.0)
    return (found.thinks_ns + found.wait_ns) / max(each, 1.0)


def _rate(counts: str, requests_per_s: float, bytes_per_s: float) -> Sentence:
    """A rate, by what the ceiling counts."""
    return worded(
        "device-capped.rate",
        "{requests:count} requests/s"
        if counts == "requests"
        else "{moved:rate}"
        if counts == "bytes"
        else "{requests:count} requests/s and {moved:rate}",
        requests=requests_per_s,
        moved=bytes_per_s,
    )


def _limit(found: Ceiling, needed: float) -> Sentence:
    """The limit to ask for."""
    rate = _rate(found.counts, _round(needed), needed * found.each_bytes)
    return worded("device-capped.at-least", "{rate} or more", rate=rate) if _least(found) else rate


def _least(found: Ceiling) -> bool:
    """Whether it may need more than is known."""
    return found.above_requests_per_s is None and (found.at_most or _quicker(found) > MOST)


def _round(number: float) -> float:
    """With two digits: more would look exact."""
    digits = max(0, len(str(int(number))) - 2)
    return round(number, -digits)


def _says(found: Ceiling, *, known: bool) -> Sentence:
    """What it did in that time; whether anybody waited may not be known."""
    return worded(
        "device-capped.held",
        "being held at {rate}"
        if not known
        else "waiting for {device}, which together are held at {rate}"
        if found.names
        else "waiting for {device}, which is held at {rate}",
        device=found.name,
        rate=_rate(found.counts, found.requests_per_s, found.bytes_per_s),
    )


def _held(found: Ceiling) -> Sentence:
    """Where nothing says whose time it is."""
    return worded(
        "device-capped.headline",
        "{device} is held at {rate}, where a request takes {wait:ns}.",
        device=found.name,
        rate=_rate(found.counts, found.requests_per_s, found.bytes_per_s),
        wait=found.wait_ns,
    )


def _chain(facts: Facts, found: Ceiling, needed: float) -> tuple[Link, ...]:
    """The ceiling, what shows that it is not the device's own, and what would be needed."""
    at = worded(
        "device-capped.at",
        "{device} stopped at {rate} for {share:share} of "
        + ("their busy time together" if found.names else "its busy time"),
        device=found.name,
        rate=_rate(found.counts, found.requests_per_s, found.bytes_per_s),
        requests=found.requests_per_s,
        moved=found.bytes_per_s,
        share=found.share,
    )
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "is spent waiting for storage"),
        link(at, found.per_s, found.unit, "devices-over-time"),
        _own_count(found),
        _below(found),
        _alone(facts, found),
        _above(found),
        _of_group(facts, found),
        _matches(found),
        link(
            worded(
                "device-capped.needs",
                "to run unthrottled this needs "
                + ("at least " if _least(found) else "")
                + "{requests:count} requests/s and {moved:rate}",
                requests=_round(needed),
                moved=needed * found.each_bytes,
            ),
            needed,
            "1/s",
            "devices-over-time",
        ),
    )


def _own_count(found: Ceiling) -> Link | None:
    """What the volume counts itself."""
    own_count = found.own_count
    if own_count is None:
        return None
    return link(
        worded(
            "device-capped.own-count",
            "{device} counts itself at a limit "
            + ("of the machine " if own_count.of_machine else "")
            + ("of bytes" if own_count.counts == "bytes" else "of requests")
            + " for {share:share} of the time"
            if own_count.most_ns
            else "{device}, which counts when it is at a limit that was bought, was at none",
            device=found.name,
            share=own_count.share,
        ),
        own_count.share,
        "share",
        "volume-limits",
    )


def _below(found: Ceiling) -> Link | None:
    """Which device is asked, where the ceiling is that of one below."""
    if found.above is None:
        return None
    said = worded(
        "device-capped.on", "{above} is on {device}", above=found.above, device=found.name
    )
    return link(said, found.part, "share", "device-facts")


def _alone(facts: Facts, found: Ceiling) -> Link | None:
    if found.alone_ns is None:
        return None
    return link(
        worded(
            "device-capped.alone",
            ("after rest" if found.by == "passed" else "alone")
            + " a request takes {alone:ns}, at the ceiling {wait:ns}",
            alone=found.alone_ns,
            wait=found.wait_ns,
        ),
        found.alone_ns,
        "ns",
        "devices-over-time" if facts.run.pasted else "request-latency",
    )


def _above(found: Ceiling) -> Link | None:
    requests_per_s = found.above_requests_per_s
    if requests_per_s is None:
        return None
    bytes_per_s = requests_per_s * found.each_bytes
    above = bytes_per_s if found.counts == "bytes" else requests_per_s
    return link(
        worded(
            "device-capped.above",
            "it did {rate} for "
            + ("" if found.above_until_ns is None else "the first ")
            + "{span:ns}",
            rate=_rate(found.counts, requests_per_s, bytes_per_s),
            above=above,
            span=found.above_until_ns or found.above_ns,
        ),
        above,
        found.unit,
        "devices-over-time",
    )


def _group_limits(facts: Facts, found: Ceiling) -> list[tuple[DeviceLimits, named.IoKnob, float]]:
    """Limits of the command's control groups that are this ceiling, on whichever device below or above it."""
    known = [
        (one, knob, limit, counts)
        for one in facts.io_limits
        for knob, limit, counts in (
            (named.READS, one.read_limit_per_s, "requests"),
            (named.WRITES, one.write_limit_per_s, "requests"),
            (named.READ_BYTES, one.read_limit_bytes_per_s, "bytes"),
            (named.WRITE_BYTES, one.write_limit_bytes_per_s, "bytes"),
        )
    ]
    at = {"requests": found.requests_per_s, "bytes": found.bytes_per_s}
    return [
        (one, knob, limit)
        for one, knob, limit, counts in known
        if limit and found.counts in (counts, "either") and tariffs.near(at[counts], (limit,))
    ]


def _of_group(facts: Facts, found: Ceiling) -> Link | None:
    """The control group's limit that the ceiling is."""
    for one, _, limit in _group_limits(facts, found):
        said = worded(
            "device-capped.of-group",
            "that is what its control group may do"
            + ("" if one.device is None else " on {device}"),
            device=one.device,
        )
        return link(said, limit, found.unit, "cgroup" if one.dev is None else "io-limits")
    return None


def _matches(found: Ceiling) -> Link | None:
    """Which known tariffs have this ceiling."""
    names = tariffs.matching(
        found.counts, found.requests_per_s, found.bytes_per_s, found.size_bytes
    )
    if not names:
        return None
    return link(
        worded("device-capped.matches", "that matches {tariffs}", tariffs=", ".join(names)),
        found.per_s,
        found.unit,
        "devices",
    )


_RAISE = Remedy(
    worded("device-capped.raise-limit", "Raise the limit of the volume with its provider"),
    risk="it costs more",
)
_LARGER = Remedy(
    worded(
        "device-capped.larger-requests",
        "Ask for 64 KiB or more at a time: the limit counts requests, not bytes",
    ),
    risk="reads more than it needs where that is scattered",
    for_authors=True,
)


def _remedies(facts: Facts, found: Ceiling, needed: float) -> tuple[Remedy, ...]:
    """The limit to ask for, then fewer requests or bytes."""
    own = _group_limits(facts, found)
    if own:
        return tuple(
            Remedy(
                named.no_io_limit(facts, knob, one.dev, one.device),
                risk="other programs on the device get less",
            )
            for one, knob, _ in own
        )
    whole = "the machine" if found.of_machine else found.name
    more = replace(
        _RAISE,
        do=worded(
            "device-capped.raise-limit-to",
            "Raise the limit of {whole} to {limit}",
            whole=whole,
            limit=_limit(found, needed),
        ),
    )
    if found.counts == "bytes":
        return (more, evidence.compress(facts))
    larger = replace(
        _LARGER,
        do=worded(
            "device-capped.larger-requests-of",
            "Ask for {data} in pieces of 64 KiB or more: the limit counts requests, not bytes",
            data=named.data(facts),
        ),
    )
    jumps = facts.requests.jump_share
    in_order = jumps is not None and jumps < thresholds.IN_ORDER
    return (more, larger) if in_order and found.each_bytes < ceilings.SMALL_BYTES else (more,)


CAUSE = Cause(
    name="device-capped",
    title="A limit that was bought",
    meaning=(
        "The volume does a fixed number of requests or bytes a second and no more, while requests queue. The device behind it could do "
        "more: the provider's tariff, the hypervisor or another limit below the kernel holds it there. A deeper queue or more "
        "threads only make requests wait longer."
    ),
    measured=(
        "Slices of a hundred requests or more, by the kernel's counters of the device: the rate that most of those have in which requests queue. "
        "It is not the device's own limit if requests that find the device idle are answered so quickly that one at a time would exceed the "
        "rate; if it was exceeded for a while (credits), or after rest many passed at once at twice the rate; if it is as even as a clock and too "
        "low for what a flash disk serves at once (by the counters, or by single requests); or if the device says that it is a provider's volume. "
        "Amazon's volumes count themselves how long they are at a limit: that decides. Of a mapped or loop device, the ceiling is that of what it is on; of "
        "a stretch of time, all of the recording shows whose it is. What stands still though "
        "sizes differ is what is counted; else small requests count as requests, large ones as bytes. What it needs is what it did "
        "before, or what follows if each request takes as long as alone."
    ),
    thresholds=(
        Threshold("at the ceiling, at least", ceilings.LEAST_NS, "ns", "less is chance"),
        Threshold(
            "of the time with a queue, without that above the ceiling, at it (within 3 %)", ceilings.STEADY, "share",
            "a bucket lets through the same in every slice; now and then the host pauses the machine",
        ),
        Threshold(
            "rate times the time of a request alone, at most", ceilings.PARALLEL, "requests",
            "from 1 on the device may be at work all the time, so that the limit may be its own; a quarter of the requests are that much "
            "quicker than their mean",
        ),
        Threshold(
            "the same if the rate is even, below", ceilings.CHANNELS, "requests",
            "even a simple flash disk serves four at once",
        ),
        Threshold(
            "deviation of an even rate, at most", ceilings.EVEN, "share",
            "of some hundred requests a device serves 3 % more or less, as each takes another time",
        ),
        Threshold(
            "deviation of the time that one request takes, by that of some hundred, at most", ceilings.CLOCK, "share",
            "a bucket lets them through as a clock ticks; chips and heads take now more, now less. Then one request that found the device "
            "idle is enough",
        ),
        Threshold(
            "time at the ceiling over time alone, at least", ceilings.LONGER, "times",
            "else little of the time is waiting for the ceiling",
        ),
        Threshold(
            "a request that finds it idle then, of the time of all, below", ceilings.AS_LATE, "share",
            "a bucket lets it through at once",
        ),
        Threshold(
            "requests that pass at once after rest, beyond the ceiling, at least", ceiling_requests.PASSED, "requests",
            "a bucket holds those of a tenth of a second or more; what a device has at work at once is never beyond its rate "
            f"({ceiling_requests.PASSED_BY_CLOCK} if they then come as by a clock)",
        ),
        Threshold(
            "above the ceiling, at least", ceilings.ABOVE_NS, "ns",
            "credits that last less show nothing that a cache would not; nor does a single slice, which may hold a short burst",
        ),
        Threshold(
            "of that, after the ceiling was reached and without rest, at most", ceilings.AGAIN, "share",
            "credits come back while it rests; a slice may hold the end of a rest",
        ),
        Threshold(
            "of the time that a volume counts itself at its limit, at least", below_ceiling.COUNTED, "share",
            "it counts moments, too, in which little waits",
        ),
        Threshold(
            "of the time in flight that of flushes, below", ceilings.FLUSHES, "share",
            "a device that flushes answers nothing else, however much it could do",
        ),
        Threshold(
            "of the device's busy time at the ceiling, at least", OFTEN, "share", "less hardly costs anything",
        ),
        Threshold(
            "the same, from which all of the waiting counts", ALL, "share",
            "then how long requests take says more of the ceiling than of the device",
        ),
    ),
    fooled_by=(
        "data that the host has in memory at first, and later not: it looks like credits that run out",
        "an SD card that is as even as a clock and whose driver does not say how many requests it gives it at a time",
        "a disk that turns: its own cache answers first writes at once, so writes and reads in order are never called capped there",
    ),
    remedies=(_RAISE, _LARGER, evidence.COMPRESS),
    find=find,
    unseen_without=("disk_samples",),
    explains=classes.named("read write sync"),
    settled_by=next_command.DEVICE,
    beats=("device-saturated", "device-slow", "queue-shallow", "random-access", "small-requests", "cache-cold", "metadata-cold", "readahead-poor",
        "dirty-throttled"),
)  # fmt: skip
