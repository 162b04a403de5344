"""One request at a time, to a device that could serve many."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, for_users, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.readahead_poor import set_readahead
from iowhy.whys.chain import chain_of, duration, link, percent
from iowhy.whys.facts import Facts, installed
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

# The classes of waiting in which a deeper queue would have helped.
BOTH = frozenset({classes.READ, classes.WRITE})
DEPTH = 1.5
REQUESTS_MIN = 64
LARGE_BYTES = 128 * 1024


def find(facts: Facts) -> Candidate | None:
    """Requests come one by one, and are small and quick enough that more could be in flight."""
    requests = facts.requests
    if facts.budget.elapsed(*BOTH) < thresholds.LISTED:
        return None
    fraction, name = 1.0, requests.device
    if requests.known and requests.count:
        if requests.count < REQUESTS_MIN or not evidence.alone_on_its_device(facts):
            return None
        depth, service, median = (
            requests.own_depth,
            requests.median_service_ns,
            requests.median_bytes,
        )
    else:
        device = facts.devices.top
        if evidence.requests_were_recorded(facts) or device is None or device.samples < 1:
            return None
        if evidence.others_by_counters(facts):
            return None
        name = device.name
        depth, service, median = device.depth, device.wait_ns, device.request_bytes
        if facts.budget.basis == "machine" and device.busy_share is not None:
            # Nobody waits for a device longer than it has a request.
            fraction = min(1.0, device.busy_share / max(facts.budget.elapsed(*BOTH), 1e-9))
    if depth is None or service is None or median is None:
        return None
    if depth > DEPTH or service >= thresholds.SEEK_NS or median >= LARGE_BYTES:
        return None
    if evidence.streams_on_a_disk_that_turns(facts):
        return None
    return Candidate(
        claims=(Claim(BOTH, fraction=fraction),),
        chain=_chain(facts, depth, service),
        summary=worded(
            "queue-shallow.one-at-a-time",
            "waiting for {device}, which gets only one request at a time ({service:ns} each)",
            device=name or "the device",
            service=service,
        ),
        saving=saving.all_but_moving(
            facts,
            BOTH,
            requests.bytes,
            "with as many requests in flight as the device can serve",
        ),
        remedies=_remedies(facts),
        confidence=0.8,
        needs=("block_requests", "waits"),
    )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    """The kernel reads ahead only of reads in order through the page cache."""
    requests, what = facts.requests, named.data(facts)
    whole = replace(
        _AT_ONCE,
        do=worded(
            "queue-shallow.parallel",
            "Run 8 {who} at once, each on an eighth of {what}",
            who=facts.run.who,
            what=what,
        ),
    )
    at_once = _by_option(facts) or (_SEVERAL,)
    if evidence.direct_io(facts) or requests.direction == "write":
        return (*at_once, whole)
    in_order = requests.jump_share is not None and requests.jump_share < thresholds.IN_ORDER
    ahead = replace(
        _AHEAD,
        do=worded(
            "queue-shallow.read-ahead",
            "Ask for the next reads of {what} ahead: posix_fadvise with POSIX_FADV_WILLNEED",
            what=what,
        ),
    )
    if in_order:
        return (set_readahead(facts, up=True), _SEVERAL, whole)
    return (ahead, *at_once, whole)


def _by_option(facts: Facts) -> tuple[Remedy, ...]:
    """Of somebody else's program, also one that a script starts. Larger calls are for who asks for one thing after the other, which
    its calls show: requests jump where files are in pieces, too."""
    if not facts.somebody_elses:
        reads = facts.requests.direction == "read" and facts.reads_decided_there
        reader = installed.reader(facts.relations) if reads else None
        return () if reader is None else (for_users.deeper_by_option(reader),)
    calls = facts.calls
    jumps = (calls.writing if facts.requests.direction == "write" else calls.reading).jump_share
    in_order = jumps is not None and jumps < thresholds.IN_ORDER
    deeper = for_users.deeper_by_option(facts.run.who)
    return (for_users.larger_by_option(facts), deeper) if in_order else (deeper,)


def _chain(facts: Facts, depth: float, service: float) -> tuple[Link, ...]:
    """What the requests are like, how many are in flight, and how many that allows."""
    requests, elapsed = facts.requests, facts.run.elapsed_ns
    possible = f", so one at a time allows {1e9 / service:,.0f} per second" if service > 0 else ""
    made = ""
    if requests.count and elapsed:
        made = f"; {requests.count * 1e9 / elapsed:,.0f} per second were made"
    return chain_of(
        links.in_calls(facts, BOTH, "is spent waiting for I/O"),
        links.request_shape(facts),
        link(
            f"queue depth {depth:.1f} on average while there is a request",
            depth,
            "requests",
            "devices",
            "queue-shallow.depth",
        ),
        link(
            f"a request takes {duration(service)}{possible}{made}",
            service,
            "ns",
            "request-latency" if requests.count else "devices",
            "queue-shallow.service",
        ),
        None
        if requests.own_busy_share is None
        else link(
            f"requests of {facts.run.who} are in flight {percent(requests.own_busy_share)} of the run",
            requests.own_busy_share,
            "share",
            "devices",
            "queue-shallow.own-busy",
        ),
    )


_AHEAD = Remedy(
    worded(
        "queue-shallow.read-ahead-any",
        "Ask for the next reads ahead: posix_fadvise with POSIX_FADV_WILLNEED",
    ),
    risk="data that is read in vain takes memory and device time",
    for_authors=True,
)
_SEVERAL = Remedy(
    worded("queue-shallow.io-uring", "Keep 8 requests in flight with io_uring"),
    risk="they complete in another order",
    for_authors=True,
)
_AT_ONCE = Remedy(
    worded(
        "queue-shallow.parallel-any",
        "Run 8 processes at once, each on an eighth of the data",
    ),
    risk="each takes its own memory and CPU time",
)

CAUSE = Cause(
    name="queue-shallow",
    title="One request at a time",
    meaning=(
        "The command asks, waits, and asks again. The device has many channels or can order its "
        "work, but most of it idles; the time is latency, not bandwidth."
    ),
    measured="Mean number of the command's requests in flight while there is one, and their service time.",
    thresholds=(
        Threshold(
            "requests in flight", DEPTH, "requests",
            "one at a time, and now and then a read ahead",
        ),
        Threshold(
            "service time", thresholds.SEEK_NS, "ns",
            "above it the device seeks: order helps it, a deeper queue hardly does",
        ),
        Threshold(
            "request size, below", LARGE_BYTES, "bytes",
            "larger requests keep a device busy one by one",
        ),
        Threshold(
            "requests that jump on a rotating disk, at least", thresholds.IN_ORDER, "share",
            "it has one head: in order, it moves data as fast one request at a time",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "fewer have no typical depth"),
    ),
    fooled_by=(
        "a device with a single channel (an SD card) gains nothing from depth",
        "a throttle above the queue (io.max) makes it shallow: see io-throttled",
    ),
    remedies=(_AHEAD, _SEVERAL, _AT_ONCE),
    find=find,
    explains=classes.named("read write"),
    settled_by=next_command.DEVICE,
    beats=("device-saturated",),
)  # fmt: skip
