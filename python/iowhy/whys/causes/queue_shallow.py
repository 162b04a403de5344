"""One request at a time, to a device that could serve many."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link

# Of the classes of waiting, those in which a deeper queue would have helped.
BOTH = frozenset({classes.READ, classes.WRITE})
DEPTH = 1.5
REQUESTS_MIN = 64
LARGE_BYTES = 128 * 1024


def find(facts: Facts) -> Candidate | None:
    """Requests come one by one, are small enough and quick enough that more could be under way."""
    requests = facts.requests
    if facts.budget.elapsed(*BOTH) < thresholds.LISTED:
        return None
    fraction = 1.0
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
        depth, service, median = device.depth, device.wait_ns, device.request_bytes
        if facts.budget.basis == "machine" and device.busy_share is not None:
            # Nobody waits for a device for longer than it has a request.
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
        summary="waits for one request at a time, to a device that could serve many at once",
        saving=saving.all_but_moving(
            facts,
            BOTH,
            requests.bytes,
            "with as many requests under way as the device serves at once",
        ),
        # What is read past the cache is read ahead by nobody.
        remedies=(_SEVERAL, _AT_ONCE) if evidence.direct_io(facts) else (),
        confidence=0.8,
        needs=("block_requests", "waits"),
    )


def _chain(facts: Facts, depth: float, service: float) -> tuple[Link, ...]:
    """What the requests are like, how many are under way, and how many that allows."""
    requests, elapsed = facts.requests, facts.run.elapsed_ns
    possible = f", so one at a time is at most {1e9 / service:,.0f} a second" if service > 0 else ""
    made = ""
    if requests.count and elapsed:
        made = f"; {requests.count * 1e9 / elapsed:,.0f} were made"
    return chain_of(
        links.in_calls(facts, BOTH, "waits for I/O"),
        links.request_shape(facts),
        link(
            f"{depth:.1f} requests are in flight on average, while there is any",
            depth,
            "requests",
            "devices",
        ),
        link(
            f"the device answers in {duration(service)}{possible}{made}",
            service,
            "ns",
            "request-latency" if requests.count else "devices",
        ),
        None
        if requests.own_busy_share is None
        else link(
            f"it has a request of {facts.run.who} in {percent(requests.own_busy_share)} of the run",
            requests.own_busy_share,
            "share",
            "devices",
        ),
    )


_AHEAD = "ask for more ahead: a larger readahead (blockdev --setra), posix_fadvise, larger buffers"
_SEVERAL = "keep several requests under way: io_uring or libaio, more threads, fio --iodepth"
_AT_ONCE = "run several of it at once, each for a part of the work (xargs -P)"

CAUSE = Cause(
    name="queue-shallow",
    title="One request at a time",
    meaning=(
        "The command asks, waits, asks again. The device, which has many channels or can order its "
        "work, idles for most of what it could do; the time is latency, not bandwidth."
    ),
    measured="Mean number of the command's requests in flight while there is one, and their service.",
    thresholds=(
        Threshold(
            "requests in flight", DEPTH, "requests",
            "one at a time, and a read ahead now and then",
        ),
        Threshold(
            "service time", thresholds.SEEK_NS, "ns",
            "above it the device seeks: a deeper queue helps such a device little, order helps",
        ),
        Threshold(
            "request size, below", LARGE_BYTES, "bytes",
            "larger requests keep a device busy one by one",
        ),
        Threshold(
            "requests of a disk that turns that jump, at least", thresholds.IN_ORDER, "share",
            "it has one head: what lies in order it moves as fast one by one",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "fewer have no usual depth"),
    ),
    fooled_by=(
        "a device with a single channel (an SD card) gains nothing from depth",
        "a throttle above the queue (io.max) makes it shallow: io-throttled looks for that",
    ),
    remedies=(_AHEAD, _SEVERAL, _AT_ONCE),
    for_authors=frozenset({_SEVERAL}),
    experiment=None,
    find=find,
    settled_by=next_command.DEVICE,
    beats=("device-saturated",),
)  # fmt: skip
