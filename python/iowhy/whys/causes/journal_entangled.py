"""A sync waits for a commit that carries other files' data."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, links, named, next_command, thresholds
from iowhy.whys.cause import Cause, Clue, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.journal import ordered_share
from iowhy.whys.finding import Candidate, Claim, Saving
from iowhy.whys.remedy import Remedy

CARRIES = 4.0
FLUSHING = 0.4
COMMITS_MIN = 3


def find(facts: Facts) -> Candidate | None:
    """Commits spend their time writing data of files that the program did not sync."""
    journal, syncs, requests = facts.journal, facts.calls.syncs, facts.requests
    if facts.budget.elapsed(classes.SYNC) < thresholds.LISTED or not syncs.calls:
        return None
    if not journal.commits or journal.commits < COMMITS_MIN or journal.flushing_share is None:
        return None
    foreign, own = requests.other_file_bytes, _own_bytes(facts)
    if foreign is None or not requests.known or not _carries_others(facts):
        return None
    ordered = max(journal.flushing_share, ordered_share(facts.relations) or 0.0)
    if ordered < FLUSHING:
        return None
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),),
        chain=chain_of(
            links.in_calls(facts, frozenset({classes.SYNC}), "is spent waiting for syncs"),
            links.call_cost(facts, facts.calls.sync_name or "fsync"),
            link(
                f"{count(journal.commits)} journal commits spend {percent(ordered)} "
                "of their time writing data of files (ordered mode)",
                ordered,
                "share",
                "journal",
                "journal-entangled.ordered",
            ),
            link(
                f"{size(foreign)} of that data is in files that {facts.run.who} did not sync; "
                f"{size(own)} is its own",
                foreign,
                "bytes",
                "files",
                "journal-entangled.foreign",
            ),
            links.dirtied_by_others(facts),
        ),
        summary=worded(
            "journal-entangled.commits",
            "waiting for {commits:count} journal commits, which write {others:bytes} of other files' data",
            commits=journal.commits,
            others=foreign,
        ),
        saving=Saving(
            foreign / (foreign + own), f"if commits write only the {size(own)} of {facts.run.who}"
        ),
        remedies=_remedies(facts),
        needs=("journal_jbd2", "block_requests", "syscalls"),
        confidence=0.85,
    )


def _own_bytes(facts: Facts) -> float:
    own, written = max(1.0, facts.requests.write_bytes), facts.calls.writes.done_bytes
    return min(own, max(1.0, written)) if written else own


def _carries_others(facts: Facts) -> bool:
    """Whether much more was written for files that it did not sync than for its own."""
    return (facts.requests.other_file_bytes or 0.0) >= CARRIES * _own_bytes(facts)


_APART = Remedy(
    worded(
        "journal-entangled.other-filesystem-any",
        "Move the files that it syncs to another filesystem",
    ),
    risk="downtime for the move",
)
_LATER = Remedy(
    worded(
        "journal-entangled.other-time-any",
        "Run the program with the bulk write at another time",
    ),
    risk="it finishes later",
)
_WRITEBACK = Remedy(
    worded(
        "journal-entangled.writeback-mode-any",
        "Mount the filesystem with data=writeback",
    ),
    risk="files may contain old blocks after a crash",
)


def _remedies(facts: Facts) -> tuple[Remedy, ...]:
    """Its own files apart, the other writer later, or commits that do not wait for data."""
    own, dirtier = named.file(facts), facts.requests.dirtied_by
    mount = named.waited_mount(facts)
    return (
        _APART
        if own is None
        else replace(
            _APART,
            do=worded(
                "journal-entangled.other-filesystem",
                "Move {own} to another filesystem",
                own=own,
            ),
        ),
        _LATER
        if dirtier is None
        else replace(
            _LATER,
            do=worded(
                "journal-entangled.other-time",
                "Run {other} at another time",
                other=named.other(facts, dirtier.who()),
            ),
        ),
        _WRITEBACK
        if mount is None
        else replace(
            _WRITEBACK,
            do=worded(
                "journal-entangled.writeback-mode",
                "Let commits of {mount} not wait for data: mount it with data=writeback",
                mount=mount,
            ),
        ),
    )


CAUSE = Cause(
    name="journal-entangled",
    title="Syncs that wait for other files' data",
    meaning=(
        "In ordered mode, a journal commit first writes the new data of every file in the "
        "transaction. A small fsync then waits for another program's bulk write to the same filesystem."
    ),
    measured=(
        "Phases of the journal commits (jbd2), with the part of the logging phase in which data is still being "
        "written. Bytes of requests for files that the program never synced, compared with the bytes that it "
        "wrote."
    ),
    thresholds=(
        Threshold(
            "others' data per own byte", CARRIES, "times",
            "with less, its own data is a fair part of what it waits for",
        ),
        Threshold(
            "time of commits spent on ordered data", FLUSHING, "share",
            "below it, the log and the flush take most of a commit",
        ),
        Threshold("commits, at least", COMMITS_MIN, "commits", "one may be chance"),
    ),
    fooled_by=("delayed allocation: data that has no blocks yet is not part of the commit",),
    remedies=(
        _APART,
        _LATER,
        _WRITEBACK,
    ),
    find=find,
    explains=classes.named("sync"),
    unseen_without=("syscalls", "block_requests"),
    clues=(Clue("journal_jbd2", _carries_others),),
    settled_by=next_command.SYNC,
    beats=(
        "sync-storm", "flush-cost", "device-contended", "device-saturated", "device-slow",
        "writeback-scattered", "device-capped", "file-fragmented", "syncs-behind-writes",
    ),
)  # fmt: skip
