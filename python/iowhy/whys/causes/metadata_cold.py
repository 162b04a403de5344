"""Directories and inodes not in memory."""

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, link, percent, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.holders import held_share, share_while_reading
from iowhy.whys.facts.metadata import NAME_CALLS, Metadata
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

REQUESTS_MIN = 32
# Removing a tree also looks at each name and lists each directory.
REMOVED = 1 / 3
# Below it all ways are of one length.
ALIKE = 0.1
# The waits that count: the filesystem reads its own blocks, in calls that only touch names.
REASONS = frozenset({"metadata_read"})
# How many names a setting leaves out is not in a recording: of what it saved in trees that were tried, 3 to 90 %, the mean.
FEWER_NAMES = 1 / 3
# A block is locked while it is read.
LOCKED = frozenset({"metadata_lock"})

_IN_ORDER_OF_INODES = Remedy(
    worded(
        "metadata-cold.inode-order",
        "Process files in the order of their inodes (`find -printf '%i %p\\n' | sort -n`)",
    ),
    risk="results come in another order",
    for_authors=True,
)
_WALKERS = Remedy(
    worded("metadata-cold.parallel-walk", "Walk 8 directories at once (`xargs -P 8`)"),
    risk="others on the device get slower, and results come in another order",
    for_authors=True,
)
_KEEP = Remedy(
    worded(
        "metadata-cold.keep-inodes",
        "Keep directories and inodes in memory between runs: `sysctl vm.vfs_cache_pressure=10`",
    ),
    risk="less memory is left for file data",
)
_EIGHT_AT_ONCE = Saving(1 - 1 / 8, "with eight walkers, which the device serves at once")


def find(facts: Facts) -> Candidate | None:
    """Calls on names wait while inodes and directories are read."""
    locked = _locked_for_io(facts)
    share = _waiting(facts, classes.READ, REASONS) + locked * _waiting(facts, classes.LOCK, LOCKED)
    if share < thresholds.LISTED:
        return None
    read = facts.metadata
    if read.known and read.requests < REQUESTS_MIN:
        return None
    warmed = (
        () if facts.inputs_gone or _removes(read) else (evidence.read_first(facts, names=True),)
    )
    one_head = evidence.one_head(facts, read.mean_service_ns)
    return Candidate(
        claims=(
            Claim(frozenset({classes.READ}), calls=NAME_CALLS, reasons=REASONS),
            Claim(frozenset({classes.LOCK}), calls=NAME_CALLS, reasons=LOCKED, fraction=locked),
        ),
        chain=chain_of(
            link(
                f"{percent(share)} of the time is spent waiting to read, in calls on names",
                share,
                "share",
                "waits",
                "metadata-cold.share",
            ),
            _asked(read),
            *_read(facts, read),
            links.device_load(facts),
        ),
        summary=worded(
            "metadata-cold.cold",
            "reading directories and inodes that were not in memory yet"
            + (" ({requests:count request})" if read.requests else ""),
            requests=read.requests,
        ),
        saving=_in_order(facts, read) if one_head else _EIGHT_AT_ONCE,
        by_depth=_pauses(facts) if one_head else None,
        by_less=Saving(FEWER_NAMES, "with a third fewer names to look up"),
        by_order=None if one_head else Saving(0.0, "seeks take no time on this device"),
        # A head goes from place to place whoever asks: a shorter way comes first, and more walkers only fill its pauses.
        remedies=(_IN_ORDER_OF_INODES, _KEEP, *warmed, _WALKERS)
        if one_head
        else (_WALKERS, _KEEP, *warmed),
        by_remedy={
            **dict.fromkeys((_KEEP, *warmed), saving.all_of_it("if they are in memory")),
            **({_WALKERS: _pauses(facts)} if one_head else {}),
        },
        confidence=0.85 if read.known else 0.6,
        lowered_by=() if read.known else ("how much was read for it is not recorded",),
        needs=("waits", "block_requests"),
    )


def _in_order(facts: Facts, read: Metadata) -> Saving:
    """What the order of inodes saves; where all ways are as long, the short ones are none of this run's."""
    found = saving.in_disk_order(facts, read.bytes)
    if found.part >= ALIKE:
        return found
    return saving.all_but_moving(facts, (classes.READ,), read.bytes, "if read in disk order")


