"""Readahead reads what nobody uses, or is missing for reads in order."""

import re

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

WASTED = 0.5
PAGES_MIN = 1024
SMALL_BYTES = 32 * 1024
OF_ALL = 0.25
WHOLE = 0.5
# What flash takes for a request without its bytes.
FLASH_NS = 1e5


def find(facts: Facts) -> Candidate | None:
    """Pages read ahead and never used, or reads in order that miss page by page."""
    cache = facts.cache
    if facts.run.pasted or not cache.known or not cache.added or cache.added < PAGES_MIN:
        return None
    if facts.budget.elapsed(classes.READ) < thresholds.LISTED:
        return None
    return _wasted(facts) or _missing(facts)


def _wasted(facts: Facts) -> Candidate | None:
    cache = facts.cache
    if cache.wasted_share is None or not cache.readahead or not cache.added:
        return None
    fraction = cache.wasted_share * cache.readahead / cache.added
    if cache.wasted_cost is not None:
        # Reading in vain costs nothing if reading the file costs nothing.
        fraction = cache.wasted_cost
    saved = _saved_by_less(facts)
    if cache.wasted_share < WASTED or fraction < OF_ALL or saved < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), fraction=fraction),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.READ}), "is spent waiting to read"),
            link(
                f"readahead read {count(cache.readahead)} pages "
                f"({size(cache.readahead * facts.page_bytes)})",
                cache.readahead,
                "pages",
                "cache",
                "readahead-poor.readahead",
            ),
            link(
                f"{percent(cache.wasted_share)} of them were never asked for",
                cache.wasted_share,
                "share",
                "cache",
                "readahead-poor.wasted-share",
            ),
            None
            if cache.wasted_cost is None
            else link(
                f"reading them is {percent(fraction)} of the time of the requests to its files",
                fraction,
                "share",
                "files",
                "readahead-poor.fraction",
            ),
            links.request_shape(facts),
        ),
        summary=worded(
            "readahead-poor.unused",
            "while the kernel read pages ahead, {wasted:share} of which were never used",
            wasted=cache.wasted_share,
        ),
        saving=Saving(
            min(1.0, saved / fraction), "if only what is asked for is read, a request for each page"
        ),
        remedies=(_marked(facts, _RANDOM), set_readahead(facts, up=False)),
        needs=("page_cache",),
        confidence=0.8,
    )


def _saved_by_less(facts: Facts) -> float:
    """Of the time of its reads, what goes if each page that is used takes a request, and no other page is read.

    One request that brings many pages that are used becomes many: that costs what a request takes without its bytes.
    """
    cache, requests = facts.cache, facts.requests
    # What a fault brings within reach counts as used in mapped memory: no more is than was asked for.
    wanted = (cache.misses or 0) + (cache.prefetched_hits or 0)
    wanted = min(wanted, cache.lookups or wanted)
    service = requests.mean_service_ns
    elapsed_ns = facts.shares_of_ns
    if service is None or not requests.reads or not elapsed_ns:
        return 1.0
    waiting_ns = facts.budget.elapsed(classes.READ) * elapsed_ns
    rate = saving.in_order_rate(facts, requests.read_bytes, waiting_ns)
    if rate is None:
        return 1.0
    page_ns = facts.page_bytes * 1e9 / rate.bytes_per_s
    fixed_ns = max(0.0, service - requests.read_bytes / requests.reads * 1e9 / rate.bytes_per_s)
    if requests.rotational is False:
        # The mean is of large ones that wait for each other, too.
        fixed_ns = min(fixed_ns, FLASH_NS)
    return 1 - wanted * (fixed_ns + page_ns) / (requests.reads * service)


def _missing(facts: Facts) -> Candidate | None:
    cache, walk, requests = facts.cache, facts.calls.reading, facts.requests
    if cache.misses is None or not cache.added or walk.jump_share is None:
        return None
    alone = cache.misses / cache.added
    in_order = walk.jump_share < thresholds.IN_ORDER
    small = requests.median_bytes is not None and requests.median_bytes <= SMALL_BYTES
    waits = frozenset({classes.READ})
    calls = evidence.calls_that_wait(facts, waits)
    if alone < WASTED or not in_order or not small:
        return None
    if (cache.whole_share or 0.0) >= WHOLE:
        # Readahead ends where a file does.
        return None
    if evidence.waiting_in(facts, waits, calls) < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(waits, calls=calls),),
        chain=chain_of(
            links.in_these_calls(facts, waits, calls, "is spent waiting to read"),
            link(
                f"only {percent(walk.jump_share)} of the reads jump, so reading ahead would pay",
                walk.jump_share,
                "share",
                "events",
                "readahead-poor.jump-share",
            ),
            link(
                f"yet {percent(alone)} of the pages were read only when asked for",
                alone,
                "share",
                "cache",
                "readahead-poor.alone",
            ),
            links.request_shape(facts),
        ),
        summary=worded(
            "readahead-poor.without",
            "reading in order without readahead, {request:bytes} at a time",
            request=requests.median_bytes,
        ),
        saving=saving.all_but_moving(facts, (classes.READ,), requests.bytes, "if read ahead"),
        remedies=(set_readahead(facts, up=True), _marked(facts, _HINT)),
        needs=("page_cache", "block_requests"),
        confidence=0.85,
    )


