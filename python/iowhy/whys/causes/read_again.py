"""A program reads the same bytes more than once."""

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.reread import reread
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.remedy import Remedy

TIMES = 2.0

_BROADCAST = Remedy(
    worded(
        "read-again.one-reader",
        "Let one process read what all need, and send it to the others (`MPI_Bcast`)",
    ),
    risk="a process that does not reach the call stops all",
    for_authors=True,
)
_KEEP = Remedy(
    worded("read-again.keep-in-memory", "Keep what was read in the program's memory"),
    risk="less memory is left for other data",
    for_authors=True,
)
_NEAR = Remedy(
    worded("read-again.copy-local", "Copy what is read again to each node's own disk"),
    risk="a copy that is out of date gives old results",
)


def find(facts: Facts) -> Candidate | None:
    """More bytes are read than the files that are read have up to the last one read."""
    job = facts.job
    if job is None:
        return _from_memory(facts)
    posix = job.modules.get("POSIX", {})
    read, distinct = posix.get("again_bytes", 0.0), posix.get("again_distinct_bytes", 0.0)
    if not distinct or read < TIMES * distinct or not job.total("read_s"):
        return None
    part = posix.get("again_s", 0.0) / job.total("read_s")
    share = part * facts.budget.elapsed(classes.READ)
    if share < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.READ}), fraction=part),),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent reading what was read before",
                share,
                "share",
                "measurements",
                "read-again.share",
            ),
            link(
                f"{plural(job.processes, 'process', 'processes')} read {size(read)} of files that have {size(distinct)}",
                read / distinct,
                "times",
                "measurements",
                "read-again.read",
            ),
        ),
        summary=_same(distinct, read / distinct),
        saving=saving.all_of_it("if each byte is read once"),
        remedies=(_BROADCAST, _KEEP, _NEAR) if job.processes > 1 else (_KEEP, _NEAR),
        confidence=0.8,
        lowered_by=("which bytes each process reads is not in the log",),
    )


def _same(distinct: float, times: float) -> Sentence:
    return worded(
        "read-again.same",
        "reading the same {distinct:bytes} {times:,.0f} times",
        distinct=distinct,
        times=times,
    )


def _from_memory(facts: Facts) -> Candidate | None:
    """A process copies the same bytes out of the page cache time and again: no device is waited for, but that computes."""
    kernel = facts.budget.line(classes.KERNEL)
    if facts.run.pasted or facts.budget.basis != "threads" or not kernel.thread_ns:
        return None
    found = None if evidence.direct_io(facts) else reread(facts.relations, TIMES)
    if found is None:
        return None
    part = min(1.0, found.again_cpu_ns / kernel.thread_ns)
    share, times = part * kernel.elapsed_share, found.read_bytes / found.size_bytes
    if share < thresholds.LISTED:
        return None
    files = found.path if found.files == 1 else None
    return Candidate(
        claims=(Claim(frozenset({classes.KERNEL}), fraction=part),),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is CPU time in calls that read what the same process had read before",
                share,
                "share",
                "syscalls",
                "read-again.computing",
            ),
            link(
                f"they read {size(found.read_bytes)} of {files or plural(found.files, 'file')} with {size(found.size_bytes)}",
                times,
                "times",
                "files",
                "read-again.from-memory",
            ),
        ),
        summary=_same(found.size_bytes, times),
        saving=saving.all_of_it("if each byte is read once"),
        remedies=(_KEEP,),
        confidence=0.85,
        needs=("syscalls",),
    )


CAUSE = Cause(
    name="read-again",
    title="The same bytes read again",
    meaning=(
        "Every process of a job reads a file that all need, or one process reads the same place over and over. The servers of the "
        "filesystem, or the page cache, move the same bytes each time."
    ),
    measured=(
        "Bytes that the calls of one process returned from a file, compared with its size, and the CPU time of these calls; "
        "of a job (Darshan), bytes read through POSIX, compared with the highest offset that was read in each of these files."
    ),
    thresholds=(
        Threshold("bytes read, compared with those there are, at least", TIMES, "times",
                  "a header that is read again, or a second pass over a part, is not worth a change"),
    ),
    fooled_by=(
        "a file that is written between the reads: it has to be read again",
        "a benchmark that reads one file over and over: that is what it measures",
    ),
    remedies=(_BROADCAST, _KEEP, _NEAR),
    find=find,
    settled_by=next_command.JOB,
    explains=classes.named("kernel"),
    beats=(
        "small-requests", "random-access", "io-not-overlapped", "ranks-uneven", "cpu-serial", "cpu-saturated",
    ),
)  # fmt: skip
