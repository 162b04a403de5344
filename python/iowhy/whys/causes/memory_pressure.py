"""Too little memory: threads free some themselves, or wait for swap."""

import re

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, named, next_command, saving
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.cache_thrash import MORE_MEMORY, RAISE_LIMIT, TAKES_MEMORY
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.machine import Machine
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy
from iowhy.whys.settle import matches

SHARE = 0.05
# Less is not mentioned.
NONE = 0.01
PASTED_SWAP_PAGES_PER_S = 100
# Of one CPU: if kswapd frees memory only now and then, it takes little.
KSWAPD_SHARE = 0.5
# Of the machine's memory: with more of it free, kswapd does not run for lack of memory.
FREE_SHARE = 0.2
# With less of it available, what runs is evicted as fast as it is read.
LEFT_SHARE = 0.05


def find(facts: Facts) -> Candidate | None:
    """Waits in reclaim and swap; from other tools, steady swapping."""
    budget, machine = facts.budget, facts.machine
    waits, reclaim = budget.elapsed(classes.MEMORY), evidence.reclaim_cpu(facts)
    share = waits + reclaim
    swapped = machine.swap_pages
    pasted = facts.run.pasted and _swaps_steadily(facts)
    if share < SHARE and not pasted:
        return _by_pressure(facts) or _by_kswapd(facts)
    claims = _claims(pasted, reclaim)
    if pasted:
        share = sum(p.elapsed for p in budget.pieces if any(matches(c, p) for c in claims))
    stalled = machine.pressure.get(("memory", "some"))
    reasons = budget.heaviest_reasons(frozenset({classes.MEMORY}))
    return Candidate(
        claims=claims,
        chain=chain_of(
            link(
                _went(share, waits, reclaim, reasons[0][0] if reasons else None),
                share,
                "share",
                "budget",
            ),
            None
            if swapped is None or swapped < evidence.SWAP_PAGES
            else link(f"{count(swapped)} pages were swapped", swapped, "pages", "system"),
            None
            if not machine.direct_scan_pages
            else link(
                f"threads scanned {count(machine.direct_scan_pages)} pages themselves to find some to free",
                machine.direct_scan_pages,
                "pages",
                "system",
            ),
            _limit_met(machine),
            None
            if not stalled
            else link(
                f"some thread of the machine stalled for memory {percent(stalled)} of the time (PSI)",
                stalled,
                "share",
                "pressure",
            ),
        ),
        summary=worded(
            "memory-pressure.short",
            ("waiting for memory" if waits >= reclaim else "freeing memory on a CPU")
            + "{short_of}",
            short_of=_short_of(facts),
        ),
        saving=saving.all_of_it(_FITS),
        needs=("waits", "vm_samples"),
        confidence=0.85,
        remedies=_remedies(facts),
        # A group can be given more memory for a trial; a machine can only be given less.
        experiment=None if machine.memory_limit_hits else "memory-limit",
    )


def _short_of(facts: Facts) -> Sentence | str:
    """What shows that memory is short."""
    machine = facts.machine
    hits, limit, swapped = (
        machine.memory_limit_hits,
        machine.memory_limit_bytes,
        machine.swap_pages,
    )
    if hits and limit is not None:
        return worded("memory-short.limit", ", at the group's limit of {limit:bytes}", limit=limit)
    if swapped is not None and swapped >= evidence.SWAP_PAGES:
        bytes_ = swapped * facts.page_bytes
        return worded("memory-short.swapped", ", while {bytes:bytes} were swapped", bytes=bytes_)
    if not machine.direct_scan_pages:
        return ""
    return worded("memory-short.scans", ": its threads must find free pages themselves")


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    """A limit is raised if one was hit; other tools' figures do not show that."""
    if facts.run.pasted:
        return ()
    hits = facts.machine.memory_limit_hits
    limited = facts.machine.is_limited if hits is None else hits > 0
    limit = facts.machine.memory_limit_bytes
    if limited and limit is not None:
        # How much is short is not counted.
        return (Remedy(named.memory_limit(facts, 2.0 * limit), risk=TAKES_MEMORY), *_fewer(facts))
    return (RAISE_LIMIT,) if limited else (*_fewer(facts), MORE_MEMORY, _WHO)


