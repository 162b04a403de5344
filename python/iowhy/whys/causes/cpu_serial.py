"""The work keeps one or a few CPUs busy while others idle."""

from msgspec.structs import replace

from iowhy.relations.cpu_limits import SERIAL_CORES
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, for_users, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.facts.short_lived import FEW, MANY, SHORT_NS, STARTING, ShortLived
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

# The intervals that count: fewer CPUs are in use than there are.
MODES = ("serial", "parallel")
GAIN = 0.2
# With a smaller share of the CPUs idle, more threads of the program gain nothing.
LEFT_OVER = 0.1
# A busier machine looks like one with a CPU more.
TOLD_BY_LOAD = 0.6
# Of the CPU time, that of processes which do little each, from which on starting them is the work.
STARTS = 0.5
# In figures of a whole machine: a process that fills a CPU; a device that works, or takes long.
FILLED = 0.8
# Of the CPUs' busy time in interrupts: the rest is not what is slow.
OF_BUSY = 0.5
# Of the CPUs in use, those of one thread from which the others are not worth a CPU of their own.
ONE_THREAD = 0.9
# Such a device is what may be waited for.
WORKS = 0.3
# No healthy disk's requests take so long, on the mean.
SLOW_NS = 20e6

_CLAIMS = (
    Claim(frozenset({classes.USER, classes.KERNEL, classes.RUNNABLE}), modes=frozenset(MODES)),
)


def find(facts: Facts) -> Candidate | None:
    """CPU time in intervals in which CPUs are left over."""
    budget, machine = facts.budget, facts.machine
    share = budget.modes(*MODES)
    program = evidence.one_program(facts)
    if share < GAIN or program is None or _may_be_many_programs(facts):
        return None
    starts = _starts(facts)
    if starts is not None:
        return _starting(facts, share, starts)
    parallel = budget.modes("parallel") > budget.modes("serial")
    left_over = _left_over(facts)
    computing_syncs = links.sync_looks_long(facts)
    lowered = []
    confidence = 0.9 if machine.cpus is not None else 0.7
    if machine.cpus is None:
        lowered.append("the number of CPUs is unknown")
    none_left = left_over is not None and left_over < LEFT_OVER and not facts.run.pasted
    if none_left:
        confidence = min(confidence, 0.6)
        lowered.append("other processes keep the CPUs busy: no CPU is left to use")
    no_memory = budget.elapsed(classes.MEMORY) + evidence.reclaim_cpu(facts) >= thresholds.LISTED
    bound = _bound(facts)
    waits_more = budget.elapsed(*classes.STORAGE) > share
    room = not (none_left or no_memory)
    by_option = (
        ()
        if parallel or computing_syncs or bound is not None
        else for_users.threads_by_option(facts)
    )
    less = {} if computing_syncs else for_users.compress_less(facts)
    return Candidate(
        claims=_CLAIMS,
        chain=_chain(facts, share, computing_syncs),
        summary=_summary(facts, parallel, bound),
        who=program,
        saving=_saving(facts, not room, bool(computing_syncs)),
        by_less=None if computing_syncs else saving.half("work"),
        by_remedy={
            _FASTER: saving.twice("speed of the CPU's core"),
            **less,
        },
        confidence=confidence,
        lowered_by=tuple(lowered),
        remedies=for_users.computing_less(
            facts,
            by_option if room else (),
            tuple(less),
            _first(facts, bool(computing_syncs), bound, program) if room else None,
            (_FASTER, evidence.by_function(facts)),
        ),
        first=None if bound is None else f"{evidence.let_run_on_all(facts).do}, then",
        behind=("cpu-saturated",) if none_left else ("memory-pressure",) if no_memory else (),
        against=(
            ("the rates in the text are those of the device, not of CPUs",)
            if facts.measured.metric("read_iops") and waits_more
            else ()
        ),
        needs=("thread_time",),
    )


def _first(facts: Facts, computing_syncs: bool, bound: int | None, program: str) -> Remedy:
    """What divides the work, or leaves out what is done in vain."""
    if computing_syncs:
        return evidence.sync_once(facts)
    if bound is not None:
        return replace(evidence.let_run_on_all(facts), for_authors=True)
    return _parallel(facts, program or facts.run.who)


def _starts(facts: Facts) -> ShortLived | None:
    """The processes that it started to do little each, where most of the CPU time is theirs."""
    found = facts.short_lived
    return None if found is None or found.cpu_share * found.starting < STARTS else found


