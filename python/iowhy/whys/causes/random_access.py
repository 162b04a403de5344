"""The application jumps within its files."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.calls import Walk
from iowhy.whys.facts.job import Job
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

LARGE_BYTES = 256 * 1024
DEPTH = 4.0
CONTIGUOUS = 0.8
REQUESTS_MIN = 32
# Of a job: fewer take less than a second of a parallel filesystem.
JOB_CALLS = 1_000
BY_CALLS = 0.5
# Of a file that is read so far, and of what is read, to read all of it in order first.
MOST = 0.5
PRINTED_SEEKS = 0.8


def find(facts: Facts) -> Candidate | None:
    """Calls jump and so do the requests, on a device that seeks."""
    if facts.job is not None:
        return _of_job(facts, facts.job)
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
    remedies = _remedies(facts, waits)
    return Candidate(
        claims=(Claim(waits, calls=calls),),
        chain=_chain(
            facts,
            links.in_these_calls(facts, waits, calls, "is spent waiting for I/O"),
            jumping,
            service,
        ),
        summary=worded(
            "random-access.device-seeks",
            "waiting while {device} seeks: {jumps:share} of its requests jump, {service:ns} each",
            device=requests.device or "the device",
            jumps=requests.jump_share,
            service=service,
        ),
        saving=saving.all_but_moving(facts, waits, requests.bytes, "if accessed in order"),
        remedies=tuple(remedies),
        by_remedy=remedies,
        against=()
        if jumping
        else ("offsets of calls were not seen, so that it jumps is concluded from its requests",),
        confidence=0.85 if jumping else 0.7,
        needs=("syscalls", "block_requests", "extents"),
    )


def _chain(
    facts: Facts,
    first: Link | None,
    jumping: list[tuple[Walk, tuple[str, ...], str]],
    service: float,
) -> tuple[Link, ...]:
    """How calls and requests jump, and how long the device takes for it."""
    return chain_of(
        first,
        *(
            link(
                f"{percent(walk.jump_share)} of the {words} do not start where the last one ended; "
                f"median size {size(walk.median_bytes)}",
                walk.jump_share,
                "share",
                "events",
                "random-access.jump-share",
            )
            for walk, _, words in jumping
        ),
        links.request_shape(facts),
        link(
            links.answered_in(facts, service)
            + (": the seek takes it, not the data" if evidence.alone_on_its_device(facts) else ""),
            service,
            "ns",
            "request-latency",
            "random-access.service",
        ),
    )


def _remedies(facts: Facts, waits: frozenset[str]) -> dict[Remedy, Saving]:
    """What helps, with what it saves: in order; from memory, unless it goes past the page cache or only writes; from a device that
    does not seek. If most of a file is read, in whatever order, all of it is quicker, in order.
    """
    what, moved = named.data(facts), facts.requests.bytes
    in_order = saving.all_but_moving(facts, waits, moved, "if accessed in order")
    found = {
        replace(
            _IN_ORDER,
            do=worded(
                "random-access.in-order",
                "Access {what} in the order of offsets",
                what=what,
            ),
        ): in_order
    }
    if facts.requests.direction == "read" and not evidence.direct_io(facts):
        first, whole = evidence.read_first(facts), _whole_bytes(facts)
        if whole is None:
            found[first] = saving.all_of_it("if it is in memory")
        else:
            found = {first: saving.all_but_moving(facts, waits, whole, "in order"), **found}
    found[
        replace(
            _NO_SEEKS,
            do=worded(
                "random-access.fast-disk",
                "Move {what} to an SSD, which does not seek",
                what=what,
            ),
        )
    ] = saving.all_but_moving(facts, waits, moved, "without seeks")
    return found


def _whole_bytes(facts: Facts) -> float | None:
    """The size of the file that it reads, if it reads most of it through the page cache, which has room for all."""
    owner, cache = next(iter(facts.requests.owners), None), facts.cache
    file = None if owner is None else facts.layout.file(owner.dev, owner.ino)
    if owner is None or file is None or not cache.added or owner.time_share < MOST:
        return None
    room, through = facts.machine.cache_room_bytes, cache.added * facts.page_bytes
    fits = room is None or file.bytes <= room
    return file.bytes if fits and min(owner.bytes, through) >= MOST * file.bytes else None


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
    """Page faults and asynchronous calls show no offsets; if the file is in one piece, the layout is not the reason."""
    if any(walk.jump_share is not None for walk in (facts.calls.reading, facts.calls.writing)):
        return False
    # Calls that did it, each alone in its file: the device goes from file to file, not within them.
    called = (facts.calls.reads.done_bytes or 0.0) + (facts.calls.writes.done_bytes or 0.0)
    if called >= BY_CALLS * facts.requests.bytes:
        return False
    owner = facts.requests.owners[0] if facts.requests.owners else None
    file = facts.layout.file(owner.dev, owner.ino) if owner else None
    return file is not None and file.sequentiality >= CONTIGUOUS


def _printed(facts: Facts) -> Candidate | None:
    """filemon's seek share with a file that is contiguous on disk."""
    measured = facts.measured
    seeks = max(measured.metric("seek_share").values(), default=None)
    order = min(measured.metric("sequentiality").values(), default=None)
    if seeks is None or seeks < PRINTED_SEEKS or order is None or order < CONTIGUOUS:
        return None
    return Candidate(
        claims=(Claim(classes.STORAGE),),
        chain=(
            link(f"{percent(seeks)} of the requests need a seek", seeks, "share",
                 "measurements", "random-access.seeks"),
            link(f"yet the file is contiguous on disk (sequentiality {percent(order)})", order, "share",
                 "measurements", "random-access.order"),
        ),
        summary=worded("random-access.in-file", "waiting while the device seeks within a contiguous file"),
        saving=saving.all_of_it("if accessed in order"),
        confidence=0.7,
        fixed_share=None if facts.budget.known else seeks,
        share_of="the requests",
    )  # fmt: skip


