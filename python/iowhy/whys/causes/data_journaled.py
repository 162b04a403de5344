"""Data is written twice: to the journal first, then to its place."""

from msgspec.structs import replace

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

WAITS = frozenset({classes.WRITE, classes.SYNC, classes.THROTTLED})
TWICE = 1.5
# A journal takes all of less data, and reads of it come from memory: no loss.
BYTES_MIN = 16 * 1024 * 1024

_ONCE = Remedy(
    worded(
        "data-journaled.ordered-any",
        "Mount it with data=ordered, the default of ext4",
    ),
    risk="stop what uses the filesystem first; after a crash, an overwritten file may mix old and new data",
)
_LARGER = Remedy(
    worded(
        "data-journaled.larger-journal",
        "Give it a larger journal, which is emptied less often: `tune2fs -J size=4096`",
    ),
    risk="downtime while it is unmounted, and less space for data",
)


def find(facts: Facts) -> Candidate | None:
    """The device writes much more than the program, whose filesystem journals data."""
    filesystem, asked = facts.written_filesystem, facts.calls.writes.done_bytes
    moved = facts.requests.write_bytes
    if filesystem is None or not filesystem.journals_data or not asked or asked < BYTES_MIN:
        return None
    if moved < TWICE * asked or facts.budget.elapsed(*WAITS) < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(WAITS),),
        chain=_chain(facts, filesystem, asked, moved),
        summary=worded(
            "data-journaled.twice",
            "writing data twice: to the journal of {mount} first, then to its place",
            mount=filesystem.mount,
        ),
        saving=saving.all_but_moving(facts, tuple(WAITS), asked, "if data is written once"),
        remedies=_remedies(facts, filesystem.mount),
        needs=("syscalls", "block_requests", "waits"),
        confidence=0.9,
    )


def _remedies(facts: Facts, mount: str) -> tuple[Remedy, ...]:
    """The mode of the journal is not changed by a remount (ext4(5))."""
    device, at = named.source(facts, mount), quoted(mount)
    if device is None or mount == "/":
        return (_ONCE,)
    once = worded(
        "data-journaled.ordered",
        "Write data once: `umount {mount} && mount -o data=ordered {device} {mount}`",
        mount=at,
        device=device,
    )
    return (replace(_ONCE, do=once),)


def _chain(facts: Facts, filesystem: Filesystem, asked: float, moved: float) -> tuple[Link, ...]:
    """How long it waits, how the filesystem is mounted, what is written, and how often the journal commits."""
    return chain_of(
        links.in_calls(facts, WAITS, "is spent waiting for writes"),
        link(
            f"{filesystem.mount} is mounted with data=journal",
            None,
            "text",
            "device-facts",
            "data-journaled.mounted",
        ),
        link(
            f"{facts.run.who} writes {size(asked)}, and {facts.requests.device or 'the device'} {size(moved)}",
            moved,
            "bytes",
            "amplification",
            "data-journaled.moved",
        ),
        _commits(facts),
        links.device_load(facts),
    )


def _commits(facts: Facts) -> Link | None:
    journal = facts.journal
    if not journal.commits or journal.mean_ns is None:
        return None
    return link(
        f"{count(journal.commits)} journal commits of {duration(journal.mean_ns)} each, data included",
        journal.commits,
        "commits",
        "journal",
        "data-journaled.commits",
    )


CAUSE = Cause(
    name="data-journaled",
    title="Data written twice, to the journal first",
    meaning=(
        "An ext4 that is mounted with data=journal writes all data to its journal, and later to its place. Writes larger "
        "than the journal wait until it has room again, and the disk seeks between the two. The option is made for small "
        "synchronous writes, which are safe as soon as they are in the journal."
    ),
    measured=(
        "The mount options of the filesystem that is written to most; the bytes of the program's write requests, compared with those of its calls."
    ),
    thresholds=(
        Threshold(
            "bytes written by the device, compared with those by the program, at least", TWICE, "times",
            "with less, a part of the data has not been written twice yet, and may never be",
        ),
        Threshold(
            "bytes written by the program, at least", BYTES_MIN, "bytes",
            "less fits into the smallest journals, which then save it the seek to its place",
        ),
    ),
    fooled_by=(
        "a file that is rewritten before its data leaves the journal: it goes to its place once",
        "pages that are changed through mapped memory: without calls, their bytes are not in what was asked for",
    ),
    remedies=(_ONCE, _LARGER),
    find=find,
    explains=classes.named("write sync throttled"),
    trouble="metadata",
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.DEVICE,
    beats=(
        "device-saturated", "device-slow", "journal-entangled", "flush-cost", "dirty-throttled",
        "writeback-scattered", "device-capped", "queue-shallow", "random-access", "small-requests",
        "file-fragmented", "syncs-behind-writes",
    ),
)  # fmt: skip