def _fewer(facts: Facts) -> tuple[Remedy, ...]:
    """Half of its processes, if it has several."""
    many = facts.threads.processes or 1
    if many < 2:
        return ()
    do = worded(
        "memory-pressure.fewer-processes",
        "Run {processes} processes of {who} at a time instead of {now}",
        processes=max(1, many // 2),
        who=facts.run.who,
        now=many,
    )
    return (Remedy(do, risk="less is done at a time"),)


def _limit_met(machine: Machine) -> Link | None:
    """How often the group hit its limit."""
    hits, limit = machine.memory_limit_hits, machine.memory_limit_bytes
    if not hits or limit is None:
        return None
    return link(
        f"the group hit its limit of {size(limit)} {count(hits)} times",
        hits,
        "times",
        "cgroup",
        "memory-pressure.hits",
    )


def _went(share: float, waits: float, reclaim: float, reason: str | None) -> str:
    """How the time splits into waiting for memory and freeing it."""
    why = f" ({reason})" if reason else ""
    if reclaim < NONE:
        return f"{percent(share)} of the time is spent waiting for memory{why}"
    if waits < NONE:
        return f"{percent(share)} of the time is CPU time in which it frees memory for itself"
    return (
        f"too little memory costs {percent(share)} of the time: {percent(reclaim)} freeing some on a CPU, "
        f"{percent(waits)} waiting{why}"
    )


def _claims(pasted: bool, reclaim: float) -> tuple[Claim, ...]:
    """Waiting for memory and CPU time that frees it; in the machine's counters swapping shows as waiting for I/O, some of it without a direction."""
    memory = Claim(frozenset({classes.MEMORY}))
    if not pasted:
        freeing = Claim(frozenset({classes.KERNEL}), reasons=frozenset({classes.RECLAIM}))
        return (memory, freeing) if reclaim else (memory,)
    return (
        memory,
        Claim(frozenset({classes.READ, classes.WRITE})),
        Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({NO_DIRECTION})),
    )


def _by_pressure(facts: Facts) -> Candidate | None:
    """From a text that has only the kernel's pressure: how long some thread stalled for memory."""
    if not facts.run.pasted:
        return None
    between = facts.machine.pressure.get(("memory", "some"))
    averages = {
        subject: share
        for subject, share in facts.measured.metric("some_stalled_60s_share").items()
        if subject.split()[-1] == "memory"
    }
    if between is not None:
        whose, share, when = "memory", between, "the time shown"
    elif averages:
        whose, share = max(averages.items(), key=lambda one: one[1])
        when = "the last minute"
    else:
        return None
    if share < SHARE:
        return None
    group = whose.removesuffix("memory").strip()
    return Candidate(
        claims=(Claim(frozenset({classes.MEMORY})),),
        chain=chain_of(
            link(
                f"some thread {'of ' + group + ' ' if group else ''}stalled for memory in "
                f"{percent(share)} of {when} (PSI)",
                share,
                "share",
                "measurements" if between is None else "pressure",
                "memory-pressure.share",
            ),
        ),
        summary=worded(
            "memory-pressure.stalls",
            "waiting for memory"
            + (" in {group}" if group else "")
            + ": threads free some themselves or read evicted pages again",
            group=group,
        ),
        saving=saving.all_of_it(_FITS),
        needs=("waits", "vm_samples"),
        confidence=0.6,
        fixed_share=share,
        share_of=f"{when} (for some thread)",
    )


def _by_kswapd(facts: Facts) -> Candidate | None:
    """From a table of tasks: the kernel's thread that frees memory hardly rests, and next to nothing is left, or the table shows nothing else."""
    if not facts.run.pasted:
        return None
    shares = {
        subject.split()[0]: min(1.0, share)
        for subject, share in facts.measured.metric("cpu_share").items()
        if re.fullmatch(r"kswapd\d{1,4} \(\d+\)", subject)
    }
    name = max(shares, key=shares.__getitem__, default="")
    free, memory = facts.machine.free_bytes, facts.machine.memory_bytes
    plenty = free is not None and memory is not None and free >= FREE_SHARE * memory
    if not name or shares[name] < KSWAPD_SHARE or plenty:
        return None
    if facts.budget.known:
        left = facts.machine.left_bytes
        if left is None or not memory or left >= LEFT_SHARE * memory:
            return None
        return _nothing_left(name, shares[name], left, memory)
    return Candidate(
        claims=(Claim(frozenset({classes.MEMORY})),),
        chain=(_frees(name, shares[name]),),
        summary=worded(
            "memory-pressure.kswapd", "freeing memory in the kernel nearly without rest"
        ),
        saving=saving.all_of_it(_FITS),
        confidence=0.4,
        lowered_by=("the text does not show whether memory is short, nor who waits for it",),
        fixed_share=shares[name],
        share_of=f"one CPU's time ({name}'s)",
    )


