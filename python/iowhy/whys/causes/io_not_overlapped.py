"""A job computes and waits for I/O in turns."""

from iowhy.sentences import worded
from iowhy.whys import classes, next_command, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.job import Job
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

_MPI = Remedy(
    worded(
        "io-not-overlapped.start-early",
        "Start writes early, and wait for them late: `MPI_File_iwrite_at_all`",
    ),
    risk="a buffer that is changed before the end of its write is written wrong",
    for_authors=True,
)
_HDF5 = Remedy(
    worded(
        "io-not-overlapped.hdf5-async",
        "Let HDF5 write behind: `HDF5_VOL_CONNECTOR=async`",
    ),
    risk="a crash loses data that was not written yet, and its copy takes memory",
)
_THREAD = Remedy(
    worded(
        "io-not-overlapped.separate-thread",
        "Read ahead and write behind in a separate thread",
    ),
    risk="a crash loses the copy of the data in memory",
    for_authors=True,
)


def find(facts: Facts) -> Candidate | None:
    """Calls that wait, and time in which the job could have gone on."""
    job = facts.job
    if job is None or job.mpi("nonblocking_count"):
        return None
    moving, other = facts.budget.elapsed(classes.READ, classes.WRITE), facts.budget.elapsed(classes.USER)  # fmt: skip
    if moving < thresholds.LISTED or other < thresholds.LISTED:
        return None
    calls = job.reads.calls + job.writes.calls
    return Candidate(
        claims=(Claim(frozenset({classes.READ, classes.WRITE})),),
        chain=chain_of(
            link(
                f"{percent(moving)} of the time is spent reading and writing, {percent(other)} outside of calls of I/O",
                moving,
                "share",
                "measurements",
                "io-not-overlapped.moving",
            ),
            link(
                f"{count(calls)} calls of {size((job.reads.bytes + job.writes.bytes) / calls)} each, none of which returns before it is done",
                calls,
                "calls",
                "measurements",
                "io-not-overlapped.calls",
            )
            if calls
            else None,
        ),
        summary=worded(
            "io-not-overlapped.instead",
            "waiting for its reads and writes instead of computing at the same time",
        ),
        saving=Saving(min(1.0, other / moving), "if it computes at the same time"),
        remedies=_remedies(job),
        confidence=0.6,
        lowered_by=("whether it could go on without the data is not in the log",),
    )


def _remedies(job: Job) -> tuple[Remedy, ...]:
    hdf5 = (_HDF5,) if "HDF5" in job.libraries else ()
    return (*hdf5, _MPI, _THREAD) if "MPI-IO" in job.modules else (*hdf5, _THREAD)


CAUSE = Cause(
    name="io-not-overlapped",
    title="A job that computes and waits for I/O in turns",
    meaning="Each read and write waits until it is done, and the job computes before and after it. Both could go on at the same time.",
    measured="Time of the slowest process in reads and writes, and outside of calls of I/O; calls that do not wait (Darshan).",
    thresholds=(
        Threshold("time outside of calls of I/O, at least", thresholds.LISTED, "share", "there must be something else to do"),
    ),
    fooled_by=("a result that the next step needs: it cannot begin earlier",),
    remedies=(_MPI, _HDF5, _THREAD),
    find=find,
    settled_by=next_command.JOB,
)  # fmt: skip
