"""Pages are re-read that had been in the cache: what is used does not fit."""

from iowhy.invocation import quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.cache import Cache
from iowhy.whys.facts.evictors import Evictor, Kind
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy
from iowhy.whys.settle import matches

# long: each way in which pages leave has its own words and remedies
REREAD = 0.3
PAGES_MIN = 4096
HIT_RATIO = 0.9
CACHE_FULL = 0.05
GROWS = 0.5
FAR_BELOW = 0.1
# Memory for the data and for the program itself, of the data.
NEEDED = 1.25
# From this share of the evicted pages on, one reason stands for all of them.
MOST = 0.5

# Hit ratio, below which a smaller cache could not lose anything more.
HITS_TO_LOSE = 0.2

# Pages were evicted without a shortage of memory: more of it, or smaller parts, would not keep them.
_NOT_FOR_WANT = frozenset({Kind.DAMON, Kind.GIVEN_UP, Kind.DROPPED})

_PARTS_RISK = "a step that needs all of the data at once gives wrong results"
_PARTS = Remedy(
    worded(
        "cache-thrash.in-parts-any",
        "Work in parts that fit into memory: all steps on one part, then the next",
    ),
    risk=_PARTS_RISK,
)
TAKES_MEMORY = "others have less memory"
RAISE_LIMIT = Remedy(
    worded(
        "cache-thrash.raise-limit",
        "Raise the memory limit of its control group (memory.max)",
    ),
    risk=TAKES_MEMORY,
)
MORE_MEMORY = Remedy(
    worded("cache-thrash.more-memory", "Use a machine with more memory"),
    risk="more memory costs more",
)
_PAST_IT = Remedy(
    worded(
        "cache-thrash.read-past-cache",
        "Read data that is used only once with O_DIRECT, so that it evicts nothing",
    ),
    risk="these reads get slower: they have no readahead",
    for_authors=True,
)
_OWN_MEMORY = Remedy(
    worded(
        "cache-thrash.keep-in-program",
        "Keep data that is used repeatedly in the program's own memory",
    ),
    risk="others cannot use that memory, and it can be swapped out",
)

_REMEDIES = {
    Kind.DAMON: (
        Remedy(
            worded(
                "cache-thrash.damon-off",
                "Turn DAMON's proactive reclaim off: `echo N > /sys/module/damon_reclaim/parameters/enabled`",
            ),
            risk="idle memory of other programs stays in use",
        ),
        _OWN_MEMORY,
        Remedy(
            worded(
                "cache-thrash.touch-often",
                "Touch the data more often than DAMON's age for cold pages",
            ),
            risk="it takes CPU time",
        ),
    ),
    Kind.DROPPED: (
        Remedy(
            worded(
                "cache-thrash.stop-dropping",
                "Stop the program that drops these pages (drop_caches, POSIX_FADV_DONTNEED)",
            ),
            risk="its own pages stay in the cache, too",
        ),
        _OWN_MEMORY,
    ),
    Kind.GIVEN_UP: (
        Remedy(
            worded(
                "cache-thrash.drop-later",
                "Drop pages (POSIX_FADV_DONTNEED) only after their last use",
            ),
            risk="the pages take memory for longer",
        ),
        _OWN_MEMORY,
    ),
    Kind.OTHERS_NEED: (
        Remedy(
            worded(
                "cache-thrash.protect-memory",
                "Protect the memory of its control group (memory.low)",
            ),
            risk="the others run short of memory instead",
        ),
        _PARTS,
        MORE_MEMORY,
    ),
}

#: What was re-read, by who evicted it without a shortage of memory.
_EVICTED_BY = {
    Kind.DAMON: "data that DAMON evicted though memory was left",
    Kind.GIVEN_UP: "data that it had dropped from the page cache itself",
    Kind.DROPPED: "data that another program dropped from the page cache",
}


def find(facts: Facts) -> Candidate | None:
    """Data is re-read, because it was evicted in between."""
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
        # It would have fitted many times over: the pages were given up, not evicted for others.
        return None
    if room is not None and room > 2 * max(used or 0.0, cache.added * facts.page_bytes):
        # Twice what was read would have fitted: something else evicts, perhaps an unknown limit.
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
        summary=_summary(used, room, None if for_want else evictor),
        saving=saving.all_of_it("if nothing is read twice"),
        remedies=_remedies(
            facts,
            evictor,
            limited=limited,
            used=used,
            part_bytes=None if room is None or not for_want else room * 0.5,
        ),
        provable=limited or _can_lose(cache),
        experiment=None if limited else "memory-limit",
        needs=("page_cache",),
    )


