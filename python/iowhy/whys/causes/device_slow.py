"""The device takes long for a request although little is asked of it."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.whys import classes, evidence, health, links, next_command, saving, thresholds
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.stalls import stalls
from iowhy.whys.finding import Candidate, Claim, Link, Saving

SERVICE_NS = 20e6
# What a disk that says it does not turn takes at most where nothing is wrong: flash answers in 0.1 ms, behind a network in 1 ms.
FLASH_NS = 1e6
# 50 MB/s: the inner tracks of an old disk.
SLOWEST_BYTES_PER_NS = 0.05
SHALLOW = 2.0
OUTLIERS = 0.3
SCATTERED = 0.5
REQUESTS_MIN = 16
ERRORS = 0.001
# The part of a request's time that no disk takes, from which it is the device that is waited for.
LATE = 0.3
# A device that works less than this is not what is waited for.
WORKS = 0.3
# Busy in all of the time but what the rounding of a percentage hides.
STUCK = 0.99


class Part(Struct, frozen=True):
    """Of the waiting for storage, the part that is claimed, and of that the part that can be saved."""

    claimed: float
    saved: float

    @classmethod
    def of(cls, allowed_ns: float, taken_ns: float, usual_ns: float) -> "Part":
        """Of a device that takes longer than allowed: by little, only what is too long has this cause.

        `usual_ns` is what one of its kind takes: what is allowed is the slowest of all kinds, and no bound of what can be gained.
        """
        late = 1 - allowed_ns / taken_ns
        return cls(1.0, 1 - usual_ns / taken_ns) if late >= LATE else cls(late, 1.0)


def find(facts: Facts) -> Candidate | None:
    """Long service at a shallow queue, a few requests that take most of the time, or errors."""
    found = _found(facts)
    return None if found is None else replace(found, chain=(*found.chain, *health.reported(facts)))


def _found(facts: Facts) -> Candidate | None:
    requests = facts.requests
    stuck = None if evidence.requests_were_recorded(facts) else _stuck(facts)
    if stuck is not None or facts.budget.elapsed(*classes.STORAGE) < thresholds.LISTED:
        return stuck
    if not requests.count:
        return None if evidence.requests_were_recorded(facts) else _counters(facts)
    median = requests.median_service_ns
    if median is None:
        return None
    moving = (requests.median_bytes or 0.0) / SLOWEST_BYTES_PER_NS
    allowed = SERVICE_NS + moving
    usual = allowed if requests.rotational is not False else FLASH_NS + moving
    shallow = requests.depth is not None and requests.depth <= SHALLOW
    late = 0.0 if requests.slow_share is None else requests.slow_share
    count = requests.slow_count
    if late >= OUTLIERS and not shallow:
        # A disk that empties its write cache to scattered places answers nobody meanwhile: that is the way of
        # such writes, not the disk's.
        scattered = requests.writes > requests.reads and _scattered(requests.jump_share)
        late, count = (0.0, 0) if scattered else stalls(facts.relations, facts.requests)
    outliers = late >= OUTLIERS and count >= 1
    slow = requests.count >= REQUESTS_MIN and median > allowed and shallow
    failing = requests.errors > 0 and requests.errors >= ERRORS * requests.count
    if not (slow or outliers or failing):
        return None
    beyond = Part.of(allowed, median, usual) if slow else Part(late, 1.0)
    if failing:
        beyond = Part(1.0, 1.0)
    # Where it has no request meanwhile, what is waited for is not its answer (a limit above the queue, say).
    busy = evidence.busy_while_waiting(facts) if slow and not (outliers or failing) else None
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=beyond.claimed * (1.0 if busy is None else busy)),),
        chain=_chain(facts, median, (count, late) if outliers else None, failing),
        summary=f"waits for {requests.device}, which answers late"
        + (" though its queue is short" if shallow else ": it stalls"),
        saving=Saving(
            beyond.saved,
            f"if the device answers in {duration(usual)}"
            if slow and not failing
            else "if the device answers like others",
        ),
        needs=("block_requests",),
    )


def _chain(
    facts: Facts, median: float, outliers: tuple[int, float] | None, failing: bool
) -> tuple[Link, ...]:
    """What its requests take; `outliers`: how many take far longer, and their share of the service time."""
    requests = facts.requests
    shallow = requests.depth is not None and requests.depth <= SHALLOW
    count, late = outliers or (0, 0.0)
    return chain_of(
        links.in_calls(facts, classes.STORAGE, "waits for storage"),
        link(
            f"{requests.device} takes {duration(median)} for a request in the median"
            + ("" if requests.depth is None else f" with {requests.depth:.1f} in flight"),
            median,
            "ns",
            "request-latency",
        ),
        None
        if not outliers
        else link(
            f"{plural(count, 'request')} of more than 100 ms take "
            f"{percent(late)} of the service time"
            + ("" if shallow else ", while the device completes hardly any other"),
            late,
            "share",
            "request-latency",
        ),
        None
        if not failing
        else link(
            f"{plural(requests.errors, 'request')} failed", requests.errors, "errors", "events"
        ),
    )


def _scattered(jump_share: float | None) -> bool:
    return jump_share is not None and jump_share >= SCATTERED


def _stuck(facts: Facts) -> Candidate | None:
    """Requests in flight all the time, of which none is completed."""
    found = links.most_loaded(facts)
    if found is None or found.completed_per_s is None or found.completed_per_s > 0:
        return None
    if found.depth is None or found.depth <= 0:
        return None
    if found.busy_share is None or found.busy_share < STUCK:
        return None
    name, depth, busy = found.name, found.depth, found.busy_share
    return Candidate(
        claims=(
            Claim(classes.STORAGE),
            Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({NO_DIRECTION})),
        ),
        chain=chain_of(
            found.shown,
            link(
                f"{plural(round(depth), 'request')} {'is' if round(depth) == 1 else 'are'} in flight, "
                "and none is completed",
                depth,
                "requests",
                "devices",
            ),
        ),
        summary=f"waits for {name}, which completes no request: it is stuck"
        if facts.budget.known
        else "it completes no request: it is stuck",
        saving=saving.all_of_it("if the device answers at all"),
        confidence=0.8,
        lowered_by=("single requests are not known, only the counters' means",),
        fixed_share=None if facts.budget.known else busy,
        share_of=f"{name}'s time",
    )


def _counters(facts: Facts) -> Candidate | None:
    device = facts.devices.top
    if device is None or device.depth is None or device.wait_ns is None:
        return None
    if evidence.others_by_counters(facts):
        return None
    works = device.busy_share is not None and device.busy_share >= WORKS
    allowed = SERVICE_NS + (device.request_bytes or 0.0) / SLOWEST_BYTES_PER_NS
    if device.depth > SHALLOW or device.wait_ns <= allowed or not works:
        return None
    beyond = Part.of(allowed, device.wait_ns, allowed)
    return Candidate(
        claims=(Claim(classes.STORAGE, fraction=beyond.claimed),),
        chain=chain_of(links.device_load(facts)),
        summary=f"waits for {device.name}, which answers late though its queue is short",
        saving=Saving(beyond.saved, f"if the device answers in {duration(allowed)}"),
        confidence=0.7,
        lowered_by=("single requests are not known, only the counters' means",),
    )


CAUSE = Cause(
    name="device-slow",
    title="The device answers late",
    meaning=(
        "Requests take far longer than reaching and moving the data should, with no queue to blame: "
        "a failing disk, a saturated network under it, an overloaded array or host."
    ),
    measured=(
        "Time from issue to completion, without flushes, at the queue depth of the run; the share of "
        "service time in requests above 100 ms and 20 times the median (in a deep queue only of those "
        "in whose time the device completes less than half as many requests as else: others taken "
        "first are no fault of the device); errors. Beside another tool's figures also what smartctl, nvme "
        "smart-log, /proc/mdstat and the kernel's log report of that disk."
    ),
    thresholds=(
        Threshold(
            "median service at a shallow queue", SERVICE_NS, "ns",
            "the longest seek and a full turn of a 5,400 rpm disk; to it the time to move the data "
            "at 50 MB/s is added",
        ),
        Threshold(
            "access that a disk may take that does not turn, for what can be gained", FLASH_NS, "ns",
            "flash answers in 0.1 ms, behind a network in 1 ms",
        ),
        Threshold(
            "part of a request's time beyond that, from which all waiting counts", LATE, "share",
            "a disk that is slower than the slowest by less explains no more than that; the rest has "
            "other causes",
        ),
        Threshold(
            "requests in flight, at most", SHALLOW, "requests",
            "with more, requests wait for each other and their time is not the device's",
        ),
        Threshold(
            "share of service time in outliers", OUTLIERS, "share",
            "when a few requests take a third of all time, they are the problem",
        ),
        Threshold(
            "writes away from the one before, from which they are scattered", SCATTERED, "share",
            "most of them: emptying a write cache takes as long as the way to them",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "of fewer the median is chance"),
        Threshold(
            "requests that fail, at least", ERRORS, "share",
            "one of a thousand, retried for seconds each, is most of the time already",
        ),
        Threshold(
            "busy without completing a request, at least", STUCK, "share",
            "all of the time but what the rounding of a percentage hides",
        ),
    ),
    fooled_by=(
        "another user of the same array or host: its load is not visible from here",
        "a power-saving disk that spins up once",
        "a request that a device with a deep queue leaves lying while it answers others at full rate: it "
        "is not counted",
        "stalls under a deep queue of scattered writes: a disk that empties its write cache looks like "
        "that, so they are not counted",
    ),
    remedies=(
        "look at the device: kernel log, SMART, path, the array's own statistics",
        "move the data to another device",
    ),
    experiment="fast-device",
    find=find,
    settled_by=next_command.DEVICE,
    beats=("device-saturated", "queue-shallow", "random-access", "small-requests"),
)  # fmt: skip
