"""Ready threads wait for a CPU while CPUs idle."""

from iowhy.relations.cpu_limits import LEFT_OVER
from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

# From this busy share on, a CPU has no room for another thread.
FULL = 0.9
# From this share of the CPU time on, what the hypervisor takes is worth a word.
STOLEN = 0.02


def find(facts: Facts) -> Candidate | None:
    """Time in which threads were ready and waited, in intervals in which a good part of the CPUs idled."""
    share = evidence.delayed(facts)
    if share < thresholds.LISTED:
        return None
    full = _full_cpu(facts)
    steal = facts.machine.steal or 0.0
    return Candidate(
        claims=(Claim(frozenset({classes.RUNNABLE}), modes=frozenset({evidence.DELAYED})),),
        chain=_chain(facts, share, full, steal),
        summary=worded(
            "cpu-delayed.one-busy-cpu",
            "waiting for the one busy CPU that its threads share, while others idle",
        )
        if full
        else worded("cpu-delayed.others-idle", "waiting for a CPU although other CPUs idle"),
        who=evidence.one_program(facts) or "",
        saving=saving.all_of_it("if each thread gets a CPU at once"),
        # A guest sees only in part what its hypervisor does.
        confidence=0.8 if full else 0.7,
        remedies=(evidence.let_run_on_all(facts), _INTERRUPTS)
        if full
        else (DEDICATED_CPUS,)
        if steal >= STOLEN
        else (),
        needs=("thread_time", "cpu_samples"),
    )


def _full_cpu(facts: Facts) -> float | None:
    """The busy share of the busiest CPU, if that is full and the machine is not."""
    busiest = facts.machine.busiest_cpu
    return busiest if busiest is not None and busiest >= FULL else None


def _chain(facts: Facts, share: float, full: float | None, steal: float) -> tuple[Link, ...]:
    """How long threads waited, how busy the machine was, and which reason that leaves."""
    return chain_of(
        link(
            f"threads are ready but not running in {percent(share)} of the time, while CPUs idle",
            share,
            "share",
            "budget",
            "cpu-delayed.share",
        ),
        links.machine_busy(facts),
        links.cpus_wanted(facts),
        None
        if full is None
        else link(f"one CPU is {percent(full)} busy", full, "share", "system", "cpu-delayed.full"),
        None
        if steal < STOLEN
        else link(
            f"the hypervisor took {percent(steal)} of the CPU time (steal)",
            steal,
            "share",
            "system",
            "cpu-delayed.steal",
        ),
    )


_INTERRUPTS = Remedy(
    worded(
        "cpu-delayed.spread-interrupts",
        "Spread the interrupts over all CPUs: `systemctl start irqbalance`",
    ),
    risk="they interrupt work on the other CPUs",
)
DEDICATED_CPUS = Remedy(
    worded("cpu-delayed.dedicated-cpus", "Give this virtual machine dedicated CPUs"),
    risk="they cost more, and it may have to restart",
)

CAUSE = Cause(
    name="cpu-delayed",
    title="Waiting for a CPU while CPUs idle",
    meaning=(
        "Threads are ready to run but do not, although the machine has idle CPUs. Either they are bound to a CPU that is "
        "busy, or a sleeping CPU takes time to wake up, or the hypervisor does not run the CPU that the kernel gave them. "
        "More CPUs would not help."
    ),
    measured=(
        "The time in which threads were ready and waited, from the scheduler's events, in those intervals of 100 ms in "
        "which /proc/stat counts a quarter or more of the CPU time as idle. A CPU that is full while the machine is not shows "
        "that they are bound to it."
    ),
    thresholds=(
        Threshold(
            "idle share of all CPUs", LEFT_OVER, "share",
            "more than wake-ups of threads that take turns leave",
        ),
        Threshold("busy share of one CPU", FULL, "share", "it has no room for another thread"),
    ),
    fooled_by=(
        "bursts shorter than 100 ms that need all CPUs at once, with pauses between them",
        "a hypervisor that hides what it takes (steal is 0): the wait is visible, its reason is not",
    ),
    remedies=(
        Remedy(
            worded("cpu-delayed.larger-batches", "Hand work from thread to thread in larger batches: each hand-over waits for a CPU"),
            risk="single items wait longer",
        ),
        Remedy(
            worded("cpu-delayed.no-deep-sleep", "Keep CPUs out of deep sleep: `tuned-adm profile latency-performance`"),
            risk="it uses more power",
        ),
        DEDICATED_CPUS,
    ),
    find=find,
    explains=classes.named("runnable"),
    unseen_without=("thread_time", "cpu_samples"),
    settled_by=next_command.CPU,
    beats=("cpu-saturated", "cpu-serial"),
)  # fmt: skip
