"""Data go to the journal first, and are written twice."""

from iowhy.whys import classes, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.finding import Candidate, Claim, Link

WAITS = frozenset({classes.WRITE, classes.SYNC, classes.THROTTLED})
TWICE = 1.5
# Of few data the journal takes all, and what is read of them is in memory: there it is no loss.
BYTES_MIN = 16 * 1024 * 1024

_ONCE = (
    "mount it with data=ordered, as ext4 is by default: data are written once; risk: after a crash a file that was written over may have "
    "old and new data side by side"
)
_LARGER = "give it a larger journal (tune2fs -J size=, unmounted): it has to be emptied less often"


def find(facts: Facts) -> Candidate | None:
    """The device writes much more than the command, whose filesystem journals data."""
    filesystem, asked = facts.written_filesystem, facts.calls.writes.done_bytes
    moved = facts.requests.write_bytes
    if filesystem is None or not filesystem.journals_data or not asked or asked < BYTES_MIN:
        return None
    if moved < TWICE * asked or facts.budget.elapsed(*WAITS) < thresholds.LISTED:
        return None
    return Candidate(
        claims=(Claim(WAITS),),
        chain=_chain(facts, filesystem, asked, moved),
        summary="writes data to the journal first, and then once more to their place",
        saving=saving.all_but_moving(facts, tuple(WAITS), asked, "if data are written once"),
        remedies=(_ONCE, _LARGER),
        needs=("syscalls", "block_requests", "waits"),
        confidence=0.9,
    )


def _chain(facts: Facts, filesystem: Filesystem, asked: float, moved: float) -> tuple[Link, ...]:
    """How long it waits, what the filesystem does with the data, and how often the journal is full."""
    return chain_of(
        links.in_calls(facts, WAITS, "waits to write"),
        link(f"{filesystem.mount} is mounted with data=journal", None, "text", "device-facts"),
        link(
            f"{facts.run.who} writes {size(asked)}, and {facts.requests.device or 'the device'} {size(moved)}",
            moved,
            "bytes",
            "amplification",
        ),
        _commits(facts),
        links.device_load(facts),
    )


def _commits(facts: Facts) -> Link | None:
    journal = facts.journal
    if not journal.commits or journal.mean_ns is None:
        return None
    return link(
        f"{count(journal.commits)} journal commits of {duration(journal.mean_ns)} each, with the data in them",
        journal.commits,
        "commits",
        "journal",
    )


CAUSE = Cause(
    name="data-journaled",
    title="Data are written twice, to the journal first",
    meaning=(
        "An ext4 that is mounted with data=journal writes all data to its journal, and later to their place. What is larger "
        "than the journal waits until room is made there, and the disk goes to and fro between the two. It is made for small synchronous writes, "
        "which need not be put in their place before they are safe."
    ),
    measured=(
        "The mount options of the filesystem that is written to most; the bytes of the command's write requests against those of its calls."
    ),
    thresholds=(
        Threshold(
            "bytes written by the device, of those by the command", TWICE, "times",
            "less, and a part of the data has not been written twice yet, and may never be",
        ),
        Threshold(
            "bytes written by the command, at least", BYTES_MIN, "bytes",
            "less fits into the smallest journals, which then spare it the way to the place",
        ),
    ),
    fooled_by=(
        "a file that is written again before its data leave the journal: they go to their place once",
        "pages that are changed through mapped memory are no calls: what they write is not in what was asked",
    ),
    remedies=(_ONCE, _LARGER),
    experiment=None,
    find=find,
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.DEVICE,
    beats=("device-saturated", "device-slow", "journal-entangled", "flush-cost", "dirty-throttled", "writeback-scattered"),
)  # fmt: skip
