"""Directories and inodes are not in memory."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.holders import held_share, share_while_reading
from iowhy.whys.facts.metadata import NAME_CALLS, Metadata
from iowhy.whys.finding import Candidate, Claim, Link, Saving

REQUESTS_MIN = 32
# Who removes a tree looks at each name as well, and lists each directory.
REMOVED = 1 / 3
# The waits that count: the filesystem reads blocks of its own, in calls that only touch names.
REASONS = frozenset({"metadata_read"})
# A block that is being read is locked meanwhile.
LOCKED = frozenset({"metadata_lock"})

_IN_ORDER_OF_INODES = "visit files in the order of their inodes (ls -i, find -printf '%i'): neighbours come with one request"
_WALKERS = (
    "run several walkers at once, each in a part of the tree (xargs -P): the device has time for more "
    "than one request"
)
_KEEP = (
    "keep directories and inodes in memory between runs (a lower vm.vfs_cache_pressure, or a walk "
    "ahead of the need, as find does)"
)
_ONCE = (_WALKERS, _KEEP, _IN_ORDER_OF_INODES)


def find(facts: Facts) -> Candidate | None:
    """Calls on names wait while inodes and directories are read."""
    locked = _locked_for_io(facts)
    share = _waiting(facts, classes.READ, REASONS) + locked * _waiting(facts, classes.LOCK, LOCKED)
    if share < thresholds.LISTED:
        return None
    read = facts.metadata
    if read.known and read.requests < REQUESTS_MIN:
        return None
    warmed = evidence.warmed(facts, gone=facts.inputs_gone or _removes(read))
    seeks = read.mean_service_ns is not None and read.mean_service_ns >= thresholds.SEEK_NS
    return Candidate(
        claims=(
            Claim(frozenset({classes.READ}), calls=NAME_CALLS, reasons=REASONS),
            Claim(frozenset({classes.LOCK}), calls=NAME_CALLS, reasons=LOCKED, fraction=locked),
        ),
        chain=chain_of(
            link(
                f"{percent(share)} of the time waits to read, in calls on names",
                share,
                "share",
                "waits",
            ),
            _asked(read),
            *_read(facts, read),
            links.device_load(facts),
        ),
        summary="reads directories and inodes that are not in memory yet",
        saving=saving.all_but_moving(
            facts, (classes.READ,), read.bytes, "visited in the order in which they lie"
        )
        if seeks
        else saving.all_of_it("with as many walkers as the device serves at once"),
        by_order=None if seeks else Saving(0.0, "the way to them takes no time"),
        # A disk is slow by the way to each of them: fewer ways come before more at a time.
        remedy=_IN_ORDER_OF_INODES if seeks else None,
        remedies=(*_ONCE, *warmed),
        by_remedy=dict.fromkeys(warmed, saving.all_of_it("when they are in memory")),
        confidence=0.85 if read.known else 0.6,
        lowered_by=() if read.known else ("how much was read for it was not recorded",),
        needs=("waits", "block_requests"),
    )


def _removes(read: Metadata) -> bool:
    """Whether the names are gone at its end: a second run does not find them."""
    return bool(read.calls) and (read.removing or 0) >= REMOVED * (read.calls or 0)


def _waiting(facts: Facts, cls: str, reasons: frozenset[str]) -> float:
    """Share of the elapsed time in which calls on names wait for blocks of the filesystem's own."""
    return sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == cls and piece.reason in reasons and piece.call in NAME_CALLS
    )


def _locked_for_io(facts: Facts) -> float:
    """Of the waits for a locked block, the share in which it is being read: by another thread that waits for that
    itself, or, where no other thread can hold it, by readahead.
    """
    held = held_share(facts.relations, LOCKED)
    read = share_while_reading(facts.relations, LOCKED, REASONS)
    return max(read or 0.0, 0.0 if held is None else 1 - held)


def _asked(read: Metadata) -> Link | None:
    if not read.calls:
        return None
    return link(
        f"{count(read.calls)} calls look up, list, make or remove names",
        read.calls,
        "calls",
        "syscalls",
    )


def _read(facts: Facts, read: Metadata) -> tuple[Link, ...]:
    """How much was read, how long each takes, and how far apart they lie."""
    if not read.requests:
        return ()
    apart = ""
    if read.median_jump_bytes is not None:
        apart = f", {size(read.median_jump_bytes)} in the median"
    return chain_of(
        link(
            f"{count(read.requests)} requests read {size(read.bytes)} of directories, inodes and maps",
            read.requests,
            "requests",
            "amplification",
        ),
        None
        if read.mean_service_ns is None
        else link(
            links.answered_in(facts, read.mean_service_ns),
            read.mean_service_ns,
            "ns",
            "request-latency",
        ),
        None
        if read.jump_share is None
        else link(
            f"{percent(read.jump_share)} of them lie elsewhere than where the one before ended{apart}",
            read.jump_share,
            "share",
            "addresses",
        ),
    )


CAUSE = Cause(
    name="metadata-cold",
    title="Directories and inodes are not in memory",
    meaning=(
        "To find, list, open or remove a file, the kernel reads its directory and its inode first. On a "
        "tree that nobody has visited for long each of them is a small read somewhere on the device, and a "
        "walk asks for the next one only when it has the last."
    ),
    measured=(
        "Waits whose kernel stack shows that the filesystem reads blocks of its own, in calls on names "
        "(open, stat, getdents, unlink, rename and the like); the read requests for such blocks, their number, "
        "bytes, service time, and how far apart they lie."
    ),
    thresholds=(
        Threshold(
            "requests for metadata, at least", REQUESTS_MIN, "requests",
            "fewer are a program's own start: its libraries and their directories",
        ),
        Threshold(
            "calls on names that remove them, for a second run to find none, at least", REMOVED, "share",
            "who removes a tree also looks at each name and lists each directory",
        ),
    ),
    fooled_by=(
        "a tree behind FUSE or on a network filesystem: its names come from elsewhere, and waits for them "
        "have other reasons",
        "a tree too large for memory: then a second walk is as cold as the first",
    ),
    remedies=(*_ONCE, evidence.RUN_AGAIN),
    for_authors=frozenset({_WALKERS, _IN_ORDER_OF_INODES}),
    by_again=frozenset({evidence.RUN_AGAIN}),
    experiment="cache-warm",
    proof_cache="cold-machine",
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=(
        "queue-shallow", "device-saturated", "cache-cold", "random-access", "small-requests",
        "readahead-poor",
    ),
)  # fmt: skip
