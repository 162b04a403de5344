"""Pages are read for the first time."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.in_order import JUMPS_MIN, ways
from iowhy.whys.finding import Candidate, Claim, Link, Saving

PAGES_MIN = 32
THROUGH_CACHE = 0.5
FIRST_TIME = 0.5
# A file of less than this of the pages is one among many.
MOST = 0.2
# Of larger requests the bytes cost more than the way, and with more under way at once the device chooses it.
SMALL_BYTES = 256 * 1024
DEPTH = 4.0


def find(facts: Facts) -> Candidate | None:
    """Reads that go through the page cache and find nothing there yet."""
    cache, requests = facts.cache, facts.requests
    reading = facts.budget.elapsed(classes.READ)
    if not cache.known or not cache.added or cache.added < PAGES_MIN or reading < thresholds.LISTED:
        return None
    if facts.run.pasted:
        return None
    # Unknown, all of them may be: that lowers the confidence, and is not said as a number.
    first = 1.0 if cache.reread_share is None else 1 - cache.reread_share
    # Of the waiting: a page costs what reading its file costs.
    part = first if cache.reread_cost is None else 1 - cache.reread_cost
    read = requests.read_bytes if requests.known and requests.read_bytes else None
    through = 1.0 if read is None else min(1.0, cache.added * facts.page_bytes / read)
    if first < FIRST_TIME or through < THROUGH_CACHE:
        return None
    room = facts.machine.cache_room_bytes
    fits = room is None or cache.added * facts.page_bytes <= room
    way = _the_way(facts)
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), fraction=part),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.READ}), "waits to read"),
            link(
                f"{count(cache.added)} pages ({size(cache.added * facts.page_bytes)}) were not in the page "
                "cache",
                cache.added,
                "pages",
                "cache",
            ),
            None
            if cache.reread_share is None
            else link(
                f"{percent(first)} of them were read for the first time in this recording",
                first,
                "share",
                "cache",
            ),
            _heaviest(facts),
            *way,
            links.device_load(facts),
        ),
        summary="reads data that are not in memory yet",
        saving=saving.all_of_it("when the data are in memory") if fits else saving.half("bytes"),
        by_order=_by_order(facts) if way else _NOTHING,
        remedies=_remedies(facts) if fits else _TOO_LARGE,
        needs=("page_cache", "waits"),
        lowered_by=("whether pages had been read before this recording is not known",)
        if cache.refaults is None
        else (),
        confidence=0.85,
    )


def _heaviest(facts: Facts) -> Link | None:
    """The file whose reads take most of the time that reads take; where that is not known, the one with most pages."""
    cache = facts.cache
    path, share, report = cache.costliest_path, cache.costliest_share, "files"
    words = "of the time that reads take is for"
    if share is None:
        path, share, report, words = cache.top_path, cache.top_share, "cache", "of them are of"
    if path is None or share is None or share < MOST:
        return None
    return link(f"{percent(share)} {words} {path}", share, "share", report)


def _the_way(facts: Facts) -> tuple[Link | None, ...]:
    """What makes few bytes take long: requests that jump, on a device where the way costs."""
    requests = facts.requests
    service, depth = requests.mean_service_ns, requests.own_depth
    if requests.jump_share is None or requests.jump_share < thresholds.JUMPS:
        return ()
    if requests.median_bytes is None or requests.median_bytes > SMALL_BYTES:
        return ()
    if service is None or service < thresholds.SEEK_NS or depth is None or depth >= DEPTH:
        return ()
    return (
        links.request_shape(facts),
        link(links.answered_in(facts, service), service, "ns", "request-latency"),
    )


def _by_order(facts: Facts) -> Saving:
    """In order each file still takes a request, and some of the way to it: as the quickest of this run have."""
    found = ways(facts.relations, facts.requests)
    if found is None:
        return saving.all_but_moving(
            facts, (classes.READ,), facts.requests.read_bytes, "if it is read as it lies"
        )
    return Saving(
        found.part,
        "in the order in which it lies, if every request is as quick then as the quickest tenth: "
        f"{duration(found.quickest_ns)} in the place of {duration(found.mean_ns)}",
    )


def _remedies(facts: Facts) -> tuple[str, ...]:
    """What was moved away or removed is not read by a second run."""
    return (*evidence.warmed(facts, gone=facts.inputs_gone), _AHEAD, _FEWER)


# Where the way costs nothing, its order does not.
_NOTHING = Saving(0.0, "the way to the data takes no time")
_AHEAD = "read ahead of the need (vmtouch, posix_fadvise WILLNEED, a larger readahead)"
_FEWER = "read fewer bytes (a smaller format, an index)"

#: A second run finds nothing either: what it reads first is evicted by what it reads last.
_TOO_LARGE = (
    "read fewer bytes (a smaller format, an index): they do not all fit into memory",
    "read ahead of the need (posix_fadvise WILLNEED, a larger readahead)",
    "use a machine with more memory, or raise the limit: then a second run finds the data there",
)

CAUSE = Cause(
    name="cache-cold",
    title="The cache is cold",
    meaning=(
        "The command waits for data that no one has read since they were last evicted. It is the "
        "price of the first visit, and paid once, if there is a second one."
    ),
    measured=(
        "Pages added to the cache by the command's reads and faults, less those that had been there "
        "before in the recording; the time waiting to read."
    ),
    thresholds=(
        Threshold(
            "median request for the way to be said, at most", SMALL_BYTES, "bytes",
            "of larger ones the bytes cost more than the way to them",
        ),
        Threshold(
            "requests under way for the way to be said, below", DEPTH, "requests",
            "with more at once the device chooses the way",
        ),
        Threshold(
            "reads that jump for what their order can gain, at least", JUMPS_MIN, "requests",
            "of fewer the quickest tenth is chance",
        ),
        Threshold("pages read, at least", PAGES_MIN, "pages", "fewer are a program's own start, and take some ten requests"),
        Threshold(
            "of the pages, read for the first time", FIRST_TIME, "share",
            "else reading again is the larger part (cache-thrash)",
        ),
        Threshold(
            "of the bytes read, through the page cache", THROUGH_CACHE, "share",
            "direct I/O has no cache to be cold",
        ),
    ),
    fooled_by=("a benchmark that drops caches on purpose: then it is what was asked for",),
    remedies=(evidence.RUN_AGAIN, _AHEAD, _FEWER),
    for_authors=frozenset({_FEWER}),
    by_again=frozenset({evidence.RUN_AGAIN}),
    experiment="cache-warm",
    find=find,
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=("device-saturated", "queue-shallow"),
)  # fmt: skip
