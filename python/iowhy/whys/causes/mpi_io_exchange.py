"""MPI-IO takes longer than the filesystem's calls below it."""

from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.job import EXCHANGE, Job
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

_LARGER = Remedy(
    worded(
        "mpi-io-exchange.larger-calls",
        "Make fewer, larger collective calls: all variables in one (`H5Dwrite_multi`)",
    ),
    risk="the data takes memory until the call",
    for_authors=True,
)
_HINTS = Remedy(
    worded(
        "mpi-io-exchange.larger-buffers",
        "Gather in larger buffers: hint `cb_buffer_size=67108864`",
    ),
    risk="64 MiB of memory for each process that writes",
)
_COLLECTIVE = Remedy(
    worded(
        "mpi-io-exchange.collective-calls",
        "Use collective calls (`MPI_File_write_at_all`): independent ones lock the file in turn",
    ),
    risk="a process that does not reach the call stops all",
    for_authors=True,
)


def find(facts: Facts) -> Candidate | None:
    """Time within MPI-IO, outside reads and writes."""
    job = facts.job
    share = sum(p.elapsed for p in facts.budget.pieces if p.reason == EXCHANGE)
    if job is None or share < thresholds.LISTED:
        return None
    together = job.mpi("collective_count") >= job.mpi("independent_count")
    return Candidate(
        claims=(Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({EXCHANGE})),),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent in MPI-IO, but in none of the filesystem's reads and writes",
                share,
                "share",
                "measurements",
                "mpi-io-exchange.share",
            ),
            _calls(job, together),
            job.unaligned,
        ),
        summary=worded(
            "mpi-io-exchange.collective",
            "exchanging data between processes, and waiting for each other, in collective calls of MPI-IO",
        )
        if together
        else worded(
            "mpi-io-exchange.independent",
            "waiting for locks and for each other in independent calls of MPI-IO",
        ),
        saving=saving.half("collective calls") if together else saving.half("waiting"),
        remedies=(_LARGER, _HINTS) if together else (_COLLECTIVE,),
        confidence=0.75,
        lowered_by=("what MPI-IO does in this time is not in the log",),
    )


def _calls(job: Job, together: bool) -> Link | None:
    calls = job.mpi("collective_count" if together else "independent_count")
    moved = job.mpi("read_bytes") + job.mpi("written_bytes")
    if not calls:
        return None
    kind = "collective" if together else "independent"
    return link(
        f"{count(job.processes)} processes make {count(calls)} {kind} calls, of {size(moved / calls)} each",
        moved / calls,
        "bytes",
        "measurements",
        "mpi-io-exchange.moved",
    )


CAUSE = Cause(
    name="mpi-io-exchange",
    title="MPI-IO slower than the filesystem below it",
    meaning=(
        "In a collective call, MPI-IO sends the data to a few processes, which write large pieces. If the data of each process are small "
        "pieces all over the file, sending, sorting and waiting for the slowest process take longer than writing. Independent calls wait for "
        "locks of the file instead."
    ),
    measured="The time of the slowest process in MPI-IO's reads and writes, less that in POSIX's on the same files (Darshan).",
    thresholds=(
        Threshold("time in MPI-IO outside of reads and writes, at least", thresholds.LISTED, "share", "what a finding must explain to be listed"),
    ),
    fooled_by=(
        "processes that come late to a collective call, as they still compute: the others wait for them in MPI-IO",
        "a log without the records of the process that writes (Darshan notes that it ran out of memory)",
    ),
    remedies=(_LARGER, _HINTS, _COLLECTIVE),
    find=find,
    settled_by=next_command.JOB,
)  # fmt: skip
