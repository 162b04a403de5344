"""All CPUs that the program may use are busy."""

from iowhy.invocation import as_root
from iowhy.relations.cpu_limits import SATURATED, SHORTAGE
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, for_users, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Clue, Threshold
from iowhy.whys.chain import chain_of, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import is_there, served
from iowhy.whys.facts.threads import busiest
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

# From this share of the CPUs on, what others use is worth a word.
OTHERS = 0.25
# A program that uses a smaller share of the CPUs in use is not named.
WORTH_NAMING = 0.1
# Less saturated time than this is not mentioned.
NONE = 0.01


_WHO = Remedy(
    worded(
        "cpu-saturated.list-users",
        "List what uses the CPUs: `top -b -n 1 -o %CPU | head -n 20`",
    ),
    looks=True,
)
_MORE = Remedy(
    worded("cpu-saturated.more-cpus-any", "Use a machine with more CPUs"),
    risk="more CPUs cost more",
)


def find(facts: Facts) -> Candidate | None:
    """CPU time in saturated intervals, and all time spent waiting for a CPU."""
    full = facts.budget.modes("saturated")
    # Waiting while CPUs idle is cpu-delayed's.
    delayed = evidence.delayed(facts)
    runnable = facts.budget.elapsed(classes.RUNNABLE) - (
        0.0 if delayed < thresholds.LISTED else delayed
    )
    if full + runnable < thresholds.LISTED:
        return None
    others, cpus = _used_by_others(facts), _cpus(facts)
    bound = links.bound_cpus(facts) is not None
    crowded = others is not None and cpus is not None and others > OTHERS * cpus
    return Candidate(
        claims=(
            Claim(frozenset({classes.USER, classes.KERNEL}), modes=frozenset({"saturated"})),
            Claim(frozenset({classes.RUNNABLE})),
        ),
        chain=_chain(facts, full, runnable, others if crowded else None),
        summary=_summary(facts, full, runnable, crowded=crowded),
        saving=Saving(
            min(runnable, _without_others(facts)) / (full + runnable), "without the other processes"
        )
        if crowded
        else saving.twice("CPUs"),
        remedies=_remedies(facts, crowded=crowded, bound=bound),
        # Less CPU for the program shows nothing about what others take.
        provable=not crowded,
        needs=("thread_time", "cpu_samples"),
    )


def _remedies(facts: Facts, *, crowded: bool, bound: bool) -> tuple[Remedy, ...]:
    """More CPUs: those that it may not use yet, those that others use, or those of another machine."""
    cpus, who = facts.machine.cpus, evidence.one_program(facts)
    more = (
        _MORE
        if cpus is None
        else Remedy(
            worded(
                "cpu-saturated.more-cpus",
                "Use a machine with {value} CPUs instead of {cpus}",
                value=2 * cpus,
                cpus=cpus,
            ),
            risk=_MORE.risk,
        )
    )
    if crowded:
        return (_recorded_too(facts) or for_users.before_others(facts), _WHO, more)
    if bound:
        return (evidence.let_run_on_all(facts), more, _WHO)
    if who:
        apart = Remedy(
            worded("cpu-saturated.other-machine", "Move {who} to another machine", who=who),
            risk="it is down while it moves",
        )
        return (more, apart, _WHO)
    # Of a machine it is not known yet whose work the CPUs do.
    return (_WHO, more) if facts.budget.basis == "machine" else (more, evidence.by_function(facts))


def _summary(facts: Facts, full: float, runnable: float, *, crowded: bool) -> Sentence:
    """What it did: computing, waiting for a CPU, or both; on how many CPUs, if others use none of them."""
    if crowded and full < NONE:
        return worded(
            "cpu-saturated.crowded", "waiting for a CPU while other processes keep the CPUs busy"
        )
    cpus, quota = _cpus(facts), facts.machine.quota_cores
    bound = links.bound_cpus(facts)
    if crowded:
        busy = worded("on-cpus.shared", "on CPUs that others use too")
    elif _not_all_the_time(facts, full + runnable):
        average = facts.machine.busy or 0.0
        busy = worded(
            "on-cpus.average", "on CPUs that are {busy:share} busy on average", busy=average
        )
    elif cpus is None:
        busy = worded("on-cpus.all", "on CPUs that are all busy")
    elif quota is not None and quota < cpus:
        busy = worded("on-cpus.quota", "with all of its quota of {quota:.2g} CPUs", quota=quota)
    else:
        may = "" if bound is None else " that it may run on"
        every = "both" if cpus == 2 else "all {cpus}"
        keeps = "with" if facts.budget.basis == "machine" else "as its threads keep"
        words = "on the only CPU" + may if cpus == 1 else f"{keeps} {every} CPUs{may} busy"
        busy = worded("on-cpus.number", words, cpus=cpus)
    if facts.budget.basis == "machine" or runnable < NONE:
        return worded("cpu-saturated.computing", "computing {busy}", busy=busy)
    if full < NONE:
        return worded("cpu-saturated.waiting", "waiting for a CPU {busy}", busy=busy)
    return worded(
        "cpu-saturated.both",
        "computing ({full:share}) or waiting for a CPU ({runnable:share}), {busy}",
        runnable=runnable,
        full=full,
        busy=busy,
    )


