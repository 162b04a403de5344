"""A job opens and looks up files for much of its time."""

from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.job import METADATA
from iowhy.whys.facts.reopened import REOPENED
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

_CLAIM = Claim(frozenset({classes.UNEXPLAINED}), reasons=frozenset({METADATA}))
_ONCE = Remedy(
    worded("metadata-storm.open-once", "Open each file once and keep it open"),
    risk="opens fail above the limit of open files (`ulimit -n`)",
    for_authors=True,
)
_NEAR = Remedy(
    worded(
        "metadata-storm.copy-local",
        "Copy the small files to each node's own disk before the job",
    ),
    risk="a copy that is out of date gives old results",
)
_FEWER = Remedy(
    worded("metadata-storm.one-file", "Put the small files into one HDF5 file"),
    risk="programs that read the single files will not find them",
    for_authors=True,
)
_COLLECTIVE = Remedy(
    worded(
        "metadata-storm.one-reader",
        "Let one process read HDF5's metadata for all: `H5Pset_all_coll_metadata_ops`",
    ),
    risk="the job hangs if a process makes other calls",
    for_authors=True,
)


def find(facts: Facts) -> Candidate | None:
    """Time in calls that open, look up and close files."""
    job = facts.job
    share = sum(p.elapsed for p in facts.budget.pieces if p.reason == METADATA)
    if job is None or share < thresholds.LISTED:
        return None
    opens, files, stats = job.total("open_count"), job.total("files"), job.total("stat_count")
    again = files > 0 and opens >= REOPENED * files
    return Candidate(
        claims=(_CLAIM,),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent {METADATA}",
                share,
                "share",
                "measurements",
                "metadata-storm.share",
            ),
            link(
                f"{plural(job.processes, 'process', 'processes')} open {plural(files, 'file')} {count(opens)} times and look them up {count(stats)} times",
                opens,
                "calls",
                "measurements",
                "metadata-storm.opens",
            ),
            None
            if not opens
            else link(
                f"an open takes {duration(job.total('metadata_s') * 1e9 / opens)}, with the look-ups for it and the close",
                job.total("metadata_s") * 1e9 / opens,
                "ns",
                "measurements",
                "metadata-storm.total",
            ),
        ),
        summary=worded(
            "metadata-storm.many-opens",
            "{metadata}: {opens:count} opens of {files:count file}",
            metadata=METADATA,
            opens=opens,
            files=files,
        ),
        saving=Saving(1 - files / opens, f"{count(files)} opens instead of {count(opens)}")
        if again
        else saving.half("opens"),
        remedies=(
            *((_ONCE,) if again else (_FEWER, _NEAR, _ONCE)),
            *((_COLLECTIVE,) if "HDF5" in job.libraries else ()),
        ),
        confidence=0.85,
    )


CAUSE = Cause(
    name="metadata-storm",
    title="Many opens and look-ups of files by a job",
    meaning=(
        "On a parallel filesystem each open and look-up asks one of a few servers. Thousands of processes that open the same file, or a "
        "program that opens thousands of small ones, wait for these servers, however fast data moves."
    ),
    measured="Darshan's metadata time of the slowest process (open, stat, seek, close), as a share of the job's time; opens, files and look-ups.",
    thresholds=(
        Threshold(
            "opens of a file, to open it less often", REOPENED, "opens",
            "a file that is written and read back is opened twice",
        ),
    ),
    fooled_by=("the first open of a job, which waits for a filesystem that is mounted on demand",),
    remedies=(_ONCE, _NEAR, _FEWER, _COLLECTIVE),
    find=find,
    trouble="metadata",
    settled_by=next_command.JOB,
)  # fmt: skip
