"""Memory is short: threads reclaim it themselves, or swap."""

import re

from iowhy.whys import classes, evidence, next_command, saving
from iowhy.whys.budget import NO_DIRECTION
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.machine import Machine
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.settle import matches

SHARE = 0.05
# Less is not worth a word.
NONE = 0.01
PASTED_SWAP_PAGES_PER_S = 100
# Of one CPU: kswapd that frees memory now and then takes little.
KSWAPD_SHARE = 0.5
# Of the machine's memory: with more of it free, kswapd does not run for want of it.
FREE_SHARE = 0.2


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
                f"threads scanned {count(machine.direct_scan_pages)} pages themselves for some to "
                "free",
                machine.direct_scan_pages,
                "pages",
                "system",
            ),
            _limit_met(machine),
            None
            if not stalled
            else link(
                f"the machine stalled on memory {percent(stalled)} of the time (PSI)",
                stalled,
                "share",
                "pressure",
            ),
        ),
        summary="waits for memory: threads reclaim it themselves or wait for swap"
        if waits >= reclaim
        else "goes to freeing memory: threads find none and must reclaim it themselves",
        saving=saving.all_of_it("if all that it uses fits into memory"),
        needs=("waits", "vm_samples"),
        confidence=0.85,
        remedies=_remedies(facts),
        # Of a group's limit more memory can be given for a trial; of a machine's only less.
        experiment=None if machine.memory_limit_hits else "memory-limit",
    )


def _remedies(facts: Facts) -> tuple[str, ...]:
    """A limit is raised where one was met; of another tool's figures that is not known."""
    if facts.run.pasted:
        return ()
    hits = facts.machine.memory_limit_hits
    limited = facts.machine.is_limited if hits is None else hits > 0
    return (_LESS, _LIMIT) if limited else (_LESS, _MORE)


def _limit_met(machine: Machine) -> Link | None:
    """How often the group was out of what it may have."""
    hits, limit = machine.memory_limit_hits, machine.memory_limit_bytes
    if not hits or limit is None:
        return None
    return link(
        f"the group met its limit of {size(limit)} {count(hits)} times", hits, "times", "cgroup"
    )


def _went(share: float, waits: float, reclaim: float, reason: str | None) -> str:
    """Where the time went, as far as it is worth a word."""
    if reclaim < NONE:
        return f"{percent(share)} of the time waits for memory" + (f" ({reason})" if reason else "")
    if waits < NONE:
        return f"{percent(share)} of the time is on a CPU to free memory for itself"
    return (
        f"{percent(share)} of the time goes for want of memory: {percent(reclaim)} on a CPU to free some, "
        f"{percent(waits)} waiting" + (f" ({reason})" if reason else "")
    )


def _claims(pasted: bool, reclaim: float) -> tuple[Claim, ...]:
    """Waiting for memory and CPU time that frees it; in the machine's own counters swapping shows as waiting for I/O, some without a direction."""
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
    """From a text that has nothing but the kernel's pressure: how long some thread stalled for memory."""
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
            ),
        ),
        summary="waits for memory: threads reclaim it themselves or read back what was taken from them",
        saving=saving.all_of_it("if all that it uses fits into memory"),
        needs=("waits", "vm_samples"),
        confidence=0.6,
        fixed_share=share,
        share_of=f"{when} (for some thread)",
    )


def _by_kswapd(facts: Facts) -> Candidate | None:
    """From a table of tasks that tells nothing else of the time: the kernel's thread that frees memory hardly rests."""
    if not facts.run.pasted or facts.budget.known:
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
    return Candidate(
        claims=(Claim(frozenset({classes.MEMORY})),),
        chain=chain_of(
            link(
                f"{name}, which frees memory for the kernel, takes {percent(shares[name])} of a CPU",
                shares[name],
                "share",
                "measurements",
            ),
        ),
        summary="the kernel frees memory nearly without rest",
        saving=saving.all_of_it("if all that is in use fits into memory"),
        confidence=0.4,
        lowered_by=(
            "how long threads wait for memory is not in the text, nor whether it is short",
        ),
        fixed_share=shares[name],
        share_of=f"one CPU's time ({name}'s)",
    )


def _swaps_steadily(facts: Facts) -> bool:
    swapped, seconds = facts.machine.swap_pages, facts.run.seconds
    if swapped is None or not seconds:
        return False
    return swapped / seconds >= PASTED_SWAP_PAGES_PER_S


_LESS = "use less memory (smaller caches, fewer workers)"
_LIMIT = "raise the memory limit of its control group"
_WHERE_LIMITED = "raise the memory limit of its control group, where it has one"
_MORE = "use a machine with more memory"

CAUSE = Cause(
    name="memory-pressure",
    title="Memory is short",
    meaning=(
        "Allocations find no free page: the thread itself must write back and free some, or what it "
        "needs was swapped out. Each such wait is I/O that the command never asked for."
    ),
    measured=(
        "Waits whose kernel stack shows reclaim, compaction or swap-in; CPU time of threads that free memory "
        "themselves, between the kernel's own events, with the compression of zram and zswap; pages swapped and scanned "
        "(vmstat), hits of the group's limit, pressure stall information. A pasted pressure alone says "
        "only how long some thread stalled, of the machine or of its group, not which; kswapd's CPU time in a "
        "pasted table of tasks says only that the kernel frees memory, not that anybody waits for it."
    ),
    thresholds=(
        Threshold("waiting for memory", SHARE, "share", "what a finding must explain to be listed"),
        Threshold(
            "swapped pages a second, in another tool's figures", PASTED_SWAP_PAGES_PER_S, "pages/s",
            "below it a disk swaps in passing; from here on it does so all the time",
        ),
        Threshold(
            "kswapd's use of a CPU, in a table of tasks alone", KSWAPD_SHARE, "share",
            "where memory is short now and then it takes little",
        ),
        Threshold(
            "free memory beside that", FREE_SHARE, "share",
            "with so much free kswapd does not run for want of it",
        ),
    ),
    fooled_by=(
        "a page cache that fills the group's limit is reclaimed all the time, cheaply: what that takes on a CPU is "
        "claimed only where pages are swapped too",
        "kswapd that spins while memory is free (a mistake of some kernels), and a program that only bears its name",
    ),
    remedies=(_LESS, _WHERE_LIMITED, _MORE),
    experiment="memory-unlimited",
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.CACHE,
    beats=(
        "device-saturated", "cache-cold", "random-access", "queue-shallow", "cpu-serial", "cpu-saturated",
    ),
)  # fmt: skip
