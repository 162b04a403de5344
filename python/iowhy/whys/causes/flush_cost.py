"""Most of a sync is the device emptying its write cache."""

from iowhy.whys import classes, evidence, links, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.requests import Requests
from iowhy.whys.finding import Candidate, Claim, Link, Saving

FLUSH_SHARE = 0.5
FLUSHES_MIN = 10
# How sure one can be of few.
FEW = 0.6
# Of the syncs, those for which the journal is committed, from which a file that grows no more spares them that.
COMMITTED = 0.5
# Flushes of a sync, from which the journal has one of its own.
FLUSHES_EACH = 1.5
# Syncs of one file, on average, from which it is a log, and not a file that is written once.
A_LOG = 10

_LESS_OFTEN = "sync less often: once for many lines or rows (transactions, group commit)"
_OVERWRITE = (
    "write over what is written already, with fdatasync (a log that is filled with zeros once, and used again): a sync then has "
    "no journal to commit, which flushes too"
)
_ELSEWHERE = "put the log on a device with a power-safe cache, or on one of its own"


def _no_flushes(device: str) -> str:
    """For a cache that needs no flush: the queue of the device is asked for every filesystem (the kernel's ABI/stable/sysfs-block),
    of which not all have a mount option for it (XFS has none since Linux 4.19).
    """
    return (
        "only where its cache is power-safe, have the kernel flush it no more, as root: "
        f"`echo 'write through' > /sys/block/{device}/queue/write_cache`"
    )


def find(facts: Facts) -> Candidate | None:
    """Flushes fill the time inside the sync calls."""
    if facts.budget.elapsed(classes.SYNC) < thresholds.LISTED:
        return None
    if facts.calls.by_write and facts.durable_writes is False:
        return None
    flush, requests = evidence.flush_share(facts), facts.requests
    if flush is None:
        return _measured(facts)
    if flush < FLUSH_SHARE or not requests.flushes:
        return None
    each = evidence.bytes_per_sync(facts)
    if each is not None and each > thresholds.BYTES_PER_SYNC:
        return None
    few = requests.flushes < FLUSHES_MIN
    spared = _without_commits(facts)
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),),
        chain=_chain(facts, flush, each),
        summary=(
            f"waits for {_names(requests)} to empty its write cache: {count(requests.flushes)} "
            f"flushes of {duration(requests.flush_ns / requests.flushes)}"
        ),
        saving=saving.once(
            max(requests.flushes, facts.calls.syncs.calls),
            # A sync may flush twice, one of a whole filesystem thousands of times.
            "flush" if requests.flushes > facts.calls.syncs.calls else "sync",
        ),
        remedy=evidence.without_durable_writes(facts),
        remedies=(
            _LESS_OFTEN,
            *((_OVERWRITE,) if spared else ()),
            _ELSEWHERE,
            _no_flushes(requests.flushed[0].device),
        ),
        by_remedy={_OVERWRITE: spared} if spared else {},
        # No lever takes the durability of a write itself away.
        provable=not facts.calls.by_write,
        needs=("block_requests", "syscalls", "waits"),
        confidence=FEW if few else 0.9,
        lowered_by=(
            (
                f"only {plural(requests.flushes, 'flush', 'flushes')}: what others had left in the "
                "device's cache would look the same",
            )
            if few
            else ()
        ),
    )


def _without_commits(facts: Facts) -> Saving | None:
    """What is saved where a sync of a file that grows flushes its data, and then the journal; None where it does not.

    What a commit records are new blocks, or that what was allocated ahead has been written (ext4, XFS), and the file's size.
    """
    syncs, flushes, commits = facts.calls.syncs, facts.requests.flushes, facts.journal.commits
    if not syncs.calls or not syncs.files or not flushes or not commits:
        return None
    if commits < COMMITTED * syncs.calls or flushes < FLUSHES_EACH * syncs.calls:
        return None
    if syncs.calls < A_LOG * syncs.files:
        return None
    return Saving(1 - syncs.calls / flushes, "with one flush for each sync")


