"""A large shared file is on too few servers of a parallel filesystem."""

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.job import EXCHANGE, HeavyFile, Job
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

STRIPES = 2
PROCESSES = 4
BYTES_MIN = 64 * 1024 * 1024

_ELSEWHERE = Remedy(
    worded("stripes-few.more-servers-any", "Spread the file over more servers: `lfs migrate -c 8`"),
    risk="heavy I/O while it is copied",
)


def find(facts: Facts) -> Candidate | None:
    """The file that takes most of the job's I/O has one or two stripes."""
    job = facts.job
    file = None if job is None else job.file
    if job is None or file is None or file.stripes is None or file.stripes > STRIPES:
        return None
    if not file.shared or job.processes < PROCESSES * file.stripes:
        return None
    if file.bytes < BYTES_MIN:
        return None
    exchange = sum(p.elapsed for p in facts.budget.pieces if p.reason == EXCHANGE)
    whole = facts.budget.elapsed(classes.READ, classes.WRITE) + exchange
    share = file.elapsed_s / job.run_s
    part = min(1.0, share / whole) if whole else 0.0
    if share < thresholds.LISTED or not part:
        return None
    return Candidate(
        claims=(
            Claim(frozenset({classes.READ, classes.WRITE}), fraction=part),
            # While one process writes, the others wait in the same call.
            Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({EXCHANGE}), fraction=part),
        ),
        chain=_chain(job, file, share),
        summary=worded(
            "stripes-few.few",
            "reading and writing {path}, which is on {stripes:count server} alone",
            path=file.path,
            stripes=file.stripes,
        ),
        saving=saving.twice("servers"),
        remedies=(
            Remedy(
                worded(
                    "stripes-few.more-servers",
                    "Spread it over 8 servers: `lfs migrate -c 8 {path}`",
                    path=quoted(file.path),
                ),
                risk=_ELSEWHERE.risk,
            ),
        ),
        confidence=0.85,
    )


def _chain(job: Job, file: HeavyFile, share: float) -> tuple[Link, ...]:
    return chain_of(
        link(
            f"{file.path} is read and written for {duration(file.elapsed_s * 1e9)}: {size(file.bytes)}",
            share,
            "share",
            "measurements",
            "stripes-few.share",
        ),
        link(
            f"it has {plural(file.stripes or 0, 'stripe')}, for {count(job.processes)} processes",
            file.stripes,
            "stripes",
            "measurements",
            "stripes-few.stripes",
        ),
        None
        if file.at_once is None
        else link(
            f"{file.at_once:.2g} of them move it at a time",
            file.at_once,
            "processes",
            "measurements",
            "stripes-few.at-once",
        ),
        job.unaligned,
    )


CAUSE = Cause(
    name="stripes-few",
    title="A large shared file on too few servers",
    meaning=(
        "Lustre keeps a file on as many servers as it has stripes, and one is the default. All processes that share the file then wait for "
        "that server, and MPI-IO lets only as many processes write as there are stripes."
    ),
    measured="The stripes of the file that is read and written for the longest (Darshan's Lustre module), its time and bytes.",
    thresholds=(
        Threshold("stripes, at most", STRIPES, "stripes", "more servers than that are seldom the limit of a job of a few nodes"),
        Threshold("processes per stripe, at least", PROCESSES, "processes", "a few processes do not fill one server"),
        Threshold("bytes moved, at least", BYTES_MIN, "bytes", "one stripe is right for small files"),
    ),
    fooled_by=("a job whose nodes share one slow link to the servers",),
    remedies=(_ELSEWHERE,),
    find=find,
    settled_by=next_command.JOB,
    beats=("ranks-uneven", "mpi-io-exchange", "io-not-overlapped"),
)  # fmt: skip
