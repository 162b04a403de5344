"""Nothing explains more than a small share."""

from iowhy.whys import classes, links, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Finding, Saving

SMALL = 0.1
# In another tool's figures: a device that works this much, with so many requests in flight, is no idle machine's.
WORKS = 0.5
QUEUED = 4.0


def find(facts: Facts) -> Candidate | None:
    """What the time is made of, for a run in which nothing is wrong."""
    if not facts.budget.known:
        return None
    largest = max(classes.ALL, key=facts.budget.elapsed)
    share = facts.budget.elapsed(largest)
    storage = facts.budget.elapsed(*classes.STORAGE)
    return Candidate(
        claims=(),
        chain=chain_of(
            link(
                f"the largest part is {largest} with {percent(share)}",
                share,
                "share",
                "budget",
            ),
            link(f"{percent(storage)} of the time waits for storage", storage, "share", "budget"),
            links.device_load(facts),
        ),
        summary=f"no remedy would gain more than {percent(SMALL)} of the time",
        saving=Saving(0.0, "nothing is wrong"),
        needs=("thread_time", "waits"),
    )


def _waiting_would_show(facts: Facts) -> bool:
    """Whether waiting for storage is counted apart from idling; BSD and macOS count it as that."""
    return facts.machine.iowait is not None or facts.machine.blocked is not None


def _devices_rest(facts: Facts) -> bool:
    """Whether no device is seen that works most of the time with requests that wait for each other, or may do so.

    A device that works and does not tell how many wait may be one. Who reads and writes asynchronously waits without being counted: the CPUs are idle then.
    """
    return not any(
        one.busy_share is not None
        and one.busy_share >= WORKS
        and (one.depth is None or one.depth >= QUEUED)
        for one in facts.devices.all
    )


def stands(facts: Facts, findings: tuple[Finding, ...]) -> bool:
    """Whether every finding has little to gain, and little of the time is waiting, whatever it is for.

    A run that waits a lot without a known cause is not healthy: nobody knows what it is. Nor is one whose
    waiting is known, only because what there is to gain from the one remedy that is known is little.
    """
    budget = facts.budget
    if budget.basis == "machine" and not (_waiting_would_show(facts) and _devices_rest(facts)):
        return False
    if any(finding.gain >= SMALL for finding in findings):
        return False
    return budget.elapsed(*classes.WAITING) + budget.modes("unknown") < thresholds.LEADS


CAUSE = Cause(
    name="healthy",
    title="Nothing is wrong",
    meaning="No known cause explains more than a small share of the time.",
    measured="All other causes were looked for, and what they claim is small.",
    thresholds=(
        Threshold(
            "gain of the largest finding, below", SMALL, "share",
            "less than two runs differ anyway",
        ),
        Threshold(
            "waiting without a known cause, below", thresholds.LEADS, "share",
            "with more, what slows the run may be what nobody knows",
        ),
        Threshold(
            "busy share of a device, in another tool's figures, below", WORKS, "share",
            "who reads and writes asynchronously waits without being counted, while CPUs idle",
        ),
        Threshold(
            "or requests in flight there, below", QUEUED, "requests",
            "with four, requests wait for each other, whatever the device",
        ),
    ),
    fooled_by=("a run too short to show anything",),
    remedies=("nothing to do",),
    experiment=None,
    find=find,
    only_if=stands,
)  # fmt: skip