def _starting(facts: Facts, share: float, starts: ShortLived) -> Candidate:
    """Who starts fewer processes computes less: whether another CPU is left over does not matter."""
    return Candidate(
        claims=_CLAIMS,
        chain=_chain(facts, share, ()),
        summary=worded(
            "cpu-serial.starts",
            "starting {processes:count} short processes, mostly {program}: {each:ns} of CPU time each"
            if starts.starting == 1
            else "starting {program} {processes:count} times, which is {starting:share} of what each does ({each:ns} of CPU time)",
            starting=starts.starting,
            processes=starts.processes,
            program=starts.program,
            each=starts.cpu_ns / starts.processes,
        ),
        who=starts.starter,
        saving=Saving(
            starts.cpu_share * starts.starting * (1 - 1 / starts.processes),
            "if one process did it all",
        ),
        by_less=saving.half("work"),
        by_setting=_saving(facts, False, False),
        by_remedy={_FASTER: saving.twice("speed of the CPU's core")},
        confidence=0.9,
        remedies=(for_users.fewer_starts(starts), _FASTER, evidence.by_function(facts)),
        needs=("thread_time",),
    )


def _may_be_many_programs(facts: Facts) -> bool:
    """A whole machine's CPU time that is mostly interrupts, or next to a device that is waited for: what computes need not be what waits."""
    if facts.budget.basis != "machine" or any(
        share >= FILLED for share in facts.measured.metric("cpu_share").values()
    ):
        return False
    if (facts.machine.interrupts or 0.0) >= OF_BUSY * (facts.machine.busy or 1.0):
        return True  # not a program's code
    return any(
        (one.busy_share or 0.0) >= WORKS or ((one.wait_ns or 0.0) >= SLOW_NS and one.load > 0)
        for one in facts.devices.all
    )


def _summary(facts: Facts, parallel: bool, bound: int | None) -> Sentence:
    """On how many CPUs it computed, and how many idled."""
    cpus = links.bound_cpus(facts) or facts.machine.cpus
    if parallel:
        return (
            worded("cpu-serial.too-few", "computing on too few of the CPUs")
            if cpus is None
            else worded("cpu-serial.fewer", "computing on fewer than its {cpus} CPUs", cpus=cpus)
        )
    others = _others_idle(facts)
    return worded(
        "cpu-serial.one",
        "computing on "
        + ("the one CPU that it may run on" if bound == 1 else "one CPU")
        + (
            ""
            if others is None
            else " while others idle"
            if others < 1
            else " while the other idles"
            if others == 1
            else " while {others} others idle"
        ),
        others=others,
    )


def _others_idle(facts: Facts) -> int | None:
    """How many other CPUs of the machine idle on average, 0 for an unknown number; None if no good part of them does."""
    idle, cpus = facts.machine.idle, facts.machine.cpus
    if idle is None or idle < LEFT_OVER:
        return None
    return 0 if cpus is None else min(cpus - 1, round(idle * cpus))


def _saving(facts: Facts, no_room: bool, computing_syncs: bool) -> Saving:
    """What all CPUs could save instead of those in use; if syncs compute, what one sync could."""
    used, cpus = _cpus(facts)
    syncs = facts.calls.syncs.calls
    if no_room:
        return saving.half("work")
    if computing_syncs:
        return Saving(
            saving.once(syncs, "sync").part,
            f"1 sync instead of {count(syncs)}; the cost of each change stays",
        )
    if cpus is None or used is None:
        return saving.twice("CPUs, if all of it can run in parallel")
    here = float(max(1, cpus))
    if facts.machine.quota_cores is not None:
        here = min(here, max(1.0, facts.machine.quota_cores))
    bound = links.bound_cpus(facts)
    if bound is None or bound >= here or _rest(facts, used, bound) < GAIN:
        words = f"on all {here:.3g} CPUs"
    else:
        here, words = float(bound), f"on the {bound} CPUs that its threads may run on"
    return Saving(_rest(facts, used, here), f"{words}, if all of it can run in parallel")


def _bound(facts: Facts) -> int | None:
    """The CPUs that its threads are bound to, if it already uses these, and does not only wait for them: then one thread is helped by that."""
    bound, used = links.bound_cpus(facts), facts.threads.cores_used
    if bound is None or used is None or _rest(facts, used, bound) >= GAIN:
        return None
    waits = evidence.delayed(facts) >= thresholds.LISTED
    return None if waits and (facts.threads.top_share or 0.0) >= ONE_THREAD * used else bound


def _rest(facts: Facts, used: float, cpus: float) -> float:
    """The share of so many CPUs that it leaves unused while it computes."""
    # CPUs in use include what the recorder took of them, over the whole run.
    lines = [facts.budget.line(cls) for cls in (*classes.CPU, classes.RECORDER)]
    on_cpu = sum(line.elapsed_share for line in lines)
    busy = max(1.0, min(cpus, used / max(on_cpu, 1e-9)))
    return 1 - busy / cpus