def _frees(name: str, share: float) -> Link:
    """What kswapd uses of a CPU."""
    return link(
        f"{name}, which frees memory for the kernel, uses {percent(share)} of a CPU",
        share,
        "share",
        "measurements",
        "memory-pressure.shares",
    )


def _nothing_left(name: str, share: float, left: float, memory: int) -> Candidate:
    """In the machine's counters, what is read again because it was evicted shows as waiting for I/O."""
    return Candidate(
        claims=_claims(True, 0.0),
        chain=chain_of(
            _frees(name, share),
            link(
                f"{size(left)} of {size(memory)} of memory are available",
                left,
                "bytes",
                "system",
                "memory-pressure.left",
            ),
        ),
        summary=worded(
            "memory-pressure.nothing-left",
            "waiting for pages that were evicted: {left:bytes} of {memory:bytes} of memory are available, and {name} frees some without rest",
            left=left,
            memory=memory,
            name=name,
        ),
        saving=saving.all_of_it(_FITS),
        remedies=(MORE_MEMORY,),
        confidence=0.7,
    )


def _swaps_steadily(facts: Facts) -> bool:
    swapped, seconds = facts.machine.swap_pages, facts.run.seconds
    if swapped is None or not seconds:
        return False
    return swapped / seconds >= PASTED_SWAP_PAGES_PER_S


_FITS = "if all memory in use fits"
_WHO = Remedy(
    worded(
        "memory-pressure.list-processes",
        "List the processes with most memory: `ps -eo pid,comm,rss --sort=-rss | head`",
    ),
    looks=True,
)

CAUSE = Cause(
    name="memory-pressure",
    title="Too little memory",
    meaning=(
        "Allocations find no free page: the thread must write some back and free them itself, or wait "
        "until what it needs is swapped in. The command never asked for this I/O."
    ),
    measured=(
        "Waits whose kernel stack shows reclaim, compaction or swap-in; CPU time of threads that free memory "
        "themselves, between the kernel's events, including the compression of zram and zswap; pages swapped and scanned "
        "(vmstat), hits of the group's limit, pressure stall information. A pasted pressure alone says "
        "only how long some thread of the machine or group stalled, not which; kswapd's CPU time in a "
        "pasted table of tasks says only that the kernel frees memory, not that anybody waits for it."
    ),
    thresholds=(
        Threshold("waiting for memory", SHARE, "share", "what a finding must explain to be listed"),
        Threshold(
            "swapped pages a second, in another tool's figures", PASTED_SWAP_PAGES_PER_S, "pages/s",
            "below it the machine swaps now and then; from here on it swaps all the time",
        ),
        Threshold(
            "kswapd's use of a CPU, in a table of tasks alone", KSWAPD_SHARE, "share",
            "if memory is short only now and then, kswapd takes little",
        ),
        Threshold(
            "free memory at the same time, below", FREE_SHARE, "share",
            "with that much free, kswapd does not run for lack of memory",
        ),
        Threshold(
            "available memory, if the table has the CPUs' time too, below", LEFT_SHARE, "share",
            "what runs is evicted as fast as it is read",
        ),
    ),
    fooled_by=(
        "a page cache that fills the group's limit is reclaimed all the time, cheaply: its CPU time counts only if "
        "pages are swapped too",
        "kswapd that spins while memory is free (a bug of some kernels), and a program that only has its name",
    ),
    remedies=(MORE_MEMORY, RAISE_LIMIT, _WHO),
    experiment="memory-unlimited",
    find=find,
    explains=classes.named("memory kernel"),
    unseen_without=("waits",),
    settled_by=next_command.CACHE,
    beats=(
        "device-saturated", "cache-cold", "random-access", "queue-shallow", "cpu-serial", "cpu-saturated",
    ),
)  # fmt: skip