def _pauses(facts: Facts) -> Saving:
    """What more walkers save on a device that serves one request at a time."""
    busy = evidence.busy_while_waiting(facts)
    return Saving(0.0 if busy is None else 1 - busy, "only in the device's pauses: it has one head")


def _removes(read: Metadata) -> bool:
    """Whether the names are gone at the end: a second run does not find them."""
    return bool(read.calls) and (read.removing or 0) >= REMOVED * (read.calls or 0)


def _waiting(facts: Facts, cls: str, reasons: frozenset[str]) -> float:
    """Share of the elapsed time in which calls on names wait for the filesystem's own blocks."""
    return sum(
        piece.elapsed
        for piece in facts.budget.pieces
        if piece.cls == cls and piece.reason in reasons and piece.call in NAME_CALLS
    )


def _locked_for_io(facts: Facts) -> float:
    """Of the waits for a locked block, the share in which it is being read: by another thread that waits for that
    itself, or, if no other thread can hold it, by readahead.
    """
    held = held_share(facts.relations, LOCKED)
    read = share_while_reading(facts.relations, LOCKED, REASONS)
    return max(read or 0.0, 0.0 if held is None else 1 - held)


def _asked(read: Metadata) -> Link | None:
    if not read.calls:
        return None
    return link(
        f"{count(read.calls)} calls look up, list, create or remove names",
        read.calls,
        "calls",
        "syscalls",
        "metadata-cold.calls",
    )


def _read(facts: Facts, read: Metadata) -> tuple[Link, ...]:
    """How much was read, how long each request takes, and how far apart they are."""
    if not read.requests:
        return ()
    apart = ""
    if read.median_jump_bytes is not None:
        apart = f" (median distance {size(read.median_jump_bytes)})"
    return chain_of(
        link(
            f"{count(read.requests)} requests read {size(read.bytes)} of directories, inodes and block maps",
            read.requests,
            "requests",
            "amplification",
            "metadata-cold.requests",
        ),
        None
        if read.mean_service_ns is None
        else link(
            links.answered_in(facts, read.mean_service_ns),
            read.mean_service_ns,
            "ns",
            "request-latency",
            "metadata-cold.service",
        ),
        None
        if read.jump_share is None
        else link(
            f"{percent(read.jump_share)} of them do not start where the one queued before ended{apart}",
            read.jump_share,
            "share",
            "addresses",
            "metadata-cold.jump-share",
        ),
    )


CAUSE = Cause(
    name="metadata-cold",
    title="Directories and inodes not in memory",
    meaning=(
        "To find, list, open or remove a file, the kernel first reads its directory and its inode. In a "
        "tree that was not used for long, each of them is a small read somewhere on the device, and a "
        "walk asks for the next one only after the last one has arrived."
    ),
    measured=(
        "Waits whose kernel stack shows that the filesystem reads its own blocks, in calls on names "
        "(open, stat, getdents, unlink, rename and the like); the read requests for such blocks, their number, "
        "bytes, service time, and how far apart they are."
    ),
    thresholds=(
        Threshold(
            "requests for metadata, at least", REQUESTS_MIN, "requests",
            "fewer are the start of a program: its libraries and their directories",
        ),
        Threshold(
            "calls on names that remove them, from which a second run finds none", REMOVED, "share",
            "removing a tree also looks at each name and lists each directory",
        ),
    ),
    fooled_by=(
        "a tree behind FUSE or on a network filesystem: its names come from a process or server, and waits for them "
        "have other reasons",
        "a tree too large for memory: a second walk is as cold as the first",
    ),
    remedies=(_IN_ORDER_OF_INODES, _KEEP, evidence.READ_FIRST, _WALKERS),
    experiment="cache-warm",
    proof_cache="cold-machine",
    find=find,
    explains=classes.named("read lock"),
    trouble="metadata",
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=(
        "queue-shallow", "device-saturated", "cache-cold", "random-access", "small-requests",
        "readahead-poor",
    ),
)  # fmt: skip
