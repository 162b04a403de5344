"""A sync waits for a commit that carries other files' data."""

from iowhy.whys import classes, links, next_command, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.journal import ordered_share
from iowhy.whys.finding import Candidate, Claim, Saving

CARRIES = 4.0
FLUSHING = 0.4
COMMITS_MIN = 3


def find(facts: Facts) -> Candidate | None:
    """Commits spend their time writing data of files that the command did not sync."""
    journal, syncs, requests = facts.journal, facts.calls.syncs, facts.requests
    if facts.budget.elapsed(classes.SYNC) < thresholds.LISTED or not syncs.calls:
        return None
    if not journal.commits or journal.commits < COMMITS_MIN or journal.flushing_share is None:
        return None
    foreign = requests.other_file_bytes
    if foreign is None or not requests.known:
        return None
    own = max(1.0, requests.write_bytes)
    if facts.calls.writes.done_bytes:
        own = min(own, max(1.0, facts.calls.writes.done_bytes))
    if foreign < CARRIES * own:
        return None
    ordered = max(journal.flushing_share, ordered_share(facts.relations) or 0.0)
    if ordered < FLUSHING:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.SYNC}), "waits for sync"),
            links.call_cost(facts, facts.calls.sync_name or "fsync"),
            link(
                f"{count(journal.commits)} journal commits spend {percent(ordered)} "
                "of their time writing data of ordered files",
                ordered,
                "share",
                "journal",
            ),
            link(
                f"{size(foreign)} of it belong to files that {facts.run.who} did not sync; its own are "
                f"{size(own)}",
                foreign,
                "bytes",
                "files",
            ),
            links.dirtied_by_others(facts),
        ),
        summary=(
            f"waits for journal commits that carry {size(foreign)} of other files' data along"
        ),
        saving=Saving(foreign / (foreign + own), f"if the commits carry only its own {size(own)}"),
        needs=("journal_jbd2", "block_requests", "syscalls"),
        confidence=0.85,
    )


CAUSE = Cause(
    name="journal-entangled",
    title="Its sync waits for other files' data",
    meaning=(
        "In ordered mode, a journal commit first writes the new data of every file in the "
        "transaction. A small fsync then waits for somebody's bulk write on the same file system."
    ),
    measured=(
        "Phases of the journal commits (jbd2), of its phase of logging the part in which data are still on their way; and bytes of data requests for files that the "
        "command never synced, against those that it wrote itself."
    ),
    thresholds=(
        Threshold(
            "others' data per own byte", CARRIES, "times",
            "with less, its own data are a fair part of what it waits for",
        ),
        Threshold(
            "time of commits spent on ordered data", FLUSHING, "share",
            "below it, commits take their time for the log and the flush",
        ),
        Threshold("commits, at least", COMMITS_MIN, "commits", "one may be chance"),
    ),
    fooled_by=("delayed allocation: data without blocks yet are not part of the commit",),
    remedies=(
        "put bulk data and what is synced often on different file systems or devices",
        "write the bulk data in smaller steps, each synced, or throttle it",
        "an external journal, or data=writeback where stale blocks are acceptable",
    ),
    experiment=None,
    find=find,
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.SYNC,
    beats=(
        "sync-storm", "flush-cost", "device-contended", "device-saturated", "device-slow",
        "writeback-scattered",
    ),
)  # fmt: skip