def _summary(used: float | None, room: float | None, evictor: Evictor | None) -> Sentence:
    """What was re-read and why; `evictor` is who evicted it without a shortage of memory."""
    if evictor is not None:
        return worded("cache-thrash.evicted", "re-reading {what}", what=_EVICTED_BY[evictor.kind])
    if room is None:
        return worded(
            "cache-thrash.does-not-fit", "re-reading data that does not fit into the page cache"
        )
    return worded(
        "cache-thrash.too-small",
        "re-reading "
        + ("" if used is None or used <= room else "{used:bytes} of ")
        + "data that does not fit into {room:bytes} of page cache",
        used=used,
        room=room,
    )


def _computing(facts: Facts, again: float) -> tuple[Claim, ...]:
    """The CPU time of misses beyond that of hits: in the calls, and to free memory for the pages."""
    in_calls, missing = facts.budget.reason_ns(classes.KERNEL, classes.FILE_CALLS), facts.missing
    claims = []
    if in_calls and missing is not None:
        part = min(1.0, missing.cpu_ns / in_calls)
        claims.append((classes.FILE_CALLS, part))
    if not evidence.reclaim_cpu(facts):
        # With swapping it is memory-pressure's.
        claims.append((classes.RECLAIM, again))
    return tuple(
        Claim(frozenset({classes.KERNEL}), reasons=frozenset({reason}), fraction=part, follows=True)
        for reason, part in claims
    )


def _again_on_cpu(facts: Facts, on_cpu: float) -> Link | None:
    """The CPU time of misses, if it is worth a word."""
    missing = facts.missing
    if on_cpu < thresholds.LISTED or missing is None or not missing.calls:
        return None
    return link(
        f"{percent(on_cpu)} of the time is CPU time for re-reading: a miss takes "
        f"{duration(missing.cpu_ns / missing.calls)} more than a hit",
        on_cpu,
        "share",
        "kernel-time",
        "cache-thrash.on-cpu",
    )


def _remedies(
    facts: Facts,
    evictor: Evictor | None,
    *,
    limited: bool,
    used: float | None,
    part_bytes: float | None,
) -> tuple[Remedy, ...]:
    """What helps against who evicted the pages; memory for all of it, if a limit is what keeps it from that, else parts first."""
    known = () if evictor is None else _against(facts, evictor)
    room = facts.machine.memory_bytes
    fits = limited and used is not None and (room is None or NEEDED * used < room)
    more = (
        (Remedy(named.memory_limit(facts, NEEDED * used), risk=TAKES_MEMORY),)
        if fits and used is not None
        else ()
    )
    others = (_PARTS, *(() if fits else (RAISE_LIMIT if limited else MORE_MEMORY,)), _PAST_IT)
    found = known or (*more, *others)
    return found if part_bytes is None else _in_parts(part_bytes, found, named.file(facts))


def _against(facts: Facts, evictor: Evictor) -> tuple[Remedy, ...]:
    """The remedies against who evicts, with its name and that of the file."""
    found = _REMEDIES.get(evictor.kind, ())
    path = named.file(facts)
    if evictor.kind is Kind.DROPPED and evictor.by is not None:
        who = worded(
            "cache-thrash.keep-from-dropping",
            "Keep {who} from dropping pages that others use (drop_caches, POSIX_FADV_DONTNEED)",
            who=evictor.by.who(),
        )
        found = (Remedy(who, risk=found[0].risk), *found[1:])
    if evictor.kind in (Kind.DROPPED, Kind.DAMON) and path is not None:
        lock = worded(
            "cache-thrash.lock-file",
            "Lock {path} in memory: `vmtouch -dl {typed}`",
            path=path,
            typed=quoted(path),
        )
        found = (*found, Remedy(lock, risk=TAKES_MEMORY))
    return found


def _in_parts(
    part_bytes: float, others: tuple[Remedy, ...], path: str | None = None
) -> tuple[Remedy, ...]:
    """Parts of a known size, which replace those of an unknown one."""
    through = "in" if path is None else f"through {path} in"
    sized = Remedy(
        worded(
            "cache-thrash.in-parts",
            "Work {through} parts of at most {part_bytes:bytes}: all steps on one part, then the next",
            through=through,
            part_bytes=part_bytes,
        ),
        risk=_PARTS_RISK,
    )
    found = tuple(sized if one == _PARTS else one for one in others)
    return found if sized in found else (sized, *found)


def _can_lose(cache: Cache) -> bool:
    """Whether less memory would show: who misses every page already cannot miss more."""
    return cache.hit_ratio is not None and cache.hit_ratio >= HITS_TO_LOSE


