"""The work keeps one CPU busy, or a few, while others idle."""

from iowhy.relations.cpu_limits import SERIAL_CORES
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link, Saving

# How CPUs are used in the intervals that count: fewer of them than there are.
MODES = ("serial", "parallel")
GAIN = 0.2
# Less than this of the CPUs idle gives nothing to more threads of the command.
LEFT_OVER = 0.1
# A machine that is busier cannot be told from one with a CPU more.
TOLD_BY_LOAD = 0.6


def find(facts: Facts) -> Candidate | None:
    """CPU time of intervals in which CPUs are left over."""
    budget, machine = facts.budget, facts.machine
    share = budget.modes(*MODES)
    if share < GAIN:
        return None
    parallel = budget.modes("parallel") > budget.modes("serial")
    left_over = _left_over(facts)
    computing_syncs = links.sync_looks_long(facts)
    lowered = []
    confidence = 0.9
    if machine.cpus is None:
        confidence = 0.7
        lowered.append("the number of CPUs is not known")
    none_left = left_over is not None and left_over < LEFT_OVER and not facts.run.pasted
    if none_left:
        confidence = min(confidence, 0.6)
        lowered.append("other processes keep the CPUs busy: none is left to use")
    no_memory = budget.elapsed(classes.MEMORY) + evidence.reclaim_cpu(facts) >= thresholds.LISTED
    bound = _bound(facts)
    waits_more = budget.elapsed(*classes.STORAGE) > share
    return Candidate(
        claims=(
            Claim(
                frozenset({classes.USER, classes.KERNEL, classes.RUNNABLE}), modes=frozenset(MODES)
            ),
        ),
        chain=_chain(facts, share, computing_syncs),
        summary=_summary(facts, parallel, bound),
        saving=_saving(facts, none_left or no_memory, bool(computing_syncs)),
        by_less=None if computing_syncs else saving.half("work"),
        by_remedy={
            _FASTER: saving.twice("speed of the CPU's core"),
            **({} if computing_syncs else {_LESS: saving.half("work")}),
        },
        confidence=confidence,
        lowered_by=tuple(lowered),
        remedies=_none_left(facts)
        if none_left
        else _NO_MEMORY
        if no_memory
        else _FEWER_SYNCS
        if computing_syncs
        else (_unbound(facts), _LESS, _FASTER)
        if bound is not None
        else (),
        first=None if bound is None else evidence.on_all_first(facts),
        for_authors=frozenset({_then_in_parallel(facts), _unbound(facts)}),
        behind=("cpu-saturated",) if none_left else ("memory-pressure",) if no_memory else (),
        against=(
            ("the rates in the text are of the device, not of CPUs",)
            if facts.measured.metric("read_iops") and waits_more
            else ()
        ),
        needs=("thread_time",),
    )


def _summary(facts: Facts, parallel: bool, bound: int | None) -> str:
    if parallel:
        return "is on the CPUs, of which it uses too few"
    where = "the one CPU that it may run on" if bound == 1 else "one CPU"
    idle = facts.machine.idle
    others = " while others idle" if idle is not None and idle >= LEFT_OVER else ""
    return f"is one thread's work on {where}{others}"


def _saving(facts: Facts, no_room: bool, computing_syncs: bool) -> Saving:
    """What all CPUs save in the place of those in use; where syncs compute, what one of them does."""
    used, cpus = _cpus(facts)
    syncs = facts.calls.syncs.calls
    if no_room:
        return saving.half("work")
    if computing_syncs:
        return Saving(
            saving.once(syncs, "sync").part,
            f"one transaction in the place of {count(syncs)}; what each change costs by itself stays",
        )
    if cpus is None or used is None:
        return saving.twice("CPUs, as far as it can run in parallel")
    here = float(max(1, cpus))
    if facts.machine.quota_cores is not None:
        here = min(here, max(1.0, facts.machine.quota_cores))
    bound = links.bound_cpus(facts)
    if bound is None or bound >= here or _bound(facts) is not None:
        words = f"on all {here:.3g} CPUs"
    else:
        here, words = float(bound), f"on the {bound} CPUs that its threads may run on"
    return Saving(_rest(facts, used, here), f"{words}, as far as it can run in parallel")


def _bound(facts: Facts) -> int | None:
    """The CPUs that its threads are bound to, where it can gain next to nothing on these: it uses them."""
    bound, used = links.bound_cpus(facts), facts.threads.cores_used
    if bound is None or used is None or _rest(facts, used, bound) >= GAIN:
        return None
    return bound


def _rest(facts: Facts, used: float, cpus: float) -> float:
    """Of so many CPUs, the part on which nothing of it runs while it computes."""
    # CPUs in use are counted with what the recorder took of them, over the whole run.
    lines = [facts.budget.line(cls) for cls in (*classes.CPU, classes.RECORDER)]
    on_cpu = sum(line.elapsed_share for line in lines)
    busy = max(1.0, min(cpus, used / max(on_cpu, 1e-9)))
    return 1 - busy / cpus