def _names(requests: Requests) -> str:
    """The device whose flushes take most of the time, and that there are others."""
    first, *more = requests.flushed
    return f"{first.device} (and {', '.join(one.device for one in more)})" if more else first.device


def _chain(facts: Facts, flush: float, each: float | None) -> tuple[Link, ...]:
    """The calls, how they wait, and how much of that the device is flushing."""
    blocked = facts.calls.syncs.blocked_share
    return chain_of(
        links.in_calls(facts, frozenset({classes.SYNC}), "waits for sync"),
        links.synchronous_writes(facts),
        links.call_cost(facts, facts.calls.sync_name or "fsync"),
        None
        if blocked is None
        else link(
            f"{percent(blocked)} of a call is uninterruptible wait", blocked, "share", "syscalls"
        ),
        links.flushes(facts),
        link(
            f"the device is flushing in {percent(flush)} of the time inside these calls",
            flush,
            "share",
            "sync",
        ),
        None
        if each is None
        else link(f"each call makes {size(each)} durable", each, "bytes", "amplification"),
    )


def _measured(facts: Facts) -> Candidate | None:
    """latencytop and its like name the flush in their reasons."""
    if not facts.run.pasted:
        return None
    reasons = facts.budget.heaviest_reasons(frozenset({classes.SYNC}))
    named = [
        (reason, share)
        for reason, share in reasons
        if any(word in reason.lower() for word in ("barrier", "flush"))
    ]
    share = sum(part for _, part in named)
    if share < FLUSH_SHARE * facts.budget.elapsed(classes.SYNC):
        return None
    return Candidate(
        claims=(
            Claim(frozenset({classes.SYNC}), reasons=frozenset(reason for reason, _ in named)),
        ),
        chain=tuple(
            link(f"{percent(part)} of the waiting is in: {reason}", part, "share", "budget")
            for reason, part in named[:3]
        ),
        summary="waits for the device to empty its write cache",
        saving=saving.all_of_it("if it syncs once"),
        confidence=0.7,
    )


CAUSE = Cause(
    name="flush-cost",
    title="The device's cache flush is the cost",
    meaning=(
        "A sync is only done when the device has emptied its volatile write cache. That takes a "
        "disk a turn or a seek, and some flash devices milliseconds, whatever was written."
    ),
    measured=(
        "Flush requests (they carry no data) from queue to completion, as a share of the time in "
        "which some thread is inside a sync-like call."
    ),
    thresholds=(
        Threshold(
            "flushing, of the time inside sync calls", FLUSH_SHARE, "share",
            "then the flush, and not the data or the journal, is most of a sync",
        ),
        Threshold(
            "flushes, for full confidence", FLUSHES_MIN, "flushes",
            "one long flush empties what a bulk write left in the cache: that is data, not price; "
            "where the command wrote little, it can only be data of others",
        ),
        Threshold(
            "bytes per sync call, at most",
            thresholds.BYTES_PER_SYNC,
            "bytes",
            "with more, the flush moves the data that the sync was for (8 ms at 130 MB/s)",
        ),
        Threshold(
            "journal commits per sync call, to be told to write over what is there", COMMITTED, "commits",
            "a sync of a file that does not grow needs none",
        ),
        Threshold(
            "flushes per sync call, for that", FLUSHES_EACH, "flushes",
            "the sync has one, and the journal's commit another",
        ),
        Threshold(
            "syncs of one file, for that", A_LOG, "calls",
            "a file that is written once grows, and its sync commits",
        ),
    ),
    fooled_by=(
        "a flush that carries the data of another process in the device's cache",
        "a device that lies about its cache: fast, until the power fails",
    ),
    remedies=(
        _LESS_OFTEN,
        _OVERWRITE,
        _ELSEWHERE,
        "only where the cache is power-safe, have the kernel flush it no more (queue/write_cache of the device)",
    ),
    for_authors=frozenset({_LESS_OFTEN}),
    for_layouts=frozenset({_OVERWRITE}),
    experiment="sync-free",
    unsafe_proof=True,
    find=find,
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.SYNC,
    beats=(
        "device-saturated", "queue-shallow", "small-requests", "random-access", "device-slow",
        "writeback-scattered",
    ),
)  # fmt: skip