def _of_job(facts: Facts, job: Job) -> Candidate | None:
    """Most calls of a job go back in the file."""
    ways = [
        (cls, way, word)
        for cls, way, word in (
            (classes.READ, job.reads, "reads"),
            (classes.WRITE, job.writes, "writes"),
        )
        if way.calls >= JOB_CALLS
        and 1 - way.sequential / way.calls >= thresholds.JUMPS
        and way.mean <= LARGE_BYTES
        and facts.budget.elapsed(cls) >= thresholds.LISTED
    ]
    if not ways:
        return None
    return Candidate(
        claims=(Claim(frozenset(cls for cls, _, _ in ways)),),
        chain=tuple(
            link(
                f"{percent(1 - way.sequential / way.calls)} of {count(way.calls)} {word} go back in the file, {size(way.mean)} each",
                1 - way.sequential / way.calls,
                "share",
                "measurements",
                "random-access.measurements",
            )
            for _, way, word in ways
        ),
        summary=worded(
            "random-access.jumps",
            "in {calls} that jump within their files",
            calls=" and ".join(word for _, _, word in ways),
        ),
        saving=saving.half("jumps"),
        remedies=(_IN_ORDER,),
        confidence=0.7,
    )


_IN_ORDER = Remedy(
    worded("random-access.in-order-any", "Access its files in the order of offsets"),
    risk="results come in another order",
    for_authors=True,
)
_NO_SEEKS = Remedy(
    worded("random-access.fast-disk-any", "Move its files to an SSD, which does not seek"),
    risk="downtime for the move; the SSD costs money",
)

CAUSE = Cause(
    name="random-access",
    title="Random access within files",
    meaning=(
        "The application asks for places far apart, and the device seeks for each. The files are "
        "contiguous on disk; in file-fragmented it is the other way round: calls in order, files in pieces."
    ),
    measured=(
        "The share of calls that do not start where the thread's last one in that file ended, the "
        "same for requests on the device, the service time, and the files' extents."
    ),
    thresholds=(
        Threshold(
            "calls and requests that jump", thresholds.JUMPS, "share",
            "from half on, most of the device's moves are jumps",
        ),
        Threshold(
            "of the bytes that requests move, those that calls with offsets did, at least", BY_CALLS, "share",
            "if each call is alone in its file, as with many small files that are read whole, the device goes from file to file",
        ),
        Threshold(
            "mean service time", thresholds.SEEK_NS, "ns",
            "a disk's seek and half turn take 4 to 12 ms; if jumps are free (flash, memory), "
            "they are not a cause",
        ),
        Threshold(
            "requests in flight, below", DEPTH, "requests",
            "with more, the device orders them and is itself the limit (device-saturated)",
        ),
        Threshold(
            "request size, at most", LARGE_BYTES, "bytes",
            "2 ms of transfer at 130 MB/s: above it a jump is a small part of a request",
        ),
        Threshold("requests, at least", REQUESTS_MIN, "requests", "fewer have no pattern"),
        Threshold(
            "sequentiality of a contiguous file, at least", CONTIGUOUS, "share",
            "four of five blocks follow the one before: the layout cannot make most requests jump",
        ),
        Threshold(
            "requests that need a seek, printed by another tool", PRINTED_SEEKS, "share",
            "tools that print it count short hops too: only nearly all of them show that it jumps",
        ),
    ),
    fooled_by=(
        "several streams, each in order, on one disk: the requests jump, the calls do not",
        "mmap shows no offsets of calls",
    ),
    remedies=(_IN_ORDER, evidence.READ_FIRST, _NO_SEEKS),
    experiment="fast-device",
    find=find,
    explains=classes.named("read write"),
    trouble="jumps",
    unseen_without=("block_requests",),
    settled_by=next_command.FILE,
    beats=("device-saturated", "queue-shallow", "cache-cold", "small-requests", "readahead-poor", "ranks-uneven", "io-not-overlapped"),
)  # fmt: skip