def _most(facts: Facts) -> Evictor | None:
    """Who evicted most of the pages; None if nobody did, or it is not known."""
    largest = facts.evictors[0] if facts.evictors else None
    return largest if largest is not None and largest.share >= MOST else None


def _in_words(evictor: Evictor) -> str:
    """Who it was, with the process if it is another one."""
    if evictor.kind in (Kind.DROPPED, Kind.OTHERS_NEED, Kind.DAMON, Kind.KSWAPD) and evictor.by:
        return f"{evictor.kind.value}; most by {evictor.by.who()}"
    return evictor.kind.value


def _evicted(facts: Facts) -> Link | None:
    """Why the pages were evicted."""
    largest = _most(facts)
    if largest is None:
        return None
    return link(
        f"{percent(largest.share)} of the {count(sum(one.pages for one in facts.evictors))} pages evicted from "
        f"re-read files have one reason: {_in_words(largest)}",
        largest.share,
        "share",
        "evictions",
        "cache-thrash.share",
    )


def _read_again(cache: Cache) -> float | None:
    """The share of the pages read that had been read before."""
    if cache.reread_share is not None:
        return cache.reread_share
    if cache.top_times_read is None or cache.top_times_read <= 1 or cache.top_share is None:
        return None
    # If refaults are not counted: the file that was read most is read again and again.
    return (1 - 1 / cache.top_times_read) * cache.top_share


def _chain(
    facts: Facts, again: float, used: float | None, room: float | None, on_cpu: float
) -> tuple[Link, ...]:
    """How much was re-read, pass by pass, and what would have to fit into what room."""
    cache = facts.cache
    passes = " · ".join(percent(ratio) for ratio in cache.passes)
    return chain_of(
        links.in_calls(facts, frozenset({classes.READ}), "is spent waiting for reads"),
        None
        if cache.hit_ratio is None
        else link(
            f"the page cache had {percent(cache.hit_ratio)} of the pages asked for",
            cache.hit_ratio,
            "share",
            "cache",
            "cache-thrash.hit-ratio",
        ),
        link(
            f"{percent(again)} of the {count(cache.added)} pages read had been in the cache before",
            again,
            "share",
            "cache",
            "cache-thrash.again",
        ),
        _again_on_cpu(facts, on_cpu),
        None
        if cache.top_times_read is None
        else link(
            f"{cache.top_path or 'one file'} ({size(cache.top_bytes)}) was read "
            f"{cache.top_times_read:.1f} times over",
            cache.top_times_read,
            "times",
            "cache",
            "cache-thrash.times-read",
        ),
        None
        if len(cache.passes) < 2
        else link(
            f"hit ratio pass by pass: {passes}",
            cache.passes[-1],
            "share",
            "cache-over-time",
            "cache-thrash.passes",
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
            "cache-thrash.used",
        ),
    )


def _pasted(facts: Facts) -> Candidate | None:
    """From other tools' totals: reads miss the page cache, and no memory is left for more of it."""
    cache, machine = facts.cache, facts.machine
    if not cache.known or cache.hit_ratio is None or not cache.misses:
        return None
    if cache.hit_ratio >= HIT_RATIO:
        return None
    full = None
    if machine.memory_bytes and machine.free_bytes is not None:
        full = machine.free_bytes <= CACHE_FULL * machine.memory_bytes
    if full is False:
        # Memory is left, so nothing had to be evicted: these are first reads.
        return None
    grown = machine.cached_growth_bytes
    if full is None and grown is not None and grown >= GROWS * cache.misses * facts.page_bytes:
        # The cache keeps what is read: nothing was evicted for it.
        return None
    cached = machine.cached_peak_bytes
    of = "the page cache" if cached is None else "the {cached:bytes} of page cache"
    lowered = [
        "one pass over new data looks the same: the text does not show whether a file was read twice"
    ]
    if full is None:
        lowered.append("the text does not show how much memory is free (free, vmstat)")
    return Candidate(
        claims=(Claim(frozenset({classes.READ})),),
        chain=_pasted_chain(facts, cache.hit_ratio, cache.misses),
        summary=worded(
            "cache-thrash.not-kept",
            "reading {read:bytes} that "
            + (f"was not in {of}" if full is None else f"{of} could not keep"),
            read=cache.misses * facts.page_bytes,
            cached=cached,
        ),
        saving=saving.all_of_it("if all of it fits into memory"),
        confidence=0.5 if full is None else 0.8,
        lowered_by=tuple(lowered),
        remedies=() if cached is None else _in_parts(cached, CAUSE.remedies),
        fixed_share=None if facts.budget.known else 1 - cache.hit_ratio,
        share_of="the pages asked for",
    )


