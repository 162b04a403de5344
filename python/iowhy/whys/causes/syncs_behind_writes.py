"""Small syncs of a log wait while the program writes other data to the same disk."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, links, next_command, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.crowded import Crowded, crowded
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

ALONE_MIN, MEETING_MIN = 10, 5
TIMES = 1.5


def find(facts: Facts) -> Candidate | None:
    """Syncs of few bytes take far longer while it writes other data than at other times."""
    sync = frozenset({classes.SYNC})
    waiting, of_ns = facts.budget.elapsed(classes.SYNC), facts.shares_of_ns
    if waiting < thresholds.LISTED or not of_ns:
        return None
    found = crowded(facts.relations, ALONE_MIN, MEETING_MIN)
    if found is None or found.times < TIMES:
        return None
    log, who = found.path or "a log", found.writer or facts.run.who
    alone, meeting = found.alone_ns / found.alone, found.meeting_ns / found.meeting
    return Candidate(
        claims=(Claim(sync, fraction=min(1.0, found.more_ns / of_ns / waiting)),),
        chain=chain_of(
            links.in_calls(facts, sync, "is spent waiting for syncs"),
            link(
                f"a sync of {log} takes {duration(meeting)} while other data is written, {duration(alone)} at other times",
                found.times,
                "times",
                "sync",
                "syncs-behind-writes.times",
            ),
            link(
                f"{count(found.meeting)} of {count(found.meeting + found.alone)} syncs meet such writes",
                found.meeting,
                "calls",
                "sync",
                "syncs-behind-writes.meeting",
            ),
            link(
                f"{who} writes {size(found.other_bytes)} of other data to that disk",
                found.other_bytes,
                "bytes",
                "files",
                "syncs-behind-writes.other-bytes",
            ),
        ),
        summary=worded(
            "syncs-behind-writes.waits",
            "waiting for syncs of {log}, which take {times:.1f} times as long while {who} writes other data",
            log=log,
            times=found.times,
            who=who,
        ),
        saving=Saving(1.0, "if other data is written at other times, or elsewhere"),
        remedies=(_apart(found), _SPREAD),
        needs=("syscalls", "block_requests"),
        confidence=0.85,
    )


def _apart(found: Crowded) -> Remedy:
    if found.path is None:
        return _APART
    do = worded("syncs-behind-writes.apart", "Move {log} to another disk", log=found.path)
    return replace(_APART, do=do)


_SPREAD = Remedy(
    worded(
        "syncs-behind-writes.spread",
        "Write other data in smaller pieces, spread over time",
    ),
    risk="more is left to write at the end, or to recover after a crash",
    for_authors=True,
)
_APART = Remedy(
    worded("syncs-behind-writes.apart-any", "Move the log to another disk"),
    risk="downtime for the move",
)

CAUSE = Cause(
    name="syncs-behind-writes",
    title="Small syncs behind other writes of the same program",
    meaning=(
        "A log that is synced for each transaction shares its disk with data that the same program writes in bulk: a checkpoint, "
        "a compaction, a rewrite. While these are on their way, each small sync waits for them as well."
    ),
    measured=(
        "Sync calls of files that are synced often with little in each; for each call whether writes of the program's other files were in "
        "flight on that disk. The calls that meet such writes are compared with the others."
    ),
    thresholds=(
        Threshold("calls that are alone, at least", ALONE_MIN, "calls", "fewer do not show what one takes"),
        Threshold(
            "calls that meet such writes, at least", MEETING_MIN, "calls",
            "fewer may be chance; each may wait for all that is written, so few take long",
        ),
        Threshold(
            "times as long as a sync that is alone, at least", TIMES, "times",
            "syncs of one file differ by about a fifth from stretch to stretch; half is not noise",
        ),
    ),
    fooled_by=("a device that is slower at times for another reason, just when the program writes",),
    remedies=(_APART, _SPREAD),
    find=find,
    explains=classes.named("sync"),
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.SYNC,
    beats=(
        "sync-storm", "flush-cost", "device-saturated", "device-slow", "device-capped", "writeback-scattered", "random-access",
        "file-fragmented",
    ),
)  # fmt: skip
