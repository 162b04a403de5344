"""A few processes of a job do all its I/O."""

from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.job import Job, Straggler
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

FEW = 1 / 32
ONE = 1.5
LATER = 2.0
ACTIVE = 8
PROCESSES = 4

_MORE_WRITERS = Remedy(
    worded(
        "ranks-uneven.more-aggregators",
        "Let MPI-IO use more processes: hint `cb_nodes`, two for each node",
    ),
    risk="too many of them wait for each other's locks",
)
_SHARE = Remedy(
    worded("ranks-uneven.one-per-node", "Let one process on each node read and write"),
    risk="processes wait for each other's locks on the file",
    for_authors=True,
)


def find(facts: Facts) -> Candidate | None:
    """One process takes much longer than the others, or hardly any other one reads and writes."""
    job = facts.job
    if job is None or job.at_once is None or job.processes < PROCESSES:
        return None
    return _straggler(facts, job, job.straggler) or _few(facts, job, job.at_once)


def _straggler(facts: Facts, job: Job, one: Straggler | None) -> Candidate | None:
    if one is None or one.active < max(ACTIVE, job.processes / 2):
        return None
    share = facts.budget.elapsed(classes.READ, classes.WRITE)
    late_s = one.seconds - one.median_s
    if one.seconds < LATER * one.median_s or late_s < thresholds.LISTED * job.run_s or not share:
        return None
    part = min(1.0, late_s / (share * job.run_s))
    more = one.bytes >= LATER * one.median_bytes
    return Candidate(
        claims=(Claim(frozenset({classes.READ, classes.WRITE}), fraction=part),),
        chain=chain_of(
            link(
                f"process {one.rank} reads and writes for {duration(one.seconds * 1e9)}, the median one for {duration(one.median_s * 1e9)}",
                one.seconds / max(one.median_s, 1e-9),
                "times",
                "measurements",
                "ranks-uneven.seconds",
            ),
            link(
                f"it moves {size(one.bytes)}, the median one {size(one.median_bytes)}",
                one.bytes,
                "bytes",
                "measurements",
                "ranks-uneven.bytes",
            ),
        ),
        summary=worded(
            "ranks-uneven.one",
            "waiting for process {rank}, "
            + (
                "which reads and writes more than the others"
                if more
                else "whose server"
                + ("" if one.server is None else " (OST {server})")
                + " is slower than the others'"
            ),
            rank=one.rank,
            server=one.server,
        ),
        saving=saving.all_of_it("if it takes as long as the median process"),
        remedies=(_EVENLY,) if more else (_SERVER, _EVENLY),
        confidence=0.8,
    )


def _few(facts: Facts, job: Job, at_once: float) -> Candidate | None:
    share = facts.budget.elapsed(classes.READ, classes.WRITE)
    if at_once > max(ONE, FEW * job.processes) or share < thresholds.LISTED:
        return None
    could = max(1.0, FEW * job.processes, 2 * at_once)
    return Candidate(
        claims=(Claim(frozenset({classes.READ, classes.WRITE})),),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent reading and writing",
                share,
                "share",
                "measurements",
                "ranks-uneven.share",
            ),
            link(
                f"{at_once:.2g} of {count(job.processes)} processes do so at a time; all others compute, or wait for them",
                at_once,
                "processes",
                "measurements",
                "ranks-uneven.at-once",
            ),
            job.unaligned,
        ),
        summary=worded(
            "ranks-uneven.few",
            "reading and writing on {at_once:.2g} of its {processes:count} processes at a time",
            at_once=at_once,
            processes=job.processes,
        ),
        saving=Saving(1 - at_once / could, f"on {count(could)} processes at a time"),
        remedies=(_MORE_WRITERS, _SHARE) if job.mpi("collective_count") else (_SHARE,),
        confidence=0.8,
    )


_SERVER = Remedy(
    worded("ranks-uneven.see-server", "See which server is slow: `lctl get_param osc.*.stats`"),
    looks=True,
)
_EVENLY = Remedy(
    worded("ranks-uneven.even-shares", "Give each process as much to read and write"),
    risk="processes exchange more data before they write",
    for_authors=True,
)

CAUSE = Cause(
    name="ranks-uneven",
    title="I/O on few processes of a job, or one that is late",
    meaning=(
        "One process, or a few, read and write for all. The job then has the bandwidth of one node, whatever the filesystem could give, and "
        "the other processes wait for the data or for the end of the write. Or all do, and one takes much longer: it has more to move, or "
        "its file is on a server that is slow."
    ),
    measured=(
        "The time that all processes spend in reads and writes of POSIX, stdio and DFS, divided by that of the slowest one; of "
        "files that are not shared, the time of the slowest process and of the median one (Darshan)."
    ),
    thresholds=(
        Threshold("processes at a time, at most, of all", FEW, "share", "nodes have 32 processors or more: fewer than one process for each node"),
        Threshold("or, of a small job, at most", ONE, "processes", "two of four at a time are not few"),
        Threshold("time of the slowest process, compared with the median one, at least", LATER, "times", "processes that share servers differ by some tens of percent"),
        Threshold("processes with files that they do not share, for that, at least", ACTIVE, "processes", "a median of fewer says little"),
        Threshold("processes, at least", PROCESSES, "processes", "of two, one may well do it"),
    ),
    fooled_by=("processes on nodes with hundreds of processors: one for each node is enough there",),
    remedies=(_MORE_WRITERS, _SHARE, _SERVER, _EVENLY),
    find=find,
    settled_by=next_command.JOB,
    beats=("io-not-overlapped",),
)  # fmt: skip
