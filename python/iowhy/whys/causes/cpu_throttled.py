"""A CPU quota or the hypervisor withholds CPU time."""

import math

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.causes.cpu_delayed import DEDICATED_CPUS
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

THROTTLED_PERIODS = 0.1
STOLEN = 0.1
WHOLE = 0.9


def find(facts: Facts) -> Candidate | None:
    """Threads are ready and wait, and the group's counters show that the quota is why."""
    steal = facts.machine.steal
    by_quota = _stopped_by_quota(facts)
    stolen = steal is not None and steal >= STOLEN
    if not by_quota and not stolen:
        return None
    claims: list[Claim] = []
    held = _held(facts)
    alone = None if stolen else _periods_alone(facts)
    if by_quota:
        claims.append(Claim(frozenset({classes.RUNNABLE}), fraction=held))
    if steal is not None and stolen:
        # The stolen part of the busy time; if that is not known, all of the time may be busy.
        busy = 1.0 if facts.machine.busy is None else max(facts.machine.busy, steal)
        claims.append(Claim(classes.CPU, fraction=min(1.0, steal / busy)))
    return Candidate(
        claims=tuple(claims),
        chain=(
            *(_quota(facts, held, counted=alone is None) if by_quota else ()),
            *(
                [
                    link(
                        f"the hypervisor took {percent(steal)} of the CPU time (steal)",
                        steal,
                        "share",
                        "system",
                        "cpu-throttled.steal",
                    )
                ]
                if stolen
                else []
            ),
        ),
        summary=_summary(facts)
        if by_quota
        else worded("cpu-throttled.stolen", "waiting for CPUs that the hypervisor withholds"),
        saving=saving.all_of_it(
            "if no other work takes the CPUs" if by_quota else "on a host with idle CPUs"
        ),
        remedies=_remedies(facts) if by_quota else (DEDICATED_CPUS,),
        needs=("cgroup_samples", "thread_time"),
        fixed_share=alone,
        share_of="the periods of its CPU quota",
    )


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    """As many CPUs as it could use; fewer threads, if it has more than its quota is for."""
    threads, quota, cpus = facts.threads, facts.machine.quota_cores, facts.machine.cpus
    if quota is None:
        return ()
    wanted = max(math.ceil(threads.cores_wanted or 0.0), math.floor(quota) + 1)
    more = Remedy(named.cpu_quota(facts, min(wanted, cpus or wanted)), risk=_TAKES)
    if quota < 1 or (threads.count or 0) <= quota:
        return (more,)
    fewer = worded(
        "cpu-throttled.fewer-threads",
        "Run {who} with {threads} threads instead of {now}",
        who=facts.run.who,
        threads=math.floor(quota),
        now=threads.count,
    )
    return (more, Remedy(fewer, risk="less is done at a time"))


def _summary(facts: Facts) -> Sentence:
    quota = facts.machine.quota_cores
    return worded(
        "cpu-throttled.quota-used",
        "waiting because its control group has used up its "
        + ("CPU quota" if quota is None else "quota of {quota:.2g} CPUs"),
        quota=quota,
    )


def _stopped_by_quota(facts: Facts) -> bool:
    """Whether the kernel stopped the group for long, or again and again."""
    periods, throttled = _periods(facts), facts.machine.throttled_share
    return (periods is not None and periods >= THROTTLED_PERIODS) or (
        throttled is not None and throttled >= thresholds.LISTED
    )


def _periods(facts: Facts) -> float | None:
    """The share of the group's periods in which its quota was used up, as recorded or from its cpu.stat."""
    recorded = facts.machine.throttled_periods_share
    if recorded is not None or not facts.run.pasted:
        return recorded
    return max(facts.measured.metric("throttled_periods_share").values(), default=None)


def _periods_alone(facts: Facts) -> float | None:
    """That share, if a text has nothing else: no time in which threads wait for a CPU."""
    waiting = facts.budget.elapsed(classes.RUNNABLE) if facts.budget.known else 0.0
    return _periods(facts) if facts.run.pasted and waiting < thresholds.LISTED else None


