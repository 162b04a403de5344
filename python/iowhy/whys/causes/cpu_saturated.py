"""All CPUs that the command may use are busy."""

from iowhy.relations.cpu_limits import SATURATED, SHORTAGE
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.threads import busiest
from iowhy.whys.finding import Candidate, Claim, Link, Saving

# Of the CPUs, in use by others: from here on they are worth a word.
OTHERS = 0.25
# Of the CPUs that are used: what uses less is not named.
WORTH_NAMING = 0.1
# Less saturated time than this is left out of the words.
NONE = 0.01


def find(facts: Facts) -> Candidate | None:
    """CPU time of saturated intervals, and all time spent waiting for a CPU."""
    full = facts.budget.modes("saturated")
    # What waits while CPUs idle is cpu-delayed's.
    runnable = facts.budget.elapsed(classes.RUNNABLE) - evidence.delayed(facts)
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
        summary=(
            "waits for a CPU while other processes keep them busy"
            if crowded and full < NONE
            else "is spent on CPUs that are all taken, or waiting for one"
            + (", while other processes use them too" if crowded else "")
        ),
        saving=Saving(
            min(runnable, _without_others(facts)) / (full + runnable), "without the others"
        )
        if crowded
        else saving.twice("CPUs"),
        remedy=evidence.stop_others(facts)
        if crowded
        else evidence.let_run_on_all(facts)
        if bound
        else None,
        # Less of the CPUs for the command shows nothing of what others take of them.
        provable=not crowded,
        needs=("thread_time", "cpu_samples"),
    )


def _without_others(facts: Facts) -> float:
    """What of the time goes at most when the command has all CPUs: threads that want more than those wait for each other."""
    cpus, used = _cpus(facts), facts.threads.cores_used
    on_or_for = facts.budget.elapsed(classes.USER, classes.KERNEL, classes.RUNNABLE)
    return on_or_for if not cpus or used is None else on_or_for * max(0.0, 1 - used / cpus)


def _cpus(facts: Facts) -> int | None:
    """The CPUs that the command may use."""
    bound = links.bound_cpus(facts)
    return facts.machine.cpus if bound is None else bound


def _used_by_others(facts: Facts) -> float | None:
    """CPUs that other processes use, of those that the command may use as well: at most."""
    busy, used, cpus = facts.machine.busy, facts.threads.cores_used, _cpus(facts)
    if busy is None or used is None or cpus is None or facts.machine.cpus is None:
        return None
    return min(busy * facts.machine.cpus - used, cpus - used)


def _chain(facts: Facts, full: float, runnable: float, others: float | None) -> tuple[Link, ...]:
    """The time on CPUs that are taken and waiting for them, how busy they are, and by whom."""
    # Figures of the machine alone do not say who waits for a CPU.
    parts = (
        ""
        if facts.budget.basis == "machine"
        else f": {percent(runnable)} ready and waiting for one, {percent(full)} on one"
    )
    return chain_of(
        None
        if full < NONE
        else link(
            f"{percent(full + runnable)} of the time goes to CPUs that are all taken{parts}",
            full + runnable,
            "share",
            "budget",
        ),
        *links.sync_looks_long(facts),
        links.machine_busy(facts),
        links.cpus_wanted(facts),
        _by_whom(facts),
        None
        if full >= NONE
        else link(
            f"{percent(runnable)} of the time threads are ready and wait for a CPU",
            runnable,
            "share",
            "budget",
        ),
        None
        if others is None
        else link(f"other processes use {others:.2f} CPUs", others, "CPUs", "system"),
    )


def _by_whom(facts: Facts) -> Link | None:
    """Of several processes, which programs use the CPUs."""
    used, several = facts.threads.cores_used, (facts.threads.processes or 0) > 1
    if not used or not several:
        return None
    programs = [one for one in busiest(facts.relations) if one.cores >= WORTH_NAMING * used]
    if not programs:
        return None
    named = [f"{one.name} ({plural(one.processes, 'process', 'processes')})" for one in programs]
    uses = [f"{name} {one.cores:.2f}" for name, one in zip(named[1:], programs[1:], strict=True)]
    said = [f"{named[0]} uses {programs[0].cores:.2f} of these CPUs", *uses]
    return link(", ".join(said), programs[0].cores, "CPUs", "processes")


CAUSE = Cause(
    name="cpu-saturated",
    title="All CPUs that it may use are busy",
    meaning=(
        "Threads are ready to run and there is no CPU for them, or all CPUs do the command's work. "
        "More parallelism does not help, faster storage neither."
    ),
    measured=(
        "CPU time of the intervals in which the machine's CPUs (or the group's quota, or the CPUs "
        "that the threads are pinned to) are all in use, and the time that threads were ready and "
        "waited for a CPU, by the scheduler's own events."
    ),
    thresholds=(
        Threshold(
            "busy share of all CPUs", SATURATED, "share",
            "of 100 ms readings some idle time is always left between wake-ups",
        ),
        Threshold(
            "waiting, of the time that CPUs are wanted", SHORTAGE, "share",
            "short waits happen on every machine; from here on they cost as much as one CPU in six",
        ),
    ),
    fooled_by=(
        "time stolen by the hypervisor counts as busy: see the steal column of `iowhy report system`",
        "spinning (busy polling of a device) keeps a CPU busy without work",
    ),
    remedies=(
        "give it more CPUs, or less to do: profile what keeps them busy",
        "run fewer things at once where they need memory or the disk too: they only take turns",
        "use a faster CPU",
    ),
    experiment="cpu-quota",
    find=find,
    unseen_without=("thread_time",),
    settled_by=next_command.CPU,
    beats=("cpu-serial",),
)  # fmt: skip
