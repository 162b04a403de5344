"""Pages are read again that were in the cache before: what is used does not fit."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.cache import Cache
from iowhy.whys.facts.evictors import Evictor, Kind
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.settle import matches

REREAD = 0.3
PAGES_MIN = 4096
HIT_RATIO = 0.9
CACHE_FULL = 0.05
GROWS = 0.5
FAR_BELOW = 0.1
# Of the pages that went, from which one reason stands for all of them.
MOST = 0.5

# Of what is asked for, found in memory: with less than that nothing is left for a smaller cache to take.
HITS_TO_LOSE = 0.2

# Pages went without want of memory: more of it, or smaller parts, would not keep them.
_NOT_FOR_WANT = frozenset({Kind.DAMON, Kind.GIVEN_UP, Kind.DROPPED})

_PARTS = "do all steps on one part before the next, with parts that fit"
_LIMIT = "raise the memory limit of its control group"
_MEMORY = "use a machine with more memory"
_EITHER = "raise the memory limit, or use a machine with more memory"
_PAST_IT = "read with O_DIRECT what will not be used again, so that it evicts nothing"

_REMEDIES = {
    Kind.DAMON: (
        "turn DAMON's proactive reclaim off, or give it what may stay (/sys/kernel/mm/damon/admin, damon_reclaim)",
        "keep what is used over again in the program's own memory",
        "touch it more often than DAMON's age for cold pages",
    ),
    Kind.DROPPED: (
        "have that program drop nothing that others use: no drop_caches, POSIX_FADV_DONTNEED only on files of its own",
        "keep what is used over again in the program's own memory",
        "lock the file in memory (vmtouch -l, mlock)",
    ),
    Kind.GIVEN_UP: (
        "give up pages (POSIX_FADV_DONTNEED) only after their last use, and do not mix direct and buffered I/O on a file",
        "keep what is used over again in the program's own memory",
    ),
    Kind.OTHERS_NEED: (
        "give the command memory that others cannot take (memory.low, memory.min of its control group), or the others a limit",
        _PARTS,
        _MEMORY,
    ),
}


def find(facts: Facts) -> Candidate | None:
    """Read again what had been read, since it was evicted in between."""
    cache = facts.cache
    if facts.budget.basis == "machine" or (facts.run.pasted and cache.refaults is None):
        return _pasted(facts)
    if not cache.known or not cache.added or cache.added < PAGES_MIN:
        return None
    again = _read_again(cache)
    if again is None or again < REREAD:
        return None
    used = cache.top_bytes if cache.working_set_bytes is None else cache.working_set_bytes
    room = facts.machine.cache_room_bytes
    evictor = _most(facts)
    for_want = evictor is None or evictor.kind not in _NOT_FOR_WANT
    limited = evictor.kind is Kind.LIMIT if evictor is not None else facts.machine.is_limited
    if used is not None and used < PAGES_MIN * facts.page_bytes:
        return None
    if evictor is None and used is not None and room and used < FAR_BELOW * room:
        # It would have fitted many times over: the pages were given up, not pushed out.
        return None
    if room is not None and room > 2 * max(used or 0.0, cache.added * facts.page_bytes):
        # Twice what was read would have fitted: something else evicts, a limit that is not known.
        room = None
    computing = _computing(facts, again)
    on_cpu = sum(
        piece.elapsed * one.fraction
        for one in computing
        for piece in facts.budget.pieces
        if matches(one, piece)
    )
    return Candidate(
        # Of the waiting: a page costs what reading its file costs.
        claims=(
            Claim(
                frozenset({classes.READ}),
                fraction=again if cache.reread_cost is None else cache.reread_cost,
            ),
            *computing,
        ),
        chain=_chain(facts, again, used, room, on_cpu),
        summary=(
            "reads again what had been read: the data do not fit into "
            + ("the page cache" if room is None else f"{size(room)} of page cache")
            if for_want
            else f"reads again what had been in the page cache: {_in_words(evictor)}"
        ),
        saving=saving.all_of_it("if nothing is read twice"),
        remedy=(
            None
            if room is None or not for_want
            else f"work on one part at a time, all steps on each part of at most {size(room * 0.5)}"
        ),
        remedies=_remedies(evictor, limited=limited),
        provable=limited or _can_lose(cache),
        experiment=None if limited else "memory-limit",
        needs=("page_cache",),
    )


def _computing(facts: Facts, again: float) -> tuple[Claim, ...]:
    """What misses take of a CPU beyond what hits do, which goes with the waiting: in the calls, and to make room for the pages."""
    in_calls, missing = facts.budget.reason_ns(classes.KERNEL, classes.FILE_CALLS), facts.missing
    claims = []
    if in_calls and missing is not None:
        part = min(1.0, missing.cpu_ns / in_calls)
        claims.append((classes.FILE_CALLS, part))
    if not evidence.reclaim_cpu(facts):
        # Of what is swapped it is memory-pressure's.
        claims.append((classes.RECLAIM, again))
    return tuple(
        Claim(frozenset({classes.KERNEL}), reasons=frozenset({reason}), fraction=part, follows=True)
        for reason, part in claims
    )


def _again_on_cpu(facts: Facts, on_cpu: float) -> Link | None:
    """What of the time on a CPU is for the misses, where that is worth a word."""
    missing = facts.missing
    if on_cpu < thresholds.LISTED or missing is None or not missing.calls:
        return None
    return link(
        f"{percent(on_cpu)} of the time is on a CPU to read them again: such a call takes "
        f"{duration(missing.cpu_ns / missing.calls)} more of it than one that finds the same in the cache",
        on_cpu,
        "share",
        "kernel-time",
    )


def _remedies(evictor: Evictor | None, *, limited: bool) -> tuple[str, ...]:
    """What helps against who took the pages; a limit is raised where there is one."""
    if evictor is not None and evictor.kind in _REMEDIES:
        return _REMEDIES[evictor.kind]
    return (_PARTS, _LIMIT if limited else _MEMORY, _PAST_IT)


def _can_lose(cache: Cache) -> bool:
    """Whether less memory would show: a command that misses every page already misses no more."""
    return cache.hit_ratio is not None and cache.hit_ratio >= HITS_TO_LOSE


def _most(facts: Facts) -> Evictor | None:
    """Who took most of the pages that went; None where that is nobody, or not known."""
    largest = facts.evictors[0] if facts.evictors else None
    return largest if largest is not None and largest.share >= MOST else None


def _in_words(evictor: Evictor | None) -> str:
    """Who it was, with the process where that is another one."""
    if evictor is None:
        return ""
    if evictor.kind in (Kind.DROPPED, Kind.OTHERS_NEED, Kind.DAMON, Kind.KSWAPD) and evictor.by:
        return f"{evictor.kind.value}; most by {evictor.by.who()}"
    return evictor.kind.value


def _evicted(facts: Facts) -> Link | None:
    """Why the pages went that had been there."""
    largest = _most(facts)
    if largest is None:
        return None
    return link(
        f"{percent(largest.share)} of the {count(sum(one.pages for one in facts.evictors))} pages of what was read again "
        f"that left the cache went for one reason: {_in_words(largest)}",
        largest.share,
        "share",
        "evictions",
    )


def _read_again(cache: Cache) -> float | None:
    """Of the pages that were read, the share that had been read before."""
    if cache.reread_share is not None:
        return cache.reread_share
    if cache.top_times_read is None or cache.top_times_read <= 1 or cache.top_share is None:
        return None
    # Where refaults are not counted: the file that was read most is read over and over.
    return (1 - 1 / cache.top_times_read) * cache.top_share


def _chain(
    facts: Facts, again: float, used: float | None, room: float | None, on_cpu: float
) -> tuple[Link, ...]:
    """How much was read again, pass by pass, and what would have to fit into what room."""
    cache = facts.cache
    passes = " · ".join(percent(ratio) for ratio in cache.passes)
    return chain_of(
        links.in_calls(facts, frozenset({classes.READ}), "waits to read"),
        None
        if cache.hit_ratio is None
        else link(
            f"the page cache answers {percent(cache.hit_ratio)} of what is asked for",
            cache.hit_ratio,
            "share",
            "cache",
        ),
        link(
            f"{percent(again)} of the {count(cache.added)} pages that were read had been in the "
            "cache before",
            again,
            "share",
            "cache",
        ),
        _again_on_cpu(facts, on_cpu),
        None
        if cache.top_times_read is None
        else link(
            f"{cache.top_path or 'one file'} of {size(cache.top_bytes)} was read "
            f"{cache.top_times_read:.1f} times over",
            cache.top_times_read,
            "times",
            "cache",
        ),
        None
        if len(cache.passes) < 2
        else link(
            f"hit ratio pass by pass: {passes}", cache.passes[-1], "share", "cache-over-time"
        ),
        _evicted(facts),
        None
        if used is None
        else link(
            f"{size(used)} would have to fit"
            + ("" if room is None else f"; the cache may take {size(room)}"),
            used,
            "bytes",
            "cache",
        ),
    )


def _pasted(facts: Facts) -> Candidate | None:
    """From other tools' totals: what is asked for is missed, and no memory is left for more."""
    cache, machine = facts.cache, facts.machine
    if not cache.known or cache.hit_ratio is None or not cache.misses:
        return None
    if cache.hit_ratio >= HIT_RATIO:
        return None
    full = None
    if machine.memory_bytes and machine.free_bytes is not None:
        full = machine.free_bytes <= CACHE_FULL * machine.memory_bytes
    if full is False:
        # There is memory left, so nothing had to be evicted: these are first reads.
        return None
    grown = machine.cached_growth_bytes
    if full is None and grown is not None and grown >= GROWS * cache.misses * facts.page_bytes:
        # The cache keeps what is read: nothing was evicted for it.
        return None
    cached = machine.cached_peak_bytes
    lowered = [
        "one pass over new data looks the same; that a file is read again is not in the text"
    ]
    if full is None:
        lowered.append("how much memory is free is not in the text (free, vmstat)")
    return Candidate(
        claims=(Claim(frozenset({classes.READ})),),
        chain=_pasted_chain(facts, cache.hit_ratio, cache.misses),
        summary=(
            "reads what the page cache could not keep"
            + ("" if cached is None else f": more than {size(cached)} is used")
        ),
        saving=saving.all_of_it("if all of it had fitted into memory"),
        confidence=0.6 if full is None else 0.8,
        lowered_by=tuple(lowered),
        remedy=(
            None
            if cached is None
            else f"work on parts that fit {size(cached)}, all steps on one part before the next"
        ),
        fixed_share=None if facts.budget.known else 1 - cache.hit_ratio,
        share_of="the pages asked for",
    )