def _left_over(facts: Facts) -> float | None:
    """Of the machine's CPU time, what nobody used; where iowait is not told apart it is part of idle."""
    idle, iowait = facts.machine.idle, facts.machine.iowait
    return idle if idle is None or iowait is None else idle + iowait


def _cpus(facts: Facts) -> tuple[float | None, int | None]:
    """How many CPUs do the work, of how many."""
    machine, cpus = facts.machine, facts.machine.cpus
    if facts.threads.cores_used is not None or machine.busy is None:
        return facts.threads.cores_used, cpus
    if cpus is None and 0 < machine.busy <= TOLD_BY_LOAD:
        # Pasted figures may lack the number of CPUs where their load gives it away.
        cpus = round(1 / machine.busy)
    return None if cpus is None else machine.busy * cpus, cpus


def _chain(facts: Facts, share: float, computing_syncs: tuple[Link, ...]) -> tuple[Link, ...]:
    """The time on CPUs, how many work, the busiest thread, and what is left over."""
    machine, top, left_over = facts.machine, facts.threads, _left_over(facts)
    used, cpus = _cpus(facts)
    waiting = facts.budget.elapsed(*classes.STORAGE)
    who = f" ({top.top_name})" if top.top_name else ""
    ready = (
        f" while {machine.runnable:.1f} processes are ready to run"
        if facts.run.pasted and machine.runnable
        else ""
    )
    return chain_of(
        link(f"{percent(share)} of the time is on a CPU", share, "share", "budget"),
        *computing_syncs,
        links.bound_to(facts),
        None
        if used is None or cpus is None
        else link(
            f"about {used:.1f} of {cpus} CPUs {'does' if round(used) == 1 else 'do'} the work",
            used,
            "CPUs",
            "system" if facts.threads.cores_used is None else "threads",
        ),
        None
        if top.top_share is None
        else link(
            f"the busiest thread{who} is on a CPU {percent(top.top_share)} of the run",
            top.top_share,
            "share",
            "threads",
        ),
        None
        if left_over is None
        else link(
            f"the machine's CPUs are {percent(left_over)} idle{ready}", left_over, "share", "system"
        ),
        link(f"{percent(waiting)} of the time waits for storage", waiting, "share", "budget"),
    )


_PARALLEL = "do the work in parallel (make -j, xargs -P, more workers)"
_LESS = "do less of it: profile the busiest thread"
_FASTER = "use a CPU with a faster single core"
#: More workers would wait for each other's transactions.
_FEWER_SYNCS = (
    "sync less often: put more into one transaction (group commit); each call computes, whatever the device",
    _FASTER,
    _LESS,
)
#: More threads would only wait for memory that is not there.
_NO_MEMORY = (
    _LESS,
    "give it more memory: more workers would need more of it still",
    _FASTER,
)


def _unbound(facts: Facts) -> str:
    """What is bound to the CPUs that it uses gains nothing by more threads alone."""
    return f"{evidence.on_all_first(facts)} {_PARALLEL}"


def _none_left(facts: Facts) -> tuple[str, ...]:
    """More threads would only wait for CPUs that others have."""
    return (
        _LESS,
        _then_in_parallel(facts),
        _FASTER,
    )


def _then_in_parallel(facts: Facts) -> str:
    return f"{evidence.stop_others(facts)}: then it can be done in parallel"


CAUSE = Cause(
    name="cpu-serial",
    title="It uses too few of the CPUs",
    meaning=(
        "The command computes, with too few threads at a time for the CPUs that there are. Calls "
        "may look long, fsync above all, and yet spend their time on a CPU: then faster storage "
        "changes nothing."
    ),
    measured=(
        "CPU time of the intervals in which the command's threads want no more CPUs than there "
        "are. A call's time is split by the scheduler's events into on-CPU, ready and waiting, so "
        "that a long call that computes is not taken for a slow device."
    ),
    thresholds=(
        Threshold(
            "CPUs wanted at once, for serial work", SERIAL_CORES, "CPUs",
            "one thread, and what a second one does in passing",
        ),
        Threshold(
            "CPU time, at least", GAIN, "share",
            "two CPUs in the place of one would save half of it: a tenth, as much as two runs differ by",
        ),
    ),
    fooled_by=(
        "busy polling for I/O (io_uring with polling, DPDK, spinning locks) is CPU time too",
        "a clock that is throttled by heat looks like more work",
    ),
    remedies=(
        _PARALLEL,
        _LESS,
        _FASTER,
    ),
    # Of a program that cannot be changed the work is divided by an option of its own, or not at all.
    for_authors=frozenset({_PARALLEL}),
    experiment="cpu-quota",
    find=find,
    unseen_without=("thread_time",),
    settled_by=next_command.CPU,
)  # fmt: skip
