"""The filesystem runs short of free space, and makes room before it takes more."""

from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.facts.space import SHORT_BYTES, SHORT_SHARE, Space
from iowhy.whys.finding import Candidate, Link

# Room is made by writing back, committing and flushing, in calls that only want to write.
WAITS = frozenset({classes.WRITE, classes.SYNC})


def find(facts: Facts) -> Candidate | None:
    """Calls wait inside what the filesystem does for want of space."""
    if facts.budget.elapsed(*WAITS) < thresholds.LISTED:
        return None
    short = facts.space
    claims = evidence.claims_through(short.waits, WAITS)
    share = evidence.claimed(facts, claims)
    if share < thresholds.LISTED:
        return None
    where = "the filesystem"
    if short.filesystem is not None:
        where += f" at {short.filesystem.mount}"
    return Candidate(
        claims=claims,
        chain=_chain(short, share, where, facts.page_bytes),
        summary=f"waits while {where} makes room: it runs short of free space",
        saving=saving.all_of_it("where there is room"),
        remedies=_remedies(short.filesystem),
        needs=("waits", "stacks"),
        confidence=0.9,
    )


def _chain(short: Space, share: float, where: str, page_bytes: int) -> tuple[Link, ...]:
    """How long calls wait for room, what is written back for it, and who was refused."""
    longest = max(
        (one.longest_ns for one in short.waits if one.longest_ns is not None), default=None
    )
    number = sum(one.shown_waits for one in short.waits)
    calls = ", ".join(sorted({one.call for one in short.waits}))
    return chain_of(
        link(
            f"{percent(share)} of the time waits in {calls} while {where} makes room",
            share,
            "share",
            "waits",
        ),
        link(
            f"{plural(number, 'wait')}"
            + ("" if longest is None else f", the longest {duration(longest)}"),
            number,
            "waits",
            "waits",
        ),
        _left(short.filesystem),
        None
        if not short.passes
        else link(
            f"{plural(short.passes, 'pass', 'passes')} of writeback for want of free space, over "
            f"{plural(short.inodes, 'inode')}: {size(short.pages * page_bytes)}",
            short.passes,
            "passes",
            "writeback",
        ),
        None
        if not short.refused
        else link(
            f"{plural(short.refused, 'call')} failed for want of space or quota (ENOSPC, EDQUOT)",
            short.refused,
            "calls",
            "syscalls",
        ),
    )


def _left(one: Filesystem | None) -> Link | None:
    """How much of it was left."""
    if one is None or one.free_bytes is None or one.size_bytes is None:
        return None
    return link(
        f"{size(one.free_bytes)} of its {size(one.size_bytes)} are left at the end",
        one.free_bytes,
        "bytes",
        "device-facts",
    )


def _remedies(one: Filesystem | None) -> tuple[str, ...]:
    """Those that its kind has; where that is not known, all but what one kind alone has."""
    if one is not None and one.kind == "btrfs":
        return (_FREE_BTRFS, _ELSEWHERE, _BALANCE)
    if one is not None and one.kind in KEEPS_FOR_ROOT:
        return (_FREE, _ELSEWHERE, _KEPT)
    return (_FREE, _ELSEWHERE)


_FREE = "free space on it, or enlarge it (df -h for blocks, df -i for inodes, quota for limits of users)"
_FREE_BTRFS = (
    "free space on it, snapshots too, or enlarge it (btrfs filesystem usage shows what is left for "
    "data and for metadata)"
)
_ELSEWHERE = "write elsewhere what is temporary"
_KEPT = "lower the part that is kept for root where that is what is missing (tune2fs -m)"
_BALANCE = (
    "give back chunks that are half empty (btrfs balance start -dusage=50): they are for data alone, "
    "or for metadata alone"
)
# Filesystems that tune2fs(8) is for.
KEEPS_FOR_ROOT = frozenset({"ext2", "ext3", "ext4"})

CAUSE = Cause(
    name="filesystem-full",
    title="The filesystem runs short of space",
    meaning=(
        "Near the end of its free blocks a filesystem cannot promise room for what is still only in memory: it "
        "writes back or commits first, and the writer waits for all of that. Nothing of it was asked for: a "
        "write without O_SYNC then takes as long as a sync."
    ),
    measured=(
        "Waits in calls whose kernel stack passes through what filesystems do for want of space (ext4 giving up "
        "delayed allocation, or committing to use freed blocks; XFS flushing on ENOSPC; cleaning by f2fs; btrfs "
        "reserving space, where little is left at the end); "
        "writeback passes for the reason fs_free_space; calls that failed with ENOSPC or EDQUOT."
    ),
    thresholds=(
        Threshold(
            "waiting for room, at least", thresholds.LISTED, "share",
            "what a finding must explain to be listed",
        ),
        Threshold(
            "left of a btrfs for its waits for reserved space to count, at most", SHORT_SHARE, "share",
            "it allocates chunks of up to a tenth of itself, for data and for metadata",
        ),
        Threshold("and at most", SHORT_BYTES, "bytes", "a chunk is at most 1 GiB large"),
    ),
    fooled_by=(
        "a quota of a user or project: the filesystem has room, the writer has none",
        "space that deleted files still hold, as they are open",
        "a btrfs whose chunks are all taken, but not full: df shows room, and new metadata have none",
    ),
    remedies=(_FREE, _ELSEWHERE, _KEPT),
    experiment=None,
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.SPACE,
    beats=(
        "sync-storm", "flush-cost", "device-saturated", "device-slow", "queue-shallow",
        "small-requests", "random-access", "writeback-scattered", "file-fragmented",
        "journal-entangled", "device-contended",
    ),
)  # fmt: skip
