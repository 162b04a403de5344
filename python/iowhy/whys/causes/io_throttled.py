"""A limit holds requests back before the device sees them."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.dirty_throttled import dirty_reasons
from iowhy.whys.chain import chain_of, link, percent, rate
from iowhy.whys.facts import Facts
from iowhy.whys.facts.io_limits import DeviceLimits
from iowhy.whys.finding import Candidate, Claim, Link, Saving

AT_LIMIT = 0.7
IDLE_DEVICE = 0.5
IDLE_WITHOUT_LIMIT = 0.2
WAITING = 0.3
REQUESTS_MIN = 16
TIGHT = 0.9
FLUSHING = 0.1
IDLE_CPUS = 0.1


def find(facts: Facts) -> Candidate | None:
    """Near a limit of the group, or waiting for a device that idles."""
    reasons = _reasons(facts)
    limits = _limits(facts)
    claims = []
    if reasons:
        claims.append(Claim(frozenset({classes.THROTTLED}), reasons=reasons))
    chain: list[Link | None] = [
        links.in_calls(facts, classes.STORAGE | {classes.THROTTLED}, "waits for storage")
    ]
    busy = evidence.busy_while_waiting(facts) if facts.requests.known else None
    storage = facts.budget.elapsed(*classes.STORAGE)
    a_read = "a read" if evidence.only_reads_count(facts) else "a request"
    idle = link(
        f"the device has {a_read} in only {percent(busy)} of that time", busy, "share", "devices"
    )
    confidence = 0.9
    lowered: tuple[str, ...] = ()
    if (
        limits
        and storage >= thresholds.LISTED
        and (busy is None or busy < IDLE_DEVICE or _tight(limits))
    ):
        ways = frozenset(cls for cls, _, _ in limits)
        claims.append(Claim(ways))
        chain += [one for _, one, _ in limits]
        if busy is not None:
            chain.append(idle)
    elif (
        not reasons
        and not facts.run.pasted
        and busy is not None
        and busy < IDLE_WITHOUT_LIMIT
        and storage >= WAITING
        and facts.requests.count >= REQUESTS_MIN
        and not _many_flushes(facts)
        and not _cpus_full(facts)
    ):
        claims.append(Claim(classes.STORAGE))
        chain.append(idle)
        confidence = 0.55
        lowered = ("no limit of a control group could be read; the device idles while it waits",)
    if not claims:
        return None
    return Candidate(
        claims=tuple(claims),
        chain=chain_of(*chain),
        summary="waits because a limit holds its requests back, not the device"
        if limits or reasons
        else "waits while the device idles: something holds its requests back before they reach it",
        saving=saving.all_of_it("where nothing else limits it")
        if busy is None
        else Saving(1 - busy, f"the device's own work, {percent(busy)} of that time, stays"),
        confidence=confidence,
        lowered_by=lowered,
        needs=("cgroup_samples", "block_requests", "waits"),
        remedies=() if limits or reasons else (_LOOK, _FEWER),
        # What holds it back else (the kernel's own throttling, a volume's limit) no lever takes away.
        provable=bool(limits),
    )


def _reasons(facts: Facts) -> frozenset[str]:
    """Throttled waits of other kinds than the dirty limits (wbt, iocost, rq_qos)."""
    dirty = dirty_reasons(facts)
    return frozenset(
        p.reason
        for p in facts.budget.pieces
        if p.cls == classes.THROTTLED and p.reason and p.reason not in dirty
    )


def _tight(limits: list[tuple[str, Link, float]]) -> bool:
    return any(ratio >= TIGHT for _, _, ratio in limits)


def _limits(facts: Facts) -> list[tuple[str, Link, float]]:
    """Limits in force that the command's rate on their device comes near to: class, link, rate over limit."""
    return [found for one in facts.io_limits for found in _limits_of(facts, one)]