def _quota(facts: Facts, held: float, *, counted: bool) -> tuple[Link, ...]:
    """How long threads wait (if that is counted), what the group may use, and how often it was stopped."""
    machine = facts.machine
    runnable, quota = facts.budget.elapsed(classes.RUNNABLE), machine.quota_cores
    periods, throttled = _periods(facts), machine.throttled_share
    often = "" if periods is None else f" in {percent(periods)} of its periods"
    long = "" if throttled is None else f" for {percent(throttled)} of the time"
    return chain_of(
        None
        if not counted
        else link(
            f"threads are ready and wait for a CPU in {percent(runnable)} of the time",
            runnable,
            "share",
            "budget",
            "cpu-throttled.runnable",
        ),
        None
        if quota is None
        else link(
            f"its control group may use {quota:.2f} CPUs",
            quota,
            "CPUs",
            "cgroup",
            "cpu-throttled.quota",
        ),
        link(
            f"the kernel stopped the group{often}{',' if often and long else ''}{long}",
            periods if throttled is None else throttled,
            "share",
            "cgroup" if counted else "measurements",
            "cpu-throttled.amount",
        ),
        None
        if held >= WHOLE
        else link(
            f"the quota explains {percent(held)} of the waiting; in the rest other work has the CPUs",
            held,
            "share",
            "cgroup",
            "cpu-throttled.held",
        ),
    )


def _held(facts: Facts) -> float:
    """The share of the waiting for a CPU in which the quota stops the threads, not other work.

    The kernel counts the time in which the group is stopped on each CPU where it has a thread; each ready
    thread waits as long as its CPU is stopped.
    """
    machine, threads, elapsed = facts.machine, facts.threads, facts.run.elapsed_ns
    used, wanted = threads.cores_used, threads.cores_wanted
    cpus = machine.cpus
    if (
        machine.throttled_share is None
        or used is None
        or wanted is None
        or not elapsed
        or cpus is None
    ):
        return 1.0
    waiting = wanted - used
    if waiting <= 0:
        return 1.0
    on = max(1.0, min(wanted, float(cpus)))
    held = machine.throttled_share * max(1.0, wanted) / on / waiting
    return 1.0 if held >= WHOLE else held


_TAKES = "it may take CPU time from others"

CAUSE = Cause(
    name="cpu-throttled",
    title="CPU quota used up",
    meaning=(
        "The control group has used up its CPU time before the period ends, so its threads stop "
        "although CPUs idle. Or the hypervisor gives the CPUs to other guests."
    ),
    measured=(
        "nr_throttled and throttled time of the program's cgroup (cpu.stat), its quota per period, steal "
        "time in /proc/stat, and the time in which threads were ready and waited. Of that "
        "only the time in which the group was stopped counts: if it may run and still waits, "
        "other work has the CPUs (cpu-saturated). A pasted cpu.stat shows the share of throttled periods "
        "since the group was made, or between two copies."
    ),
    thresholds=(
        Threshold(
            "throttled periods", THROTTLED_PERIODS, "share",
            "a burst at the start of a run throttles a period or two; one in ten is more than a burst",
        ),
        Threshold(
            "share of the waiting in which the group is stopped, from which it counts as all", WHOLE, "share",
            "the counters are read ten times a second and a period is 100 ms, so the ends do not match",
        ),
        Threshold(
            "stolen CPU time", STOLEN, "share", "below, other guests cost less than two runs differ anyway",
        ),
    ),
    fooled_by=("a quota of a parent group that the recorder cannot read",),
    remedies=(
        Remedy(worded("cpu-throttled.more-cpus", "Give its control group more CPUs (cpu.max)"), risk=_TAKES),
        Remedy(worded("cpu-throttled.fewer-threads-any", "Run it with as many threads as its quota has CPUs"), risk="less is done at a time"),
    ),
    experiment="cpu-quota",
    find=find,
    explains=classes.named("user kernel runnable"),
    unseen_without=("thread_time", "cgroup_samples"),
    settled_by=next_command.CPU,
    beats=("cpu-saturated", "cpu-delayed", "cpu-serial"),
)  # fmt: skip
