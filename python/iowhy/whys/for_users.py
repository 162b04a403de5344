"""What the user of a program can do without changing it."""

import re

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import named
from iowhy.whys.facts import Facts
from iowhy.whys.facts.installed import Starts, computes_there
from iowhy.whys.facts.short_lived import ShortLived
from iowhy.whys.facts.subject import SHELLS
from iowhy.whys.finding import Saving
from iowhy.whys.program import at_work
from iowhy.whys.remedy import Remedy


def without_syncs(facts: Facts) -> Remedy:
    """For syncs that somebody else's program decides on: it calls them through the C library, unless it is a Go program."""
    return Remedy(
        worded(
            "shared.without-syncs",
            "Run it without syncs: `eatmydata {again}`",
            again=named.in_short(facts),
        ),
        risk="a power cut may damage what it wrote; no effect on Go and static programs",
        link="https://manpages.debian.org/bookworm/eatmydata/eatmydata.1.en.html",
    )


def larger_by_option(facts: Facts) -> Remedy:
    """For users of somebody else's program: many that bypass the cache have an option for how much they move at a time."""
    return Remedy(
        worded(
            "shared.larger-by-option",
            "Let {who} move 1 MiB at a time, if it has an option for that: `man {who}`",
            who=facts.run.who,
        ),
        risk="each buffer takes 1 MiB of memory",
    )


def deeper_by_option(who: str) -> Remedy:
    """For users of somebody else's program that asks for one thing at a time, wherever it is."""
    return Remedy(
        worded(
            "shared.deeper-by-option",
            "Let {who} keep 16 requests in flight, if it has an option for that (depth, jobs, threads): `man {who}`",
            who=who,
        ),
        risk="they complete in another order",
    )


_FAILS = "if it fails, the rest is not done"
#: One process for the work of many.
FEWER = Remedy(worded("shared.fewer-processes", "Do the work in fewer processes"), risk=_FAILS)


def fewer_starts(starts: ShortLived) -> Remedy:
    """One process for the work of many, by who starts them."""
    at_once = ""
    if starts.starter == "find":
        at_once = ": `-exec {program} … {{}} +` instead of `;`"
    elif starts.starter in SHELLS:
        at_once = ", such as many files at once (`xargs`)"
    said = "Let one {program} do the work of many" + at_once
    return replace(FEWER, do=worded("shared.fewer-starts", said, program=starts.program))


def one_start(starts: Starts) -> Remedy:
    """For a script that starts a program for each thing: what comes with each start comes once."""
    return Remedy(
        worded(
            "shared.one-start",
            "Let one {program} do all of it: it is started {processes:count} times, with {syncs:count sync} each time",
            program=starts.program,
            processes=starts.processes,
            syncs=starts.syncs,
        ),
        risk=_FAILS,
    )


def before_others(facts: Facts) -> Remedy:
    """What to do about other processes that take the CPUs, of which a recording has no names: root can be served first."""
    pids = named.attached(facts).replace(",", " ")
    # Of two, the one that is typed last would be added.
    again = re.sub(r"^nice( (-n *)?-*\d+)? ", "", named.in_short(facts))
    typed = f"renice -n -20 -p {pids}" if pids else f"nice -n -20 {again}"
    return Remedy(
        worded(
            "shared.priority",
            "Give it priority over the others, as root: `{typed}`",
            typed=typed,
        ),
        risk="the other programs get slower" + ("" if pids else ", and it runs as root"),
    )


def threads_by_option(facts: Facts) -> tuple[Remedy, ...]:
    """For users of somebody else's program that computes in one thread, and of which no better is known."""
    cpus = facts.machine.cpus
    if cpus is None or not facts.somebody_elses or at_work(facts) or _compresses_alone(facts):
        return ()
    do = worded(
        "shared.threads-by-option",
        "Let {who} use {cpus} threads, if it has an option for that: `man {who}`",
        who=facts.run.who,
        cpus=cpus,
    )
    return (Remedy(do, risk="more memory in use"),)


#: Words by which the least of a method is asked for.
_FASTEST = frozenset({"-0", "-1", "--fast"})


def compress_less(facts: Facts) -> dict[Remedy, Saving]:
    """For who chooses how data is compressed, in an option or in code: if most of the time on a CPU compresses."""
    found = facts.compressing
    if found is None or _FASTEST.intersection(facts.run.argv):
        return {}
    do = worded(
        "shared.compress-less",
        "Compress less: a lower level of {method}, a faster method, or none",
        method=found.method,
    )
    saved = Saving(found.share, f"if {found.method} took no time")
    return {Remedy(do, risk="the data takes more space"): saved}


def _compresses_alone(facts: Facts) -> bool:
    return facts.compressing is not None and facts.compressing.alone


def computing_less(
    facts: Facts,
    by_option: tuple[Remedy, ...],
    less: tuple[Remedy, ...],
    parallel: Remedy | None,
    others: tuple[Remedy, ...],
) -> tuple[Remedy, ...]:
    """The remedies of computing, in order: to compress may be all that somebody else's program is for, to its user last; unless that
    can do nothing else."""
    first = () if parallel is None else (parallel,)
    if by_option or _compresses_alone(facts) or not computes_there(facts.relations):
        return (*by_option, *less, *first, *others)
    return (*first, *others, *less)
