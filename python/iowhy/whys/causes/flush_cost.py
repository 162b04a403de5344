"""Most of a sync is the device flushing its write cache."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, evidence, links, named, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, link, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.flushing import share_of_little
from iowhy.whys.facts.requests import Requests
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.remedy import Remedy

FLUSH_SHARE = 0.5
FLUSHES_MIN = 10
# The confidence with few flushes.
FEW = 0.6
# Journal commits per sync from which a file that no longer grows saves them.
COMMITTED = 0.5
# Flushes per sync from which the journal's commit flushes too.
FLUSHES_EACH = 1.5
# Syncs per file, on average, from which it is a log and not a file that is written once.
A_LOG = 10

_OVERWRITE = Remedy(
    worded(
        "flush-cost.prefill-log",
        "Fill the log with zeros once, then overwrite it and `fdatasync`: no journal commit per sync",
    ),
    risk="after a crash it may take old bytes for the end of its log",
    for_layouts=True,
)
_ELSEWHERE = Remedy(
    worded("flush-cost.fast-disk-any", "Move its files to an SSD with a power-safe cache"),
    risk="downtime for the move; the SSD costs money",
)
_UNSAFE = "if the cache is not power-safe, a power cut loses synced data"


def _no_flushes(device: str) -> Remedy:
    """For a cache that needs no flush: the setting of the device's queue holds for every filesystem (the kernel's
    ABI/stable/sysfs-block). Not all have a mount option for it (XFS has none since Linux 4.19).
    """
    return Remedy(
        worded(
            "flush-cost.no-flush",
            "Stop flushing {device}'s cache if that is power-safe: `echo 'write through' > /sys/block/{device}/queue/write_cache`",
            device=device,
        ),
        risk=_UNSAFE,
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
    if each is not None and each > thresholds.BYTES_PER_SYNC and not _of_little(facts, flush):
        return None
    few = requests.flushes < FLUSHES_MIN
    spared = _without_commits(facts)
    elsewhere = _elsewhere(facts)
    return Candidate(
        claims=(Claim(frozenset({classes.SYNC})),),
        chain=_chain(facts, flush, each),
        summary=worded(
            "flush-cost.flushes",
            "waiting for {devices} to flush its write cache: {flushes:count flush/flushes} of {each:ns}",
            devices=_names(requests),
            flushes=requests.flushes,
            each=requests.flush_ns / requests.flushes,
        ),
        saving=saving.once(
            max(requests.flushes, facts.calls.syncs.calls),
            # A sync may flush twice, one of a whole filesystem thousands of times.
            "flush" if requests.flushes > facts.calls.syncs.calls else "sync",
        ),
        remedy=evidence.without_durable_writes(facts),
        remedies=(
            evidence.sync_once(facts),
            *((_OVERWRITE,) if spared else ()),
            elsewhere,
            _no_flushes(requests.flushed[0].device),
        ),
        by_remedy={
            **({_OVERWRITE: spared} if spared else {}),
            elsewhere: saving.all_of_it("if a flush takes no time there"),
        },
        # No lever makes writes that sync themselves not durable, nor operations.
        provable=not (facts.calls.by_write or facts.calls.syncs_by_ring),
        needs=("block_requests", "syscalls", "waits"),
        confidence=FEW if few else 0.9,
        lowered_by=(
            (
                f"only {plural(requests.flushes, 'flush', 'flushes')}: writing out others' data "
                "from the device's cache would look the same",
            )
            if few
            else ()
        ),
    )


def _of_little(facts: Facts, flush: float) -> bool:
    """Whether flushes that have little to write fill the time in syncs: what others move does not matter then."""
    if facts.requests.flushes < FLUSHES_MIN:
        return False
    most = thresholds.BYTES_PER_SYNC
    share = share_of_little(facts.relations, facts.requests.flushed, most)
    return share is not None and share * flush >= FLUSH_SHARE


def _elsewhere(facts: Facts) -> Remedy:
    do = worded(
        "flush-cost.fast-disk",
        "Move {data} to an SSD with a power-safe cache",
        data=named.data(facts),
    )
    return replace(_ELSEWHERE, do=do)


def _without_commits(facts: Facts) -> Saving | None:
    """What is saved if a sync of a growing file flushes its data, and then the journal; None if it does not.

    A commit records new blocks, or that blocks allocated ahead have been written (ext4, XFS), and the file's size.
    """
    syncs, flushes, commits = facts.calls.syncs, facts.requests.flushes, facts.journal.commits
    if not syncs.calls or not syncs.files or not flushes or not commits:
        return None
    if commits < COMMITTED * syncs.calls or flushes < FLUSHES_EACH * syncs.calls:
        return None
    if syncs.calls < A_LOG * syncs.files:
        return None
    return Saving(
        1 - syncs.calls / flushes, f"1 flush per sync instead of {flushes / syncs.calls:.2g}"
    )


def _names(requests: Requests) -> str:
    """The device whose flushes take most of the time, and that there are others."""
    first, *more = requests.flushed
    return f"{first.device} (and {', '.join(one.device for one in more)})" if more else first.device


def _chain(facts: Facts, flush: float, each: float | None) -> tuple[Link, ...]:
    """The calls, how they wait, and how much of that the device is flushing."""
    blocked = facts.calls.syncs.blocked_share
    return chain_of(
        links.in_calls(facts, frozenset({classes.SYNC}), "is spent waiting for syncs"),
        links.synchronous_writes(facts),
        links.call_cost(facts, facts.calls.sync_name or "fsync"),
        None
        if blocked is None
        else link(
            f"{percent(blocked)} of each call is uninterruptible sleep",
            blocked,
            "share",
            "syscalls",
            "flush-cost.blocked",
        ),
        links.flushes(facts),
        link(
            f"the device is flushing for {percent(flush)} of the time inside these calls",
            flush,
            "share",
            "sync",
            "flush-cost.flush",
        ),
        None
        if each is None
        else link(
            f"each call makes {size(each)} durable",
            each,
            "bytes",
            "amplification",
            "flush-cost.each",
        ),
    )


def _measured(facts: Facts) -> Candidate | None:
    """latencytop and similar tools name the flush in their reasons."""
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
            link(
                f"{percent(part)} of the waiting is for: {reason}",
                part,
                "share",
                "budget",
                "flush-cost.part",
            )
            for reason, part in named[:3]
        ),
        summary=worded("flush-cost.flushing", "waiting for the device to flush its write cache"),
        saving=saving.all_of_it("if it syncs once"),
        confidence=0.7,
    )


CAUSE = Cause(
    name="flush-cost",
    title="Slow flushes of the device's cache",
    meaning=(
        "A sync ends only when the device has flushed its volatile write cache. That takes a disk "
        "a turn or a seek, and some flash devices milliseconds, however little was written."
    ),
    measured=(
        "Time of flush requests (which carry no data) from queue to completion, as a share of the time in "
        "which a thread is inside a sync-like call."
    ),
    thresholds=(
        Threshold(
            "flushing, of the time inside sync calls", FLUSH_SHARE, "share",
            "from here on the flush is most of a sync, not the data or the journal",
        ),
        Threshold(
            "flushes, for full confidence", FLUSHES_MIN, "flushes",
            "one long flush writes out what a bulk write left in the cache: that is data, not the cost of a "
            "flush; if the program wrote little, it can only be others' data",
        ),
        Threshold(
            "bytes per sync call, at most",
            thresholds.BYTES_PER_SYNC,
            "bytes",
            "with more, the flush moves the data that the sync was for (8 ms at 130 MB/s)",
        ),
        Threshold(
            "journal commits per sync call, to recommend overwriting", COMMITTED, "commits",
            "a sync of a file that does not grow needs none",
        ),
        Threshold(
            "flushes per sync call, for that", FLUSHES_EACH, "flushes",
            "one is the sync's, another the journal commit's",
        ),
        Threshold(
            "syncs of one file, for that", A_LOG, "calls",
            "a file that is written once grows, and its sync commits",
        ),
    ),
    fooled_by=(
        "a flush that writes out another process' data from the device's cache",
        "a device that claims to keep its cache: it is fast until the power fails",
    ),
    remedies=(
        evidence.SYNC_ONCE,
        _OVERWRITE,
        _ELSEWHERE,
        Remedy(
            worded("flush-cost.no-flush-any", "If its cache is power-safe, stop flushing it (`queue/write_cache` of the device)"),
            risk=_UNSAFE,
        ),
    ),
    experiment="sync-free",
    unsafe_proof=True,
    find=find,
    explains=classes.named("sync"),
    unseen_without=("syscalls", "block_requests"),
    settled_by=next_command.SYNC,
    beats=(
        "device-saturated", "queue-shallow", "small-requests", "random-access", "device-slow",
        "writeback-scattered", "device-capped",
    ),
)  # fmt: skip
