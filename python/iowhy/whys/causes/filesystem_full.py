"""The filesystem is short of free space, and makes room before it takes more."""

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, evidence, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.filesystems import Filesystem
from iowhy.whys.facts.space import SHORT_BYTES, SHORT_SHARE, Space
from iowhy.whys.finding import Candidate, Link
from iowhy.whys.remedy import Remedy

# Room is made by writing back, committing and flushing, in calls that only want to write.
WAITS = frozenset({classes.WRITE, classes.SYNC})


def find(facts: Facts) -> Candidate | None:
    """Calls wait inside what the filesystem does when it is short of space."""
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
        summary=worded(
            "filesystem-full.short",
            "waiting for {where} to make room: it is short of free space",
            where=where,
        ),
        saving=saving.all_of_it("if there is room"),
        remedies=_remedies(short.filesystem),
        needs=("waits", "stacks"),
        confidence=0.9,
    )


def _chain(short: Space, share: float, where: str, page_bytes: int) -> tuple[Link, ...]:
    """How long calls wait for room, what is written back for it, and how many were refused."""
    longest = max(
        (one.longest_ns for one in short.waits if one.longest_ns is not None), default=None
    )
    number = sum(one.shown_waits for one in short.waits)
    calls = ", ".join(sorted({one.call for one in short.waits}))
    return chain_of(
        link(
            f"{percent(share)} of the time is spent waiting in {calls} while {where} makes room",
            share,
            "share",
            "waits",
            "filesystem-full.share",
        ),
        link(
            f"{plural(number, 'wait')}"
            + ("" if longest is None else f", the longest {duration(longest)}"),
            number,
            "waits",
            "waits",
            "filesystem-full.number",
        ),
        _left(short.filesystem),
        None
        if not short.passes
        else link(
            f"{plural(short.passes, 'writeback pass', 'writeback passes')} to free space wrote "
            f"{size(short.pages * page_bytes)} of {plural(short.inodes, 'file')}",
            short.passes,
            "passes",
            "writeback",
            "filesystem-full.passes",
        ),
        None
        if not short.refused
        else link(
            f"{plural(short.refused, 'call')} failed for lack of space or quota (ENOSPC, EDQUOT)",
            short.refused,
            "calls",
            "syscalls",
            "filesystem-full.refused",
        ),
    )


def _left(one: Filesystem | None) -> Link | None:
    """How much of it was left."""
    if one is None or one.free_bytes is None or one.size_bytes is None:
        return None
    return link(
        f"{size(one.free_bytes)} of its {size(one.size_bytes)} are free at the end",
        one.free_bytes,
        "bytes",
        "device-facts",
        "filesystem-full.free-bytes",
    )


def _remedies(one: Filesystem | None) -> tuple[Remedy, ...]:
    """Those that its kind has; if that is not known, all but what only one kind has."""
    if one is None:
        return (_free(), _ELSEWHERE, _ENLARGE)
    if one.kind == "btrfs":
        return (_free_btrfs(one.mount), _ELSEWHERE, _ENLARGE, _balance(one.mount))
    return (
        _free(one.mount),
        _ELSEWHERE,
        _ENLARGE,
        *((_KEPT,) if one.kind in KEEPS_FOR_ROOT else ()),
    )


_ENLARGE = Remedy(
    worded("filesystem-full.enlarge", "Enlarge the filesystem"),
    risk="the space is missing elsewhere",
)


def _free(mount: str | None = None) -> Remedy:
    """Which of blocks, inodes and quota is short, df and quota show."""
    if mount is None:
        return Remedy(
            worded("filesystem-full.delete-any", "Delete what is not needed there"),
            risk=_GONE,
        )
    return Remedy(
        worded(
            "filesystem-full.delete",
            "Delete what is not needed there; this lists the largest: `du -xah {mount} | sort -h | tail`",
            mount=quoted(mount),
        ),
        risk=_GONE,
    )


def _free_btrfs(mount: str) -> Remedy:
    return Remedy(
        worded(
            "filesystem-full.delete-snapshots",
            "Delete snapshots that are not needed; these are there: `btrfs subvolume list -s {mount}`",
            mount=quoted(mount),
        ),
        risk=_GONE,
    )


def _balance(mount: str) -> Remedy:
    return Remedy(
        worded(
            "filesystem-full.balance",
            "Give back half-empty chunks: `btrfs balance start -dusage=50 {mount}`",
            mount=quoted(mount),
        ),
        risk="heavy I/O while it runs",
    )


_GONE = "what is deleted is gone"
_ELSEWHERE = Remedy(
    worded(
        "filesystem-full.temporary-elsewhere",
        "Write its temporary files to another filesystem",
    ),
    risk="the other one fills up instead",
)
_KEPT = Remedy(
    worded(
        "filesystem-full.less-reserve",
        "Lower the share that is kept for root to 1 % (`tune2fs -m 1`)",
    ),
    risk="root's own services may run out of space",
)
# Filesystems that tune2fs(8) is for.
KEEPS_FOR_ROOT = frozenset({"ext2", "ext3", "ext4"})

CAUSE = Cause(
    name="filesystem-full",
    title="A nearly full filesystem",
    meaning=(
        "When few blocks are free, a filesystem cannot promise room for data that is still only in memory. It "
        "writes back or commits first, and the writer waits for all of that: a write without O_SYNC then takes "
        "as long as a sync."
    ),
    measured=(
        "Waits in calls whose kernel stack contains what filesystems do when short of space (ext4 giving up "
        "delayed allocation, or committing to reuse freed blocks; XFS flushing on ENOSPC; f2fs cleaning; btrfs "
        "reserving space, if little is left at the end); writeback passes with the reason fs_free_space; calls "
        "that failed with ENOSPC or EDQUOT."
    ),
    thresholds=(
        Threshold(
            "waiting for room, at least", thresholds.LISTED, "share",
            "a finding must explain as much to be listed",
        ),
        Threshold(
            "free on a btrfs for its waits for reserved space to count, at most", SHORT_SHARE, "share",
            "it allocates chunks of up to a tenth of itself, for data and for metadata",
        ),
        Threshold("and at most", SHORT_BYTES, "bytes", "a chunk has at most 1 GiB"),
    ),
    fooled_by=(
        "a quota of a user or project: the filesystem has room, the writer has none",
        "deleted files that are still open: they still take their space",
        "a btrfs whose chunks are all allocated but not full: df shows room, but there is none for new metadata",
    ),
    remedies=(_free(), _ELSEWHERE, _KEPT),
    find=find,
    explains=classes.named("write sync"),
    unseen_without=("waits",),
    settled_by=next_command.SPACE,
    beats=(
        "sync-storm", "flush-cost", "device-saturated", "device-slow", "queue-shallow",
        "small-requests", "random-access", "writeback-scattered", "file-fragmented",
        "journal-entangled", "device-contended", "data-journaled", "device-capped",
        "filesystem-cpu", "io-throttled", "syncs-behind-writes",
    ),
)  # fmt: skip
