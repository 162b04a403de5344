"""A CPU quota, or the hypervisor, holds threads back."""

from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link

THROTTLED_PERIODS = 0.1
STOLEN = 0.1
WHOLE = 0.9


def find(facts: Facts) -> Candidate | None:
    """Threads are ready and wait, and the group's counters say that the quota is why."""
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
        # Of the time that counts as busy, what was stolen; all of it may be busy where that is not known.
        busy = 1.0 if facts.machine.busy is None else max(facts.machine.busy, steal)
        claims.append(Claim(classes.CPU, fraction=min(1.0, steal / busy)))
    return Candidate(
        claims=tuple(claims),
        chain=(
            *(_quota(facts, held, counted=alone is None) if by_quota else ()),
            *(
                [
                    link(
                        f"the hypervisor took {percent(steal)} of the CPU time",
                        steal,
                        "share",
                        "system",
                    )
                ]
                if stolen
                else []
            ),
        ),
        summary=(
            "waits because the CPU quota of its group is used up"
            if by_quota
            else "is taken by the hypervisor"
        ),
        saving=saving.all_of_it(
            "where no other work has the CPUs" if by_quota else "on a host with CPUs to spare"
        ),
        remedy=None if by_quota else "move the virtual machine to a host that is not overcommitted",
        needs=("cgroup_samples", "thread_time"),
        fixed_share=alone,
        share_of="the periods of its CPU quota",
    )


def _stopped_by_quota(facts: Facts) -> bool:
    """Whether the kernel stopped the group for long, or again and again."""
    periods, throttled = _periods(facts), facts.machine.throttled_share
    return (periods is not None and periods >= THROTTLED_PERIODS) or (
        throttled is not None and throttled >= thresholds.LISTED
    )


def _periods(facts: Facts) -> float | None:
    """The share of the group's periods in which its quota was used up, as recorded or as its cpu.stat says."""
    recorded = facts.machine.throttled_periods_share
    if recorded is not None or not facts.run.pasted:
        return recorded
    return max(facts.measured.metric("throttled_periods_share").values(), default=None)


def _periods_alone(facts: Facts) -> float | None:
    """That share where a text has nothing else: no time that threads wait for a CPU."""
    waiting = facts.budget.elapsed(classes.RUNNABLE) if facts.budget.known else 0.0
    return _periods(facts) if facts.run.pasted and waiting < thresholds.LISTED else None


def _quota(facts: Facts, held: float, *, counted: bool) -> tuple[Link, ...]:
    """How long threads wait (where that is counted), what the group may use, and how often it was stopped."""
    machine = facts.machine
    runnable, quota = facts.budget.elapsed(classes.RUNNABLE), machine.quota_cores
    periods, throttled = _periods(facts), machine.throttled_share
    often = "" if periods is None else f" in {percent(periods)} of its periods"
    long = "" if throttled is None else f" for {percent(throttled)} of the time"
    return chain_of(
        None
        if not counted
        else link(
            f"threads are ready and wait for {percent(runnable)} of the time",
            runnable,
            "share",
            "budget",
        ),
        None
        if quota is None
        else link(f"the control group may use {quota:.2f} CPUs", quota, "CPUs", "cgroup"),
        link(
            f"the kernel stopped the group{often}{',' if often and long else ''}{long}",
            periods if throttled is None else throttled,
            "share",
            "cgroup" if counted else "measurements",
        ),
        None
        if held >= WHOLE
        else link(
            f"that is {percent(held)} of their waiting; for the rest other work has the CPUs",
            held,
            "share",
            "cgroup",
        ),
    )


def _held(facts: Facts) -> float:
    """The share of the waiting for a CPU in which the quota stops the threads, not other work.

    The kernel counts the time that the group is stopped on each CPU where it has a thread; each thread
    that wants a CPU stands still for its CPU's.
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


CAUSE = Cause(
    name="cpu-throttled",
    title="A CPU quota holds it back",
    meaning=(
        "The control group has used up its CPU time before the period ended, so its threads stand "
        "still though CPUs idle; or the hypervisor gives the CPUs to other guests."
    ),
    measured=(
        "nr_throttled and throttled time of the command's cgroup (cpu.stat), the quota over the "
        "period, steal time of /proc/stat, and the time that threads were ready and waited. Of that "
        "only the time that the group was stopped is claimed: while it may run and waits all the "
        "same, other work has the CPUs (cpu-saturated). A pasted cpu.stat tells the share of its periods, "
        "since the group exists or between two copies."
    ),
    thresholds=(
        Threshold(
            "throttled periods", THROTTLED_PERIODS, "share",
            "a burst at the start of a run throttles a period or two; one in ten is steady",
        ),
        Threshold(
            "stopped, of the waiting for a CPU, taken for all of it", WHOLE, "share",
            "the counters are read ten times a second and a period is 100 ms: the ends do not match",
        ),
        Threshold(
            "stolen CPU time", STOLEN, "share", "below it, neighbours cost less than run-to-run noise",
        ),
    ),
    fooled_by=("a quota in a parent group that the recorder may not read",),
    remedies=(
        "raise the CPU quota of the group (cpu.max, cpu.cfs_quota_us, the container's CPU limit)",
        "run with fewer threads, so that the quota is not used up in bursts",
    ),
    experiment="cpu-quota",
    find=find,
    unseen_without=("thread_time", "cgroup_samples"),
    settled_by=next_command.CPU,
    beats=("cpu-saturated", "cpu-delayed", "cpu-serial"),
)  # fmt: skip
