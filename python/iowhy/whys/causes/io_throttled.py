"""A limit holds requests back before the device sees them."""

from msgspec import Struct

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.dirty_throttled import dirty_reasons
from iowhy.whys.chain import chain_of, link, percent, rate
from iowhy.whys.facts import Facts
from iowhy.whys.facts.io_limits import DeviceLimits
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

AT_LIMIT = 0.7
IDLE_DEVICE = 0.5
IDLE_WITHOUT_LIMIT = 0.2
WAITING = 0.3
REQUESTS_MIN = 16
TIGHT = 0.9
FLUSHING = 0.1
IDLE_CPUS = 0.1


class _Limit(Struct, frozen=True):
    """A limit that its rate comes near to, with the rate over the limit; `may` is what it allows, in words."""

    cls: str
    shown: Link
    ratio: float
    may: str
    lift: Remedy


def find(facts: Facts) -> Candidate | None:
    """Near a limit of the group, or waiting while the device idles."""
    reasons = _reasons(facts)
    limits = _limits(facts)
    claims = []
    if reasons:
        claims.append(Claim(frozenset({classes.THROTTLED}), reasons=reasons))
    chain: list[Link | None] = [
        links.in_calls(facts, classes.STORAGE | {classes.THROTTLED}, "is spent waiting for storage")
    ]
    busy = evidence.busy_while_waiting(facts) if facts.requests.known else None
    storage = facts.budget.elapsed(*classes.STORAGE)
    name = facts.requests.device or "the device"
    a_read = "a read" if evidence.only_reads_count(facts) else "a request"
    idle = link(
        f"{name} has {a_read} in only {percent(busy)} of that time",
        busy,
        "share",
        "devices",
        "io-throttled.busy",
    )
    confidence = 0.9
    lowered: tuple[str, ...] = ()
    at_limit = storage >= thresholds.LISTED and (
        busy is None or busy < IDLE_DEVICE or _tight(limits)
    )
    if limits and at_limit:
        ways = frozenset(one.cls for one in limits)
        claims.append(Claim(ways))
        chain += [one.shown for one in limits]
        if busy is not None:
            chain.append(idle)
    elif not reasons and storage >= WAITING and _idles(facts, busy):
        claims.append(Claim(classes.STORAGE))
        chain.append(idle)
        confidence = 0.55
        lowered = ("no control group's limit could be read, only that the device idles",)
    if not claims:
        return None
    return Candidate(
        claims=tuple(claims),
        chain=chain_of(*chain),
        summary=_says(limits, reasons, name, busy),
        saving=saving.all_of_it("if nothing else limits it")
        if busy is None
        else Saving(1 - busy, f"{name}'s own work remains, {percent(busy)} of the wait"),
        confidence=confidence,
        lowered_by=lowered,
        needs=("cgroup_samples", "block_requests", "waits"),
        remedies=(*dict.fromkeys(one.lift for one in limits), evidence.compress(facts))
        if limits
        else (*_of_kernel(facts, reasons), *_LOOK),
        # No lever removes what else may hold it back (the kernel's own throttling, a volume's limit).
        provable=bool(limits),
    )


def _says(limits: list[_Limit], reasons: frozenset[str], name: str, busy: float | None) -> Sentence:
    """What it did in that time."""
    return (
        worded(
            "io-throttled.at-limit",
            "waiting because its control group may only {may}",
            may=limits[0].may,
        )
        if limits
        else worded(
            "io-throttled.kernel",
            "waiting in the kernel's I/O throttling ({reasons})",
            reasons=", ".join(sorted(reasons)),
        )
        if reasons
        else worded(
            "io-throttled.held-back",
            "waiting while {name} is only {busy:share} busy: something holds its requests back",
            name=name,
            busy=busy,
        )
    )


def _idles(facts: Facts, busy: float | None) -> bool:
    """Whether the device idles while it is waited for, and no CPU or flush is why."""
    return (
        not facts.run.pasted
        and busy is not None
        and busy < IDLE_WITHOUT_LIMIT
        and facts.requests.count >= REQUESTS_MIN
        and not _many_flushes(facts)
        and not _cpus_full(facts)
    )


def _reasons(facts: Facts) -> frozenset[str]:
    """Throttled waits of other kinds than the dirty limits (wbt, iocost, rq_qos)."""
    dirty = dirty_reasons(facts)
    return frozenset(
        p.reason
        for p in facts.budget.pieces
        if p.cls == classes.THROTTLED and p.reason and p.reason not in dirty
    )


def _tight(limits: list[_Limit]) -> bool:
    return any(one.ratio >= TIGHT for one in limits)


def _limits(facts: Facts) -> list[_Limit]:
    """Limits in force that the program's rate on their device comes near to."""
    return [found for one in facts.io_limits for found in _limits_of(facts, one)]


