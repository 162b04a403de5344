"""Data is read for the first time: it is not in memory yet."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.cache_thrash import MORE_MEMORY
from iowhy.whys.causes.readahead_poor import SET, set_readahead
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts, fetching
from iowhy.whys.facts.file_sets import read_most
from iowhy.whys.facts.in_order import DIFFER, JUMPS_MIN
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

PAGES_MIN = 32
THROUGH_CACHE = 0.5
FIRST_TIME = 0.5
# A file with a smaller share is one among many.
MOST = 0.2
# Files with a smaller share are some of several kinds.
SET_MOST = 0.5
# Larger requests cost more for their bytes than for the seek; with more in flight the device picks the order.
SMALL_BYTES = 256 * 1024
DEPTH = 4.0
# Of the pages, those of files that readahead's window holds whole, from which readahead has nothing to add.
WHOLE = 0.5


def find(facts: Facts) -> Candidate | None:
    """Reads that go through the page cache and do not find their data there yet."""
    cache, requests = facts.cache, facts.requests
    reading = facts.budget.elapsed(classes.READ)
    if not cache.known or not cache.added or cache.added < PAGES_MIN or reading < thresholds.LISTED:
        return None
    if facts.run.pasted:
        return None
    # If unknown, all of them may be: that lowers the confidence, and no number is given.
    first = 1.0 if cache.reread_share is None else 1 - cache.reread_share
    part = first if cache.reread_cost is None else 1 - cache.reread_cost
    # What it wrote past the cache itself was in its hands: to read it back is no first read.
    first, part = first - cache.written_past_share, part - cache.written_past_share
    read = requests.read_bytes if requests.known and requests.read_bytes else None
    bytes_ = cache.added * facts.page_bytes
    through = 1.0 if read is None else min(1.0, bytes_ / read)
    if first < FIRST_TIME or through < THROUGH_CACHE:
        return None
    room, way = facts.machine.cache_room_bytes, _the_way(facts)
    fits = room is None or bytes_ <= room
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), fraction=part), *_fetching(facts, part)),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.READ}), "is spent waiting for reads"),
            link(
                f"{count(cache.added)} pages ({size(bytes_)}) were not in the page cache",
                cache.added,
                "pages",
                "cache",
                "cache-cold.added",
            ),
            None
            if cache.reread_share is None
            else link(
                f"{percent(first)} of these pages were read for the first time in this recording",
                first,
                "share",
                "cache",
                "cache-cold.first",
            ),
            _heaviest(facts) or _set(facts),
            *way,
            links.device_load(facts),
        ),
        summary=worded(
            "cache-cold.cold", "reading {read:bytes} that was not in memory yet", read=bytes_
        ),
        saving=saving.all_of_it("if all data is in memory") if fits else saving.half("bytes"),
        by_depth=_at_once(facts, read or bytes_),
        by_order=saving.in_disk_order(facts, requests.read_bytes) if way else _NOTHING,
        remedies=_remedies(facts)
        if fits
        else (_part(facts), set_readahead(facts, up=True), MORE_MEMORY),
        needs=("page_cache", "waits"),
        lowered_by=("it is not known whether these pages had been read before this recording",)
        if cache.refaults is None
        else (),
        confidence=0.85,
    )


def _at_once(facts: Facts, moved_bytes: float) -> Saving:
    """Twice as many at once take half of the time, unless the device moves no more."""
    moves = saving.all_but_moving(facts, (classes.READ,), moved_bytes, "with more reads at once")
    return min(saving.twice("reads at once"), moves, key=lambda one: one.part)


def _fetching(facts: Facts, part: float) -> tuple[Claim, ...]:
    """What it computes itself to have these pages read goes where the reads go."""
    part *= fetching.of_kernel(facts.relations)
    return (Claim(frozenset({classes.KERNEL}), fraction=part, follows=True),) if part > 0 else ()


def _heaviest(facts: Facts) -> Link | None:
    """The file that takes most of the time in reads; if that is not known, the one with most pages."""
    cache = facts.cache
    path, share, report = cache.costliest_path, cache.costliest_share, "files"
    verb, whole = "takes", "the time in reads"
    if share is None:
        path, share, report = cache.top_path, cache.top_share, "cache"
        verb, whole = "has", "these pages"
    if path is None or share is None or share < MOST:
        return None
    return link(
        f"{path} {verb} {percent(share)} of {whole}", share, "share", report, "cache-cold.share"
    )


def _set(facts: Facts) -> Link | None:
    """The files of one kind that take most of the time in reads."""
    found = read_most(facts.relations)
    if found is None or found.share < SET_MOST:
        return None
    return link(
        f"{count(found.files)} files {found.pattern} take {percent(found.share)} of the time in reads",
        found.share,
        "share",
        "files",
        "cache-cold.set",
    )


def _the_way(facts: Facts) -> tuple[Link | None, ...]:
    """Why few bytes take long: requests that jump, on a device that seeks."""
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
        link(
            links.answered_in(facts, service),
            service,
            "ns",
            "request-latency",
            "cache-cold.service",
        ),
    )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    """What was removed or moved away is not read again."""
    whole = (facts.cache.whole_share or 0.0) >= WHOLE
    first = () if facts.inputs_gone else (evidence.read_first(facts),)
    return (*first, _NEXT_AHEAD if whole else set_readahead(facts, up=True), _part(facts))


def _part(facts: Facts) -> Remedy:
    return replace(
        _FEWER,
        do=worded(
            "cache-cold.index",
            "Read only what is needed of {data}, by an index of it",
            data=named.data(facts),
        ),
    )


# If seeks cost nothing, their order does not matter.
_NOTHING = Saving(0.0, "the order of reads costs no time here")
#: Readahead ends where a file does.
_NEXT_AHEAD = Remedy(
    worded(
        "cache-cold.prefetch",
        "Prefetch the next files with POSIX_FADV_WILLNEED while it works on the first",
    ),
    risk="what is prefetched and not used takes memory and device time",
    for_authors=True,
)
_FEWER = Remedy(
    worded("cache-cold.index-any", "Read only what is needed, by an index"),
    risk="an index that is not kept up to date finds too little",
    for_authors=True,
)

CAUSE = Cause(
    name="cache-cold",
    title="Reads of data that is not in memory yet",
    meaning=(
        "The program waits for data that nobody has read since it was last evicted. That is the "
        "price of a first read: a second one finds the data in memory."
    ),
    measured=(
        "Pages that the program's reads and page faults add to the page cache, without those that had been "
        "there earlier in the recording; the time spent waiting for reads, with the CPU time of its calls and page faults that has "
        "pages read (sampled stacks)."
    ),
    thresholds=(
        Threshold(
            "median request for seeks to be mentioned, at most", SMALL_BYTES, "bytes",
            "larger requests cost more for their bytes than for the seek",
        ),
        Threshold(
            "requests in flight for seeks to be mentioned, below", DEPTH, "requests",
            "with more in flight the device picks the order",
        ),
        Threshold(
            "reads that jump for what their order could save, at least", JUMPS_MIN, "requests",
            "among fewer the quickest tenth is chance",
        ),
        Threshold(
            "time of the quickest tenth of them, compared with the mean, for the length of the way to count, at most", DIFFER, "share",
            "behind a network every way is as long, also to the place next to the last one",
        ),
        Threshold("pages read, at least", PAGES_MIN, "pages", "fewer are the start of a program, which takes about ten requests"),
        Threshold(
            "share of the pages read for the first time, at least", FIRST_TIME, "share",
            "else re-reading is the larger part (cache-thrash)",
        ),
        Threshold(
            "share of the bytes read through the page cache, at least", THROUGH_CACHE, "share",
            "direct I/O bypasses the cache",
        ),
    ),
    fooled_by=("a benchmark that drops the cache on purpose: then this is what it measures",),
    remedies=(evidence.READ_FIRST, SET, _FEWER),
    experiment="cache-warm",
    find=find,
    explains=classes.named("read kernel"),
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=("device-saturated", "queue-shallow", "cpu-serial", "cpu-saturated"),
)  # fmt: skip
