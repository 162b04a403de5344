"""Nothing explains more than a small share."""

from typing import TYPE_CHECKING

from iowhy.whys import classes, signs
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import link, percent, some
from iowhy.whys.finding import Candidate

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts

#: As in iowhy.whys.verdict, which decides.
SMALL = 0.1


def find(facts: "Facts") -> Candidate | None:
    """What the time is made of, for a run without a finding; the verdict takes it or not."""
    if not facts.budget.known:
        return None
    largest = max(facts.budget.lines, key=lambda line: line.elapsed_share)
    storage = facts.budget.elapsed(*classes.STORAGE)
    return Candidate(
        claims=(),
        chain=some(
            link(
                f"the largest part is {largest.cls} with {percent(largest.elapsed_share)}",
                largest.elapsed_share,
                "share",
                "budget",
            ),
            link(f"{percent(storage)} of the time waits for storage", storage, "share", "budget"),
            signs.device_load(facts),
        ),
        summary=f"no cause explains more than {percent(SMALL)} of the time",
        needs=("thread_time", "waits"),
    )


CAUSE = Cause(
    name="healthy",
    title="Nothing is wrong",
    meaning="No known cause explains more than a small share of the time.",
    measured="All other causes were looked for, and what they claim is small.",
    thresholds=(
        Threshold(
            "share of the largest finding, below", SMALL, "share",
            "to remove its cause would gain less than two runs differ anyway",
        ),
    ),
    fooled_by=("a run too short to show anything",),
    remedies=("nothing to do",),
    experiment=None,
    find=find,
)  # fmt: skip