def _pasted_chain(facts: Facts, hit_ratio: float, misses: float) -> tuple[Link, ...]:
    """The device's load, what was missed, and how much memory there is."""
    cache, machine = facts.cache, facts.machine
    spread = ""
    if cache.worst_hit_ratio is not None and cache.best_hit_ratio is not None:
        spread = f" ({percent(cache.worst_hit_ratio)} to {percent(cache.best_hit_ratio)})"
    return chain_of(
        links.device_load(facts),
        link(
            f"the page cache had {percent(hit_ratio)} of the pages asked for{spread}",
            hit_ratio,
            "share",
            "cache",
            "cache-thrash.hit-ratio-shown",
        ),
        link(
            f"{count(misses)} misses: {size(misses * facts.page_bytes)} had to be read in the time shown",
            misses * facts.page_bytes,
            "bytes",
            "cache",
            "cache-thrash.misses",
        ),
        None
        if machine.free_bytes is None
        else link(
            f"only {size(machine.free_bytes)} of {size(machine.memory_bytes)} of memory is free",
            machine.free_bytes,
            "bytes",
            "system",
            "cache-thrash.free-bytes",
        ),
        None
        if machine.cached_peak_bytes is None
        else link(
            f"the page cache has {size(machine.cached_peak_bytes)} for what is used repeatedly",
            machine.cached_peak_bytes,
            "bytes",
            "system",
            "cache-thrash.cached",
        ),
    )


CAUSE = Cause(
    name="cache-thrash",
    title="Re-reads of data that left the page cache",
    meaning=(
        "The program returns to data that it has read, and the data is gone: what it uses between two reads of "
        "the same page is larger than the memory left for the page cache. A pass over slightly more than "
        "fits misses everything, because each page is evicted just before it is needed again. Or something "
        "else evicts pages that would fit: DAMON, drop_caches, posix_fadvise."
    ),
    measured=(
        "Pages added to the cache that had been in it and were evicted in the same recording (or "
        "the group's refault counter); hit ratio = 1 - pages added by reads / pages asked for, per "
        "pass over the file that was read most; the memory limit in force; in whose context pages were "
        "freed, and whether memory was short. CPU time counts only as far as calls that waited take more of it "
        "than calls of the same length that found everything in the cache, plus the CPU time to free memory."
    ),
    thresholds=(
        Threshold(
            "share of the pages re-read, at least", REREAD, "share",
            "below, a larger cache would save less than a third of the reads",
        ),
        Threshold(
            "pages read, at least", PAGES_MIN, "pages",
            "16 MiB: less is not worth looking at",
        ),
        Threshold(
            "data in use, as a share of the possible page cache, at least", FAR_BELOW, "share",
            "a tenth always fits: whoever re-reads it had dropped it (POSIX_FADV_DONTNEED)",
        ),
        Threshold(
            "hit ratio reported by another tool, below", HIT_RATIO, "share",
            "one miss in ten at device speed outweighs nine hits at memory speed by far",
        ),
        Threshold(
            "hit ratio for an experiment with less memory, if there is no limit to remove, at least", HITS_TO_LOSE, "share",
            "who misses nearly every page cannot miss more with less memory",
        ),
        Threshold(
            "growth of the page cache, as a share of what was missed, below", GROWS, "share",
            "what the cache keeps was read for the first time: nothing had to be evicted for it",
        ),
        Threshold(
            "free memory, at most", CACHE_FULL, "share",
            "with more free memory the kernel evicts nothing, so misses are first reads",
        ),
    ),
    fooled_by=(
        "one pass over new data through a full cache: it evicts and misses too, but reads nothing twice",
        "files that were dropped from the cache on purpose (drop_caches, POSIX_FADV_DONTNEED)",
    ),
    remedies=(_PARTS, RAISE_LIMIT, MORE_MEMORY, _PAST_IT),
    experiment="memory-unlimited",
    find=find,
    explains=classes.named("read kernel"),
    unseen_without=("page_cache",),
    settled_by=next_command.CACHE,
    beats=(
        "cache-cold", "device-saturated", "io-throttled", "queue-shallow", "readahead-poor",
        "device-slow", "random-access", "memory-pressure", "cpu-serial", "cpu-saturated",
        "device-contended", "file-fragmented", "metadata-cold", "device-capped", "small-requests",
    ),
)  # fmt: skip