def _pasted_chain(facts: Facts, hit_ratio: float, misses: float) -> tuple[Link, ...]:
    """The device's load, what was missed, and the memory that there is."""
    cache, machine = facts.cache, facts.machine
    spread = ""
    if cache.worst_hit_ratio is not None and cache.best_hit_ratio is not None:
        spread = f" (from {percent(cache.worst_hit_ratio)} to {percent(cache.best_hit_ratio)})"
    return chain_of(
        links.device_load(facts),
        link(
            f"the page cache answers {percent(hit_ratio)} of what is asked for{spread}",
            hit_ratio,
            "share",
            "cache",
        ),
        link(
            f"{size(misses * facts.page_bytes)} had to be read in the time shown",
            misses * facts.page_bytes,
            "bytes",
            "cache",
        ),
        None
        if machine.free_bytes is None
        else link(
            f"no memory is left for more: {size(machine.free_bytes)} of "
            f"{size(machine.memory_bytes)} is free",
            machine.free_bytes,
            "bytes",
            "system",
        ),
        None
        if machine.cached_peak_bytes is None
        else link(
            f"what is used over again must fit into the page cache of {size(machine.cached_peak_bytes)}",
            machine.cached_peak_bytes,
            "bytes",
            "system",
        ),
    )


CAUSE = Cause(
    name="cache-thrash",
    title="The data do not stay in the page cache",
    meaning=(
        "The command comes back to data that it has read, and they are gone: what it uses between "
        "two visits is larger than the memory left for the page cache. A pass over slightly more "
        "than fits misses everything, because what is needed last was evicted first. Or something "
        "else takes pages out that would fit: DAMON, drop_caches, posix_fadvise."
    ),
    measured=(
        "Pages added to the cache that had been in it and were evicted in the same recording (or "
        "the group's refault counter), hit ratio = 1 - pages added by reads / pages asked for, per "
        "pass over the file that was read most; the memory limit in force; in whose context pages were "
        "freed, and whether for want of memory. Of the time on a CPU only what calls that waited take beyond "
        "calls of the same length that found all in the cache, and what it takes to make room."
    ),
    thresholds=(
        Threshold(
            "pages read again", REREAD, "share",
            "below it a larger cache could save less than a third of the reads",
        ),
        Threshold(
            "pages read, at least", PAGES_MIN, "pages",
            "16 MiB: less is not worth a cache",
        ),
        Threshold(
            "what is used, of the page cache that there may be, at least", FAR_BELOW, "share",
            "a tenth of it fits beside anything: who reads it again gave it up (POSIX_FADV_DONTNEED)",
        ),
        Threshold(
            "hit ratio printed by another tool, below", HIT_RATIO, "share",
            "one miss in ten at device speed outweighs nine hits at memory speed by far",
        ),
        Threshold(
            "hit ratio for an experiment with less memory where no limit can be taken away, at least", HITS_TO_LOSE, "share",
            "who misses nearly every page already misses no more with less memory",
        ),
        Threshold(
            "of what was missed, by which the page cache grew, below", GROWS, "share",
            "what it keeps are first reads, for which nothing had to be evicted",
        ),
        Threshold(
            "free memory, at most", CACHE_FULL, "share",
            "with more than that free the kernel evicts nothing, so misses are first reads",
        ),
    ),
    fooled_by=(
        "one pass over new data through a full cache: also evicts and misses, but nothing is read "
        "twice",
        "files that were dropped from the cache on purpose (drop_caches, POSIX_FADV_DONTNEED)",
    ),
    remedies=(_PARTS, _EITHER, _PAST_IT),
    for_authors=frozenset({_PAST_IT}),
    experiment="memory-unlimited",
    find=find,
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=(
        "cache-cold", "device-saturated", "io-throttled", "queue-shallow", "readahead-poor",
        "device-slow", "random-access", "memory-pressure", "cpu-serial", "cpu-saturated",
    ),
)  # fmt: skip