def _limits_of(facts: Facts, limits: DeviceLimits) -> list[_Limit]:
    read_bytes, write_bytes = limits.read_limit_bytes_per_s, limits.write_limit_bytes_per_s
    device = limits.device
    reads_from, writes_to, on = (
        ("", "", "") if device is None else (f" from {device}", f" to {device}", f" on {device}")
    )
    found = []
    for cls, limit, done, may, did, unit, knob in (
        (classes.READ, read_bytes, limits.read_bytes, "read {}" + reads_from, "gets {}", "bytes/s", named.READ_BYTES),
        (classes.WRITE, write_bytes, limits.write_bytes, "write {}" + writes_to, "gets {}", "bytes/s", named.WRITE_BYTES),
        (classes.SYNC, write_bytes, limits.write_bytes, "write {}" + writes_to, "gets {}", "bytes/s", named.WRITE_BYTES),
        (classes.READ, limits.read_limit_per_s, limits.reads, "do {} reads/s" + on, "does {}", "1/s", named.READS),
        (classes.WRITE, limits.write_limit_per_s, limits.writes, "do {} writes/s" + on, "does {}", "1/s", named.WRITES),
        (classes.SYNC, limits.write_limit_per_s, limits.writes, "do {} writes/s" + on, "does {}", "1/s", named.WRITES),
    ):  # fmt: skip
        share, elapsed = facts.budget.elapsed(cls), facts.shares_of_ns
        if not limit or not elapsed or share < thresholds.LISTED:
            continue
        speed = done * 1e9 / (elapsed * max(share, thresholds.LISTED))
        if speed < AT_LIMIT * limit:
            continue
        allowed, got = (
            (rate(limit), rate(speed)) if unit == "bytes/s" else (f"{limit:,.0f}", f"{speed:,.0f}")
        )
        words = f"the control group may {may.format(allowed)}; it {did.format(got)} while it waits"
        shown = link(
            words, limit, unit, "cgroup" if device is None else "io-limits", "io-throttled.limit"
        )
        lift = Remedy(
            named.no_io_limit(facts, knob, limits.dev, device),
            risk="other programs on the device get less",
        )
        found.append(_Limit(cls, shown, speed / limit, may.format(allowed), lift))
    return found


def _many_flushes(facts: Facts) -> bool:
    """Whether the device is at work although it moves nothing: it flushes."""
    wall, elapsed = facts.requests.flush_wall_ns, facts.run.elapsed_ns
    return wall is not None and elapsed is not None and wall > FLUSHING * elapsed


def _cpus_full(facts: Facts) -> bool:
    """If so, the kernel's own threads (journal, writeback, block) wait for a CPU, not for a limit."""
    machine = facts.machine
    # If iowait is not counted separately, it is part of idle.
    waiting = 0.0 if machine.iowait is None else machine.iowait
    return machine.idle is not None and machine.idle + waiting < IDLE_CPUS


_LIFT = Remedy(
    worded("io-throttled.lift-limit", "Lift the I/O limit of its control group (io.max)"),
    risk="other programs on the device get less",
)
_LOOK = (
    Remedy(
        worded(
            "io-throttled.list-limits",
            "List the limits of all control groups: `grep -rs . /sys/fs/cgroup --include=io.max --include=io.latency --include=io.cost.qos`",
        ),
        looks=True,
    ),
    Remedy(
        worded(
            "io-throttled.volume-limits",
            "Look up the limits of this volume with its provider",
        ),
        looks=True,
    ),
)


def _of_kernel(facts: Facts, reasons: frozenset[str]) -> tuple[Remedy, ...]:
    """The kernel's throttling of writeback is a setting of the device's queue (Documentation/block, wbt_lat_usec)."""
    name = facts.requests.device
    if name is None or not any("wbt" in one for one in reasons):
        return ()
    return (
        Remedy(
            worded(
                "io-throttled.no-writeback-throttling",
                "Let writes to {name} wait less: `echo 0 > /sys/block/{name}/queue/wbt_lat_usec`",
                name=name,
            ),
            risk="reads wait longer while much is written",
        ),
    )


CAUSE = Cause(
    name="io-throttled",
    title="An I/O limit",
    meaning=(
        "A limit of the control group, or the kernel's own writeback throttling, holds requests back "
        "before they reach the device. The device's statistics show an idle device."
    ),
    measured=(
        "Limits of the group (io.max, blkio.throttle) compared with the rate reached while waiting; waits "
        "in the kernel's throttling functions; how busy the device is while the program waits."
    ),
    thresholds=(
        Threshold(
            "rate over limit", AT_LIMIT, "share",
            "a bucket that fills in steps lets through a little less than its limit",
        ),
        Threshold(
            "device busy while it waits, below", IDLE_DEVICE, "share",
            "a device that is busy half of the time or more may be what limits",
        ),
        Threshold(
            "the same if no limit can be read", IDLE_WITHOUT_LIMIT, "share",
            "then only a device that hardly works shows that something above it holds requests back",
        ),
        Threshold(
            "and the machine's CPUs idle, at least", IDLE_CPUS, "share",
            "on busy CPUs the kernel threads that submit and complete requests wait for a CPU, which looks "
            "the same",
        ),
        Threshold(
            "and waiting, at least", WAITING, "share",
            "without a known limit, only a good part of the run is worth a guess",
        ),
        Threshold(
            "and requests, at least", REQUESTS_MIN, "requests",
            "fewer are a program's start, whose pauses have other reasons",
        ),
        Threshold(
            "and flushing, at most", FLUSHING, "share",
            "a device that flushes is at work although it moves nothing",
        ),
        Threshold(
            "rate over limit that is proof enough on a busy device", TIGHT, "share",
            "a rate that just reaches the limit would be higher without it",
        ),
    ),
    fooled_by=(
        "requests that are not seen (a bio-based device, a network filesystem): the device seems idle",
        "completions that a hypervisor hides",
    ),
    remedies=(_LIFT, evidence.COMPRESS, *_LOOK),
    experiment="io-unlimited",
    find=find,
    explains=classes.named("read write sync throttled"),
    unseen_without=("block_requests",),
    settled_by=next_command.DEVICE,
    beats=(
        "cache-cold", "queue-shallow", "device-saturated", "device-capped", "device-slow",
        "small-requests", "random-access", "sync-storm", "metadata-cold", "readahead-poor",
        "file-fragmented", "flush-cost", "device-contended", "dirty-throttled",
        "journal-entangled", "writeback-scattered", "data-journaled", "syncs-behind-writes",
    ),
)  # fmt: skip