def _left_over(facts: Facts) -> float | None:
    """The share of the machine's CPU time that nobody used; without its own counter, iowait is part of idle."""
    idle, iowait = facts.machine.idle, facts.machine.iowait
    return idle if idle is None or iowait is None else idle + iowait


def _cpus(facts: Facts) -> tuple[float | None, int | None]:
    """How many CPUs do the work, of how many."""
    machine, cpus = facts.machine, facts.machine.cpus
    if facts.threads.cores_used is not None or machine.busy is None:
        return facts.threads.cores_used, cpus
    if cpus is None and 0 < machine.busy <= TOLD_BY_LOAD:
        # Pasted figures may lack the number of CPUs, but their load shows it.
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
        link(
            f"{percent(share)} of the time is spent on a CPU",
            share,
            "share",
            "budget",
            "cpu-serial.share",
        ),
        *computing_syncs,
        links.bound_to(facts),
        None
        if used is None or cpus is None
        else link(
            f"about {used:.1f} of {cpus} CPUs are in use",
            used,
            "CPUs",
            "system" if facts.threads.cores_used is None else "threads",
            "cpu-serial.used",
        ),
        None
        if top.top_share is None
        else link(
            f"the busiest thread{who} is on a CPU {percent(top.top_share)} of the run",
            top.top_share,
            "share",
            "threads",
            "cpu-serial.top-share",
        ),
        None
        if left_over is None
        else link(
            f"the machine's CPUs are {percent(left_over)} idle{ready}",
            left_over,
            "share",
            "system",
            "cpu-serial.left-over",
        ),
        link(
            f"{percent(waiting)} of the time is spent waiting for storage",
            waiting,
            "share",
            "budget",
            "cpu-serial.waiting",
        ),
    )


_PARALLEL_RISK = "more memory in use; steps that depend on each other may fail"
_IN_PARALLEL = Remedy(
    worded("cpu-serial.divide-work", "Divide the work among several processes"),
    risk=_PARALLEL_RISK,
    for_authors=True,
)
_WHERE = Remedy(
    worded("cpu-serial.see-functions", "See which functions take the time: `perf top`"),
    looks=True,
)
_FASTER = Remedy(
    worded("cpu-serial.faster-core", "Use a CPU with a faster single core"),
    risk="it costs more",
)


def _parallel(facts: Facts, who: str) -> Remedy:
    """As many processes as CPUs: of a command with a part of its input each, of what runs already as workers."""
    cpus = facts.machine.cpus
    if facts.run.pasted or cpus is None:
        return _IN_PARALLEL
    if facts.run.mode == "run":
        do = worded(
            "cpu-serial.one-per-cpu",
            "Run one {who} for each of the {cpus} CPUs, each with its part of the input",
            cpus=cpus,
            who=who,
        )
    else:
        do = worded(
            "cpu-serial.workers",
            "Let {cpus} workers do the work of {who}, one for each CPU",
            cpus=cpus,
            who=who,
        )
    return replace(_IN_PARALLEL, do=do)


CAUSE = Cause(
    name="cpu-serial",
    title="Computing on too few CPUs",
    meaning=(
        "The program computes on fewer CPUs than there are, because too few of its threads run at a time. "
        "Calls may look long, fsync above all, and yet spend their time on a CPU: then faster storage "
        "does not help."
    ),
    measured=(
        "CPU time in intervals in which the program's threads could not use more CPUs than there "
        "are. The scheduler's events split a call's time into computing, ready and waiting, so "
        "a long call that computes does not look like a slow device."
    ),
    thresholds=(
        Threshold(
            "CPUs that serial work could use at once, at most", SERIAL_CORES, "CPUs",
            "one thread, and a little of a second one",
        ),
        Threshold(
            "CPU time, at least", GAIN, "share",
            "two CPUs instead of one would save half of it: a tenth, as much as two runs differ by",
        ),
        Threshold(
            f"share of the CPU time in {MANY} short processes or more, for starting them to be the work, at least", STARTS, "share",
            f"of a program that starts processes of at most {SHORT_NS // 1_000_000} ms of CPU time each; or of {FEW} or more, each of which spends "
            f"{STARTING:.0%} of its life or more on files that all of them open, before it opens one that only it opens",
        ),
    ),
    fooled_by=(
        "busy polling (io_uring with polling, DPDK, spinning locks) is CPU time too",
        "a CPU that heat slows down looks like more work",
        "figures of a whole machine, whose CPU time may be many programs': not counted if a device works or is slow, "
        "unless a process fills a CPU",
    ),
    remedies=(
        _IN_PARALLEL,
        for_users.FEWER,
        _FASTER,
        _WHERE,
    ),
    experiment="cpu-quota",
    find=find,
    explains=classes.named("user kernel runnable"),
    unseen_without=("thread_time",),
    settled_by=next_command.CPU,
)  # fmt: skip