def _not_all_the_time(facts: Facts, share: float) -> bool:
    """Whether the CPUs were less busy than it says that they were full: threads wait for one in bursts."""
    busy = facts.machine.busy
    return facts.run.mode == "machine" and busy is not None and busy < SATURATED * share


def _without_others(facts: Facts) -> float:
    """What of the time could go if the program had all CPUs: threads that could use more wait for each other."""
    cpus, used = _cpus(facts), facts.threads.cores_used
    on_or_for = facts.budget.elapsed(classes.USER, classes.KERNEL, classes.RUNNABLE)
    return on_or_for if not cpus or used is None else on_or_for * max(0.0, 1 - used / cpus)


def _cpus(facts: Facts) -> int | None:
    """The CPUs that the program may use."""
    bound = links.bound_cpus(facts)
    return facts.machine.cpus if bound is None else bound


def _used_by_others(facts: Facts) -> float | None:
    """How many of the CPUs that the program may use other processes use, at most."""
    busy, used, cpus = facts.machine.busy, facts.threads.cores_used, _cpus(facts)
    if busy is None or used is None or cpus is None or facts.machine.cpus is None:
        return None
    return min(busy * facts.machine.cpus - used, cpus - used)


def _chain(facts: Facts, full: float, runnable: float, others: float | None) -> tuple[Link, ...]:
    """The time on busy CPUs and waiting for one, how busy they are, and who uses them."""
    # Figures of the whole machine do not show who waits for a CPU.
    parts = (
        ""
        if facts.budget.basis == "machine"
        else f": {percent(runnable)} ready and waiting for one, {percent(full)} on one"
    )
    return chain_of(
        None
        if full < NONE
        else link(
            f"no CPU is free in {percent(full + runnable)} of the time{parts}",
            full + runnable,
            "share",
            "budget",
            "cpu-saturated.full",
        ),
        *links.sync_looks_long(facts),
        links.machine_busy(facts),
        links.cpus_wanted(facts),
        _by_whom(facts),
        None
        if full >= NONE
        else link(
            f"threads are ready and wait for a CPU in {percent(runnable)} of the time",
            runnable,
            "share",
            "budget",
            "cpu-saturated.runnable",
        ),
        None
        if others is None
        else link(
            f"other processes use {others:.2f} CPUs",
            others,
            "CPUs",
            "system",
            "cpu-saturated.others",
        ),
    )


def _recorded_too(facts: Facts) -> Remedy | None:
    """If a process serves files of the program (FUSE), what it computes is for that: no other work."""
    if not is_there(facts.relations, "process"):
        return None
    serving = next((one for one in served(facts.relations, "process") if one.tgid), None)
    if serving is None:
        return None
    return Remedy(
        worded(
            "cpu-saturated.see-server",
            "See how much of the CPUs process {tgid} takes, which serves {mount}, while {who} runs again: `{as_root} run -p {tgid} --duration 30s`",
            tgid=serving.tgid,
            mount=serving.mount or "files of this",
            who=facts.run.who,
            as_root=as_root(),
        ),
        looks=True,
    )


def _by_whom(facts: Facts) -> Link | None:
    """Which programs use the CPUs, if there are several processes."""
    used, several = facts.threads.cores_used, (facts.threads.processes or 0) > 1
    if not used or not several:
        return None
    programs = [one for one in busiest(facts.relations) if one.cores >= WORTH_NAMING * used]
    if not programs:
        return None
    named = [f"{one.name} ({plural(one.processes, 'process', 'processes')})" for one in programs]
    uses = [f"{name} {one.cores:.2f}" for name, one in zip(named[1:], programs[1:], strict=True)]
    said = [f"{named[0]} uses {programs[0].cores:.2f} of these CPUs", *uses]
    return link(", ".join(said), programs[0].cores, "CPUs", "processes", "cpu-saturated.cores")


CAUSE = Cause(
    name="cpu-saturated",
    title="No CPU left to run on",
    meaning=(
        "Threads are ready to run and no CPU is free, or the program already keeps all CPUs busy. "
        "Neither more parallelism nor faster storage helps."
    ),
    measured=(
        "CPU time in intervals in which the machine's CPUs (or the group's quota, or the CPUs "
        "that the threads are pinned to) are all in use, and the time in which threads were ready and "
        "waited for a CPU, from the scheduler's events."
    ),
    thresholds=(
        Threshold(
            "busy share of all CPUs", SATURATED, "share",
            "in readings of 100 ms wake-ups always leave some idle time",
        ),
        Threshold(
            "share of the time with ready threads in which they wait, at least", SHORTAGE, "share",
            "short waits happen on every machine; from here on they cost as much as one CPU of six",
        ),
    ),
    fooled_by=(
        "time that the hypervisor takes counts as busy: see the steal column of `iowhy report system`",
        "busy polling of a device keeps a CPU busy without doing work",
    ),
    remedies=(
        _MORE,
        _WHO,
    ),
    experiment="cpu-quota",
    find=find,
    explains=classes.named("user kernel runnable"),
    unseen_without=("thread_time",),
    clues=(Clue("cpu_samples"),),
    settled_by=next_command.CPU,
    beats=("cpu-serial",),
)  # fmt: skip
