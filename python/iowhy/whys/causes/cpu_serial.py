"""The work keeps one CPU busy, or a few, while others idle."""

from iowhy.whys import classes, links, next_command
from iowhy.whys.budget import SERIAL_CORES
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

GAIN = 0.2
# Less than this of the CPUs idle gives nothing to more threads of the command.
LEFT_OVER = 0.1
# A machine that is busier cannot be told from one with a CPU more.
TOLD_BY_LOAD = 0.6


def find(facts: Facts) -> Candidate | None:
    """CPU time of intervals in which CPUs are left over."""
    budget, machine = facts.budget, facts.machine
    modes = ("serial", "parallel")
    share = budget.modes(*modes)
    if share < GAIN:
        return None
    parallel = budget.modes("parallel") > budget.modes("serial")
    used, cpus = facts.threads.cores_used, machine.cpus
    if used is None and machine.busy is not None:
        # Pasted figures may lack the number of CPUs where their load gives it away.
        cpus = cpus or (round(1 / machine.busy) if 0 < machine.busy <= TOLD_BY_LOAD else None)
        used = None if cpus is None else machine.busy * cpus
    waiting = budget.elapsed(*classes.STORAGE)
    top = facts.threads
    reading = facts.measured.of("fio", "read_iops")
    who = f" ({top.top_name})" if top.top_name else ""
    syncs = links.sync_looks_long(facts)
    chain = chain_of(
        link(f"{percent(share)} of the time is on a CPU", share, "share", "budget"),
        *syncs,
        None
        if used is None or cpus is None
        else link(
            f"about {used:.1f} of {cpus} CPUs {'does' if round(used) == 1 else 'do'} the work",
            used,
            "CPUs",
            "threads",
        ),
        None
        if top.top_share is None
        else link(
            f"the busiest thread{who} is on a CPU {percent(top.top_share)} of the time",
            top.top_share,
            "share",
            "threads",
        ),
        None
        if machine.idle is None
        else link(
            f"the machine's CPUs are {percent(machine.idle + (machine.iowait or 0.0))} idle"
            + (
                f" while {machine.runnable:.1f} processes are ready to run"
                if facts.run.pasted and machine.runnable
                else ""
            ),
            machine.idle,
            "share",
            "system",
        ),
        link(f"{percent(waiting)} of the time waits for storage", waiting, "share", "budget"),
    )
    lowered = []
    confidence = 0.9
    if machine.cpus is None:
        confidence = 0.7
        lowered.append("the number of CPUs is not known")
    left_over = None if machine.idle is None else machine.idle + (machine.iowait or 0.0)
    none_left = left_over is not None and left_over < LEFT_OVER and not facts.run.pasted
    if none_left:
        confidence = min(confidence, 0.6)
        lowered.append("other processes keep the CPUs busy: none is left to use")
    return Candidate(
        claims=(
            Claim(
                frozenset({classes.USER, classes.KERNEL, classes.RUNNABLE}),
                modes=frozenset(modes),
            ),
        ),
        chain=chain,
        summary=(
            "is on the CPUs, of which it uses too few"
            if parallel
            else "is one thread's work on one CPU"
            + (
                " while others idle"
                if machine.idle is not None and machine.idle >= LEFT_OVER
                else ""
            )
        ),
        confidence=confidence,
        lowered_by=tuple(lowered),
        # More threads would only wait for CPUs that others have.
        remedies=_NONE_LEFT if none_left else _FEWER_SYNCS if syncs else (),
        behind=("cpu-saturated",) if none_left else (),
        against=(
            ("fio's rates are of the device, not of CPUs",) if reading and waiting > share else ()
        ),
        needs=("thread_time",),
    )


#: More workers would wait for each other's transactions.
_FEWER_SYNCS = (
    "sync less often: put more into one transaction (group commit); each call computes, whatever the device",
    "use a CPU with a faster single core",
    "do less of it: profile the busiest thread",
)
_NONE_LEFT = (
    "do less of it: profile the busiest thread",
    "stop or move the other work on this machine: then it can be done in parallel",
    "use a CPU with a faster single core",
)

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
        "do the work in parallel (make -j, xargs -P, more workers)",
        "do less of it: profile the busiest thread",
        "use a CPU with a faster single core",
    ),
    experiment="cpu-quota",
    find=find,
    settled_by=next_command.CPU,
)  # fmt: skip
