"""Pages are read for the first time."""

from iowhy.whys import classes, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

PAGES_MIN = 32
THROUGH_CACHE = 0.5
FIRST_TIME = 0.5
# A file of less than this of the pages is one among many.
MOST = 0.2


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
            None
            if cache.top_path is None or cache.top_share is None or cache.top_share < MOST
            else link(
                f"most for {cache.top_path} ({percent(cache.top_share)})",
                cache.top_share,
                "share",
                "cache",
            ),
            links.device_load(facts),
        ),
        summary="reads data that are not in memory yet",
        saving=saving.all_of_it("when the data are in memory") if fits else saving.half("bytes"),
        remedies=() if fits else _TOO_LARGE,
        needs=("page_cache", "waits"),
        lowered_by=("whether pages had been read before this recording is not known",)
        if cache.refaults is None
        else (),
        confidence=0.85,
    )


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
    remedies=(
        "run it again: what the first run read is in memory then",
        "read ahead of the need (vmtouch, posix_fadvise WILLNEED, a larger readahead)",
        "read fewer bytes (a smaller format, an index)",
    ),
    experiment="cache-warm",
    find=find,
    settled_by=next_command.CACHE,
    beats=("device-saturated", "queue-shallow"),
)  # fmt: skip
