"""The application jumps in its files."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.calls import Walk
from iowhy.whys.finding import Candidate, Claim, Link

LARGE_BYTES = 256 * 1024
DEPTH = 4.0
CONTIGUOUS = 0.8
REQUESTS_MIN = 32
BY_CALLS = 0.5
PRINTED_SEEKS = 0.8


def find(facts: Facts) -> Candidate | None:
    """Calls jump and so do the requests, on a device where the way costs."""
    requests = facts.requests
    if not requests.known or requests.count < REQUESTS_MIN or requests.jump_share is None:
        return _printed(facts)
    if requests.jump_share < thresholds.JUMPS or _large(requests.median_bytes):
        return None
    service, depth = requests.mean_service_ns, requests.own_depth
    if service is None or service < thresholds.SEEK_NS or depth is None or depth >= DEPTH:
        return None
    if evidence.fragmented_files(facts):
        return None
    jumping = _jumping(facts)
    waits = frozenset(cls for _, classes_, _ in jumping for cls in classes_)
    if not jumping:
        if not _layout_is_innocent(facts):
            return None
        waits = frozenset({classes.READ, classes.WRITE})
    calls = evidence.calls_that_wait(facts, waits) if jumping else None
    if evidence.waiting_in(facts, waits, calls) < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(waits, calls=calls),),
        chain=_chain(
            facts, links.in_these_calls(facts, waits, calls, "waits for I/O"), jumping, service
        ),
        summary="waits while the device goes from place to place, because the application jumps",
        saving=saving.all_but_moving(facts, waits, requests.bytes, "if it asked for them in order"),
        against=()
        if jumping
        else ("no offsets of calls were seen: that it jumps is concluded from its requests",),
        confidence=0.85 if jumping else 0.7,
        needs=("syscalls", "block_requests", "extents"),
    )


def _chain(
    facts: Facts,
    first: Link | None,
    jumping: list[tuple[Walk, tuple[str, ...], str]],
    service: float,
) -> tuple[Link, ...]:
    """How calls and requests jump, and what the device takes for it."""
    return chain_of(
        first,
        *(
            link(
                f"{percent(walk.jump_share)} of the {words} begin elsewhere than where the last "
                f"one ended; {size(walk.median_bytes)} each in the median",
                walk.jump_share,
                "share",
                "events",
            )
            for walk, _, words in jumping
        ),
        links.request_shape(facts),
        link(
            links.answered_in(facts, service)
            + (
                ": the way to the data, not the data" if evidence.alone_on_its_device(facts) else ""
            ),
            service,
            "ns",
            "request-latency",
        ),
    )


def _large(bytes_: float | None) -> bool:
    return bytes_ is not None and bytes_ > LARGE_BYTES


def _jumping(facts: Facts) -> list[tuple[Walk, tuple[str, ...], str]]:
    """The directions in which calls jump: how they walk, what waits for them, their name."""
    return [
        (walk, waits, words)
        for walk, waits, words in (
            (facts.calls.reading, (classes.READ,), "reads"),
            (facts.calls.writing, (classes.WRITE, classes.SYNC), "writes"),
        )
        if walk.jump_share is not None
        and walk.jump_share >= thresholds.JUMPS
        and not _large(walk.median_bytes)
    ]


def _layout_is_innocent(facts: Facts) -> bool:
    """Page faults and asynchronous calls show no offsets; a file in one piece acquits the layout."""
    if any(walk.jump_share is not None for walk in (facts.calls.reading, facts.calls.writing)):
        return False
    # Calls that did it, each alone in its file: the way is from file to file, and not in them.
    called = (facts.calls.reads.done_bytes or 0.0) + (facts.calls.writes.done_bytes or 0.0)
    if called >= BY_CALLS * facts.requests.bytes:
        return False
    owner = facts.requests.owners[0] if facts.requests.owners else None
    file = facts.layout.file(owner.dev, owner.ino) if owner else None
    return file is not None and file.sequentiality >= CONTIGUOUS


def _printed(facts: Facts) -> Candidate | None:
    """filemon's seek share with a file that lies in order."""
    measured = facts.measured
    seeks = max(measured.metric("seek_share").values(), default=None)
    order = min(measured.metric("sequentiality").values(), default=None)
    if seeks is None or seeks < PRINTED_SEEKS or order is None or order < CONTIGUOUS:
        return None
    return Candidate(
        claims=(Claim(classes.STORAGE),),
        chain=(
            link(f"{percent(seeks)} of the requests need a seek", seeks, "share",
                 "measurements"),
            link(f"though the file lies in order (sequentiality {percent(order)})", order, "share",
                 "measurements"),
        ),
        summary="waits while the device goes from place to place, because the application jumps",
        saving=saving.all_of_it("if it asked for them in order"),
        confidence=0.7,
        fixed_share=None if facts.budget.known else seeks,
        share_of="the requests",
    )  # fmt: skip


_IN_ORDER = "sort the accesses by offset, or batch them"

CAUSE = Cause(
    name="random-access",
    title="It jumps in its files",
    meaning=(
        "The application itself asks for places far apart, and the device pays a seek for each. "
        "The files lie in order: told from file-fragmented, where the calls are in order and the "
        "layout is not."
    ),
    measured=(
        "The share of calls that do not begin where the thread's last one in that file ended, the "
        "same of the requests on the device, the service time, and the files' extents."
    ),
    thresholds=(
        Threshold(
            "calls and requests that jump", thresholds.JUMPS, "share",
            "from half on, most of the device's moves are jumps",
        ),
        Threshold(
            "of the bytes that requests move, those that calls with offsets did, at least", BY_CALLS, "share",
            "where each is alone in its file, as of many small files that are read whole, the device goes from file to file",
        ),
        Threshold(
            "mean service time", thresholds.SEEK_NS, "ns",
            "a disk's seek and half turn take 4 to 12 ms; where jumps are free (flash, memory), "
            "they are no cause",
        ),
        Threshold(
            "requests in flight, below", DEPTH, "requests",
            "with more, the device orders them and is the limit itself (device-saturated)",
        ),
        Threshold(
            "request size, at most", LARGE_BYTES, "bytes",
            "2 ms of transfer at 130 MB/s: beyond it a jump is a small part of a request",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "fewer have no pattern"),
        Threshold(
            "sequentiality of a file that is in order, at least", CONTIGUOUS, "share",
            "four of five blocks follow the one before: the layout cannot be why most requests jump",
        ),
        Threshold(
            "requests that need a seek, printed by another tool", PRINTED_SEEKS, "share",
            "a tool that prints it counts short hops too: only nearly all of them say that it jumps",
        ),
    ),
    fooled_by=(
        "several streams, each in order, on one disk: the requests jump, the calls do not",
        "mmap shows no offsets of calls",
    ),
    remedies=(
        _IN_ORDER,
        "keep the part that is used in memory (a larger cache, a smaller index)",
        "use a device without seek time",
    ),
    for_authors=frozenset({_IN_ORDER}),
    experiment="fast-device",
    find=find,
    unseen_without=("block_requests",),
    settled_by=next_command.FILE,
    beats=("device-saturated", "queue-shallow", "cache-cold", "small-requests", "readahead-poor"),
)  # fmt: skip
