"""Readahead brings what nobody uses, or nothing where it should."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

WASTED = 0.5
PAGES_MIN = 1024
SMALL_BYTES = 32 * 1024
OF_ALL = 0.25


def find(facts: Facts) -> Candidate | None:
    """Pages read ahead and never looked at, or reads in order that miss page by page."""
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
        # What is read in vain of a file that costs nothing to read costs nothing.
        fraction = cache.wasted_cost
    if cache.wasted_share < WASTED or fraction < OF_ALL:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), fraction=fraction),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.READ}), "waits to read"),
            link(
                f"readahead brought {count(cache.readahead)} pages "
                f"({size(cache.readahead * facts.page_bytes)})",
                cache.readahead,
                "pages",
                "cache",
            ),
            link(
                f"{percent(cache.wasted_share)} of them were never asked for",
                cache.wasted_share,
                "share",
                "cache",
            ),
            None
            if cache.wasted_cost is None
            else link(
                f"{percent(fraction)} of the time of the requests that read its files brings such pages",
                fraction,
                "share",
                "files",
            ),
            links.request_shape(facts),
        ),
        summary="reads pages ahead that nobody asks for",
        saving=saving.all_of_it("if only what is asked for is read"),
        remedy=_RANDOM,
        needs=("page_cache",),
        confidence=0.8,
    )


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
    if evidence.waiting_in(facts, waits, calls) < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(waits, calls=calls),),
        chain=chain_of(
            links.in_these_calls(facts, waits, calls, "waits to read"),
            link(
                f"only {percent(walk.jump_share)} of the reads jump, so reading ahead would pay",
                walk.jump_share,
                "share",
                "events",
            ),
            link(
                f"yet {percent(alone)} of the pages were read only when asked for",
                alone,
                "share",
                "cache",
            ),
            links.request_shape(facts),
        ),
        summary="reads in order without readahead, page by page",
        saving=saving.all_but_moving(
            facts, (classes.READ,), requests.bytes, "if it is read ahead of the need"
        ),
        remedy="turn readahead on (blockdev --setra, read_ahead_kb; no POSIX_FADV_RANDOM)",
        needs=("page_cache", "block_requests"),
        confidence=0.85,
    )


_RANDOM = "tell the kernel that access is random (posix_fadvise or madvise RANDOM)"
_HINT = "give the kernel the right hint (posix_fadvise, madvise)"

CAUSE = Cause(
    name="readahead-poor",
    title="Readahead does not fit the access",
    meaning=(
        "The kernel guesses what will be read next. Where access is random it brings pages that "
        "nobody uses; where it is switched off, reads in order wait for every page."
    ),
    measured="Pages that readahead added, first lookups of such pages, and pages read on demand.",
    thresholds=(
        Threshold(
            "pages read ahead and never used", WASTED, "share",
            "then readahead costs more reads than it saves",
        ),
        Threshold(
            "of all pages read, unused ones, at least", OF_ALL, "share",
            "fewer cost a large sequential read little more",
        ),
        Threshold(
            "request size, at most, for readahead that is missing", SMALL_BYTES, "bytes",
            "readahead makes requests of 128 KiB and more; smaller ones mean it is off",
        ),
        Threshold("pages read, at least", PAGES_MIN, "pages", "4 MiB: less has no pattern"),
    ),
    fooled_by=(
        "a recording that ends before the pages are used",
        "cache-thrash evicts pages that were read ahead before they are used",
    ),
    remedies=(
        _HINT,
        "set the device's readahead (blockdev --setra)",
    ),
    for_authors=frozenset({_RANDOM, _HINT}),
    experiment=None,
    find=find,
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=("cache-cold", "device-saturated", "queue-shallow", "small-requests"),
)  # fmt: skip