def _limits_of(facts: Facts, limits: DeviceLimits) -> list[tuple[str, Link, float]]:
    read_bytes, write_bytes = limits.read_limit_bytes_per_s, limits.write_limit_bytes_per_s
    device = limits.device
    reads_from, writes_to, on = (
        ("", "", "") if device is None else (f" from {device}", f" to {device}", f" on {device}")
    )
    found = []
    for cls, limit, done, may, did, unit in (
        (classes.READ, read_bytes, limits.read_bytes, "read {}" + reads_from, "gets {}", "bytes/s"),
        (classes.WRITE, write_bytes, limits.write_bytes, "write {}" + writes_to, "gets {}", "bytes/s"),
        (classes.SYNC, write_bytes, limits.write_bytes, "write {}" + writes_to, "gets {}", "bytes/s"),
        (classes.READ, limits.read_limit_per_s, limits.reads, "do {} reads/s" + on, "does {}", "1/s"),
        (classes.WRITE, limits.write_limit_per_s, limits.writes, "do {} writes/s" + on, "does {}", "1/s"),
        (classes.SYNC, limits.write_limit_per_s, limits.writes, "do {} writes/s" + on, "does {}", "1/s"),
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
        words = f"the control group may {may.format(allowed)}; while it waits it {did.format(got)}"
        said = link(words, limit, unit, "cgroup" if device is None else "io-limits")
        found.append((cls, said, speed / limit))
    return found


def _many_flushes(facts: Facts) -> bool:
    """A device that flushes is at work although it moves nothing."""
    wall, elapsed = facts.requests.flush_wall_ns, facts.run.elapsed_ns
    return wall is not None and elapsed is not None and wall > FLUSHING * elapsed


def _cpus_full(facts: Facts) -> bool:
    """The kernel's own threads (journal, writeback, block) wait for a CPU then, not for a limit."""
    machine = facts.machine
    # Where iowait is not told apart, it is part of idle.
    waiting = 0.0 if machine.iowait is None else machine.iowait
    return machine.idle is not None and machine.idle + waiting < IDLE_CPUS


_FEWER = "move fewer bytes"
_LOOK = (
    "look for what holds them back: limits of the volume or the virtual disk (its provider tells), io.latency and io.cost.qos, "
    "groups above that could not be read"
)

CAUSE = Cause(
    name="io-throttled",
    title="An I/O limit holds it back",
    meaning=(
        "A limit of the control group, or the kernel's own writeback throttling, keeps requests "
        "waiting before they reach the device. The device's statistics show it idle meanwhile."
    ),
    measured=(
        "Limits of the group (io.max, blkio.throttle) against the rate reached while waiting; waits "
        "in the kernel's throttling functions; how busy the device is while the command waits."
    ),
    thresholds=(
        Threshold(
            "rate over limit", AT_LIMIT, "share",
            "a bucket that fills in steps lets a little less through than its limit",
        ),
        Threshold(
            "device busy while it waits, below", IDLE_DEVICE, "share",
            "a device that is busy half of the time or more may be the limit itself",
        ),
        Threshold(
            "the same where no limit can be read", IDLE_WITHOUT_LIMIT, "share",
            "then only a device that hardly works tells that something above it waits",
        ),
        Threshold(
            "and the machine's CPUs idle, at least", IDLE_CPUS, "share",
            "on full CPUs the kernel's threads that submit and complete requests wait for their turn, "
            "which looks the same",
        ),
        Threshold(
            "and waiting, at least", WAITING, "share",
            "without a limit to name, only what is a good part of the run is worth the guess",
        ),
        Threshold(
            "and requests, at least", REQUESTS_MIN, "requests",
            "fewer are a program's own start, whose pauses have other reasons",
        ),
        Threshold(
            "and flushing, at most", FLUSHING, "share",
            "a device that flushes is at work although it moves nothing",
        ),
        Threshold(
            "rate over limit that is proof enough on a busy device", TIGHT, "share",
            "who gets just what the limit lets through would get more without it",
        ),
    ),
    fooled_by=(
        "requests that are not seen (a bio-based device, a network file system) look like idleness",
        "completions that a hypervisor hides",
    ),
    remedies=(
        "raise or lift the limit (io.max, blkio.throttle.*, the container's or the volume's limit)",
        _FEWER,
    ),
    experiment="io-unlimited",
    find=find,
    unseen_without=("block_requests",),
    settled_by=next_command.DEVICE,
    beats=("cache-cold", "queue-shallow", "device-saturated", "device-slow", "small-requests",
           "random-access", "sync-storm"),
)  # fmt: skip
