"""Threads wait for a CPU while CPUs idle."""

from iowhy.relations.cpu_limits import LEFT_OVER
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Link

# Of one CPU's time: it has no room for another thread.
FULL = 0.9
# Of the CPUs' time, taken by the hypervisor: from here on worth a word.
STOLEN = 0.02


def find(facts: Facts) -> Candidate | None:
    """Time that threads were ready and waited, in intervals in which a good part of the CPUs idled."""
    share = evidence.delayed(facts)
    if share < thresholds.LISTED:
        return None
    full = _full_cpu(facts)
    steal = facts.machine.steal or 0.0
    return Candidate(
        claims=(Claim(frozenset({classes.RUNNABLE}), modes=frozenset({evidence.DELAYED})),),
        chain=_chain(facts, share, full, steal),
        summary="waits for a CPU while CPUs idle" + (": its threads share one" if full else ""),
        saving=saving.all_of_it("if each thread gets a CPU as soon as it is ready"),
        # What a hypervisor does shows only in part in its guest.
        confidence=0.8 if full else 0.7,
        remedies=(evidence.let_run_on_all(facts), _INTERRUPTS)
        if full
        else _STOLEN
        if steal >= STOLEN
        else (),
        needs=("thread_time", "cpu_samples"),
    )


def _full_cpu(facts: Facts) -> float | None:
    """The busy share of the busiest CPU, where that is full and the machine is not."""
    busiest = facts.machine.busiest_cpu
    return busiest if busiest is not None and busiest >= FULL else None


def _chain(facts: Facts, share: float, full: float | None, steal: float) -> tuple[Link, ...]:
    """How long, how busy the machine was, and what that leaves as a reason."""
    return chain_of(
        link(
            f"{percent(share)} of the time threads are ready and wait for a CPU while CPUs idle",
            share,
            "share",
            "budget",
        ),
        links.machine_busy(facts),
        links.cpus_wanted(facts),
        None if full is None else link(f"one CPU is {percent(full)} busy", full, "share", "system"),
        None
        if steal < STOLEN
        else link(
            f"the hypervisor took {percent(steal)} of the CPU time", steal, "share", "system"
        ),
    )


_INTERRUPTS = (
    "move what else is bound to that CPU (interrupts of a device: /proc/irq/*/smp_affinity_list)"
)


_STOLEN = (
    "give the virtual machine CPUs of its own, or move it to a host that is not overcommitted",
)

CAUSE = Cause(
    name="cpu-delayed",
    title="It waits for a CPU while CPUs idle",
    meaning=(
        "Threads are ready to run and do not, though the machine has CPUs left: they are bound to one that is taken, a CPU "
        "that sleeps takes its time to wake, or the hypervisor does not run the CPU that the kernel gave them. More "
        "CPUs would not help."
    ),
    measured=(
        "The time that threads were ready and waited, by the scheduler's own events, in those intervals of 100 ms in "
        "which /proc/stat has a quarter of the CPUs' time or more as idle. A CPU that is full while the machine is not shows "
        "that they are bound to it."
    ),
    thresholds=(
        Threshold(
            "idle share of all CPUs", LEFT_OVER, "share",
            "more than wake-ups leave between two threads that take turns",
        ),
        Threshold("busy share of one CPU", FULL, "share", "it has no room for another thread"),
    ),
    fooled_by=(
        "bursts shorter than 100 ms that need all CPUs at once, with rest between them",
        "a hypervisor that hides what it takes (steal is 0): the wait shows, its reason does not",
    ),
    remedies=(
        "hand work over less often: each hand-over from thread to thread or process is a wait for a CPU (larger batches)",
        "keep CPUs from sleeping deeply: tuned-adm profile latency-performance",
        "give a virtual machine CPUs of its own",
    ),
    experiment=None,
    find=find,
    unseen_without=("thread_time", "cpu_samples"),
    settled_by=next_command.CPU,
    beats=("cpu-saturated", "cpu-serial"),
)  # fmt: skip