#: In sectors of 512 bytes: 16 KiB, 4 MiB (the kernel's default is 256, 128 KiB).
_LESS_AHEAD, _MORE_AHEAD = 32, 8192
_DISK = re.compile(r"[a-z]+[a-z0-9-]*")
_RANDOM = Remedy(
    worded(
        "readahead-poor.mark-random",
        "Mark the access as random: posix_fadvise with POSIX_FADV_RANDOM",
    ),
    risk="reading it in order gets slower",
    for_authors=True,
)
_HINT = Remedy(
    worded(
        "readahead-poor.mark-sequential",
        "Mark the access as sequential: posix_fadvise with POSIX_FADV_SEQUENTIAL",
    ),
    risk="random reads of it read more than they use",
    for_authors=True,
)
SET = Remedy(
    worded(
        "readahead-poor.set-readahead-any",
        "Set the device's readahead to fit the access (`blockdev --setra`)",
    ),
    risk="other programs on the device may read in vain",
)


def _marked(facts: Facts, one: Remedy) -> Remedy:
    """The call with its file: that of mapped memory, if page faults are what reads."""
    way = "RANDOM" if one == _RANDOM else "SEQUENTIAL"
    call = (
        f"madvise(start, length, MADV_{way}) on its mapping"
        if named.maps(facts)
        else f"posix_fadvise(fd, 0, 0, POSIX_FADV_{way})"
    )
    return replace(
        one,
        do=worded(
            "readahead-poor.mark-mapping",
            "Mark {data} as {lower}: {call}",
            data=named.data(facts),
            lower=way.lower(),
            call=call,
        ),
    )


def set_readahead(facts: Facts, *, up: bool) -> Remedy:
    """Raise or lower the readahead of the device, with its name if that is known."""
    name = facts.requests.device
    if name is None or not _DISK.fullmatch(name):
        return SET
    sectors, risk = (
        (_MORE_AHEAD, "random reads on it read more than they use")
        if up
        else (_LESS_AHEAD, "reading in order from it gets slower")
    )
    return Remedy(
        worded(
            "readahead-poor.set-readahead",
            "{value} the readahead of {name}: `blockdev --setra {sectors} /dev/{name}`",
            value="Raise" if up else "Lower",
            name=name,
            sectors=sectors,
        ),
        risk=risk,
    )


CAUSE = Cause(
    name="readahead-poor",
    title="Readahead that does not fit the access",
    meaning=(
        "The kernel guesses what will be read next. If access is random, it reads pages that "
        "nobody uses; if it is switched off, reads in order wait for every page."
    ),
    measured="Pages that readahead added, first lookups of such pages, and pages read on demand.",
    thresholds=(
        Threshold(
            "pages read ahead and never used", WASTED, "share",
            "then readahead costs more reads than it saves",
        ),
        Threshold(
            "of all pages read, unused ones, at least", OF_ALL, "share",
            "fewer hardly slow down a large sequential read",
        ),
        Threshold(
            "request size, at most, if readahead is missing", SMALL_BYTES, "bytes",
            "readahead makes requests of 128 KiB and more; smaller ones mean it is off",
        ),
        Threshold(
            "pages read, those of files no larger than what is read ahead (128 KiB), if readahead is missing, below", WHOLE, "share",
            "of such a file one request brings all, whatever the readahead",
        ),
        Threshold(
            "what a request takes without its bytes on a device that does not turn, at most", FLASH_NS, "ns",
            "flash answers a small one in that time",
        ),
        Threshold("pages read, at least", PAGES_MIN, "pages", "4 MiB: less has no pattern"),
    ),
    fooled_by=(
        "a recording that ends before the pages are used",
        "cache-thrash evicts pages that were read ahead before they are used",
    ),
    remedies=(_RANDOM, _HINT, SET),
    find=find,
    explains=classes.named("read"),
    trouble="jumps",
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=("cache-cold", "device-saturated", "queue-shallow", "small-requests"),
)  # fmt: skip
