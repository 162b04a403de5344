"""No cause explains more than a small share."""

from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, links, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Finding, Saving
from iowhy.whys.remedy import Remedy
from iowhy.whys.stated_fact import WRONG
from iowhy.whys.statements import statements

SMALL = 0.1
# In another tool's figures: a device that is this busy, with so many requests in flight, may be waited for.
WORKS = 0.5
QUEUED = 4.0
# Without the number of CPUs, a share of their time in iowait is only a lower bound of what one program waits.
LEAST = 0.02


def find(facts: Facts) -> Candidate | None:
    """What the time is made of, for a run without a problem."""
    if not facts.budget.known:
        return None
    largest = max(classes.ALL, key=facts.budget.elapsed)
    share = facts.budget.elapsed(largest)
    storage = facts.budget.elapsed(*classes.STORAGE)
    return Candidate(
        claims=(),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is {largest}",
                share,
                "share",
                "budget",
                "healthy.share",
            ),
            link(
                f"{percent(storage)} of the time is spent waiting for storage",
                storage,
                "share",
                "budget",
                "healthy.storage",
            ),
            links.device_load(facts),
        ),
        summary=_summary(facts, storage),
        saving=Saving(0.0, "nothing is wrong"),
        needs=("thread_time", "waits"),
    )


def _summary(facts: Facts, storage: float) -> Sentence:
    """Completes "ls took 12 ms, …": what it did most of that, and what a disk that takes no time would save."""
    budget, of_ns = facts.budget, facts.shares_of_ns
    computing, idle = budget.elapsed(*classes.CPU), budget.elapsed(classes.IDLE)
    share, words = (idle, "idle") if idle > computing else (computing, "computing")
    timed = of_ns is not None and budget.basis == "threads"
    busy = max(
        (one.busy_share for one in facts.devices.all if one.busy_share is not None), default=None
    )
    # Without the number of CPUs, what is waited is a lower bound.
    bounded = budget.lower_bound and storage > 0 and not timed
    return worded(
        "healthy.mostly",
        (
            "{time:ns} of it {words}"
            if timed
            else "the job spent {share:share} of its time outside of calls of I/O"
            if budget.basis == "job"
            else "the CPUs were idle {share:share} of the time"
            + (" and no device was busy for more than {busy:share}" if busy is not None else "")
            if words == "idle" and budget.basis == "machine"
            else "{share:share} of the time went into {words}"
        )
        + (
            ""
            if bounded
            else ", and nothing waited for a disk"
            if storage <= 0 and words == "idle"
            else "; a faster disk would not help"
            if storage <= 0
            else "; a faster disk would save at most {saves:ns}"
            if timed
            else "; a faster disk would save at most {storage:share}"
        ),
        words=words,
        share=share,
        busy=busy,
        storage=storage,
        time=share * (of_ns or 0),
        saves=storage * (of_ns or 0),
    )


def _waiting_would_show(facts: Facts) -> bool:
    """Whether waiting for storage is counted apart from idle time; BSD and macOS do not."""
    return facts.machine.iowait is not None or facts.machine.blocked is not None


def _devices_rest(facts: Facts) -> bool:
    """Whether no device is busy most of the time with requests that wait for each other, or may do so.

    That may be so of a busy device whose queue is not known. Waiting for asynchronous I/O is not counted: the CPUs are idle then.
    """
    return not any(
        one.busy_share is not None
        and one.busy_share >= WORKS
        and (one.depth is None or one.depth >= QUEUED)
        for one in facts.devices.all
    )


def _cut(facts: Facts) -> bool:
    """Whether the columns of devices that would show it are cut off."""
    return "disk_samples" in facts.run.partial


def stands(facts: Facts, findings: tuple[Finding, ...]) -> bool:
    """Whether every finding could save little, and little of the time is waiting, whatever it is for.

    A run that waits a lot without a known cause is not healthy, nor is one that waits for a known cause whose
    remedy saves little.
    """
    budget = facts.budget
    if budget.basis == "machine" and not (_waiting_would_show(facts) and _devices_rest(facts)):
        return False
    if facts.run.pasted and budget.elapsed(classes.KERNEL) >= thresholds.LEADS:
        # What the kernel computes there may be the filesystem's work.
        return False
    if facts.run.skipped or _cut(facts) or any(one.grave >= WRONG for one in statements(facts)):
        return False
    if (
        budget.basis == "machine"
        and facts.machine.cpus is None
        and budget.elapsed(*classes.STORAGE) >= LEAST
    ):
        # One CPU of many may wait all of the time.
        return False
    # A server is judged by the time in which it had work.
    worked = facts.worked_share
    if any(finding.moment or finding.gain >= SMALL * worked for finding in findings):
        return False
    return budget.elapsed(*classes.WAITING) + budget.modes("unknown") < thresholds.LEADS * worked


CAUSE = Cause(
    name="healthy",
    title="Nothing to fix in I/O",
    meaning="No known cause explains more than a small share of the time.",
    measured="All other causes were looked for; each explains little.",
    thresholds=(
        Threshold(
            "what the largest finding could save, below", SMALL, "share",
            "less than two runs differ anyway",
        ),
        Threshold(
            "waiting without a known cause, below", thresholds.LEADS, "share",
            "with more, an unknown cause may slow the run",
        ),
        Threshold(
            "busy share of a device, in another tool's figures, below", WORKS, "share",
            "waiting for asynchronous I/O is not counted: CPUs are idle then",
        ),
        Threshold(
            "or its requests in flight, below", QUEUED, "requests",
            "with four, requests wait for each other, whatever the device",
        ),
        Threshold(
            "or waiting of CPUs whose number is not known, below", LEAST, "share",
            "of 50 CPUs, one that always waits is 2 %",
        ),
    ),
    fooled_by=("a run too short to show anything",),
    remedies=(Remedy(worded("healthy.leave", "Leave its I/O as it is"), risk="none"),),
    find=find,
    only_if=stands,
)  # fmt: skip
