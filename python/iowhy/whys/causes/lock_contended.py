"""Threads wait for a kernel lock."""

from msgspec.structs import replace

from iowhy import units
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.frozen import REASON as FROZEN
from iowhy.whys.facts.holders import Waited, held_share, waited_longest
from iowhy.whys.facts.metadata import NAME_CALLS
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

SHARE = 0.05
_LOCKS = frozenset({classes.LOCK})


def find(facts: Facts) -> Candidate | None:
    """Waits whose stack shows a lock, while another thread is at work that can hold it."""
    reasons = facts.budget.heaviest_reasons(_LOCKS)
    share = facts.budget.elapsed(classes.LOCK) - dict(reasons).get(FROZEN, 0.0)
    reasons = [one for one in reasons if one[0] != FROZEN]
    if share < SHARE:
        return None
    held = held_share(facts.relations, frozenset(reason for reason, _ in reasons))
    fraction = 1.0 if held is None else held
    if share * fraction < SHARE:
        # No other thread is at work: what is locked is on its way to or from the device.
        return None
    most = waited_longest(facts.relations, [reason for reason, _ in reasons])
    where, name = _where(most)
    return Candidate(
        claims=(Claim(_LOCKS, fraction=fraction, reasons=_held_by_threads(facts)),),
        chain=chain_of(
            link(
                f"threads wait for a lock in the kernel for {percent(share)} of the time"
                + (f" ({reasons[0][0]})" if reasons else ""),
                share,
                "share",
                "budget",
            ),
            where,
            None
            if facts.threads.count is None
            else link(
                f"{facts.run.who} has {plural(facts.threads.count, 'thread')}",
                facts.threads.count,
                "threads",
                "threads",
            ),
            None
            if held is None
            else link(
                f"another of them is at work for {percent(held)} of that waiting time",
                held,
                "share",
                "threads",
            ),
        ),
        summary=_says(most, name, reasons),
        saving=saving.all_of_it("if no two threads need the same lock"),
        remedies=_remedies(reasons, most),
        needs=("waits", "stacks"),
        confidence=0.9 if held is not None else 0.75,
        lowered_by=()
        if held is not None
        else ("it is not known whether another thread holds the lock",),
    )


def _says(most: Waited | None, name: str | None, reasons: list[tuple[str, float]]) -> Sentence:
    """What it did in that time."""
    return worded(
        "lock-contended.held",
        "waiting"
        + ("" if most is None else " in {call}")
        + " for a kernel lock"
        + (" on {name}" if name else " ({reason})" if reasons else "")
        + ", held by another thread",
        call=None if most is None else most.call or "page faults",
        name=name,
        reason=reasons[0][0] if reasons else None,
    )


def _held_by_threads(facts: Facts) -> frozenset[str | None]:
    """The reasons of waits for locks that a thread holds: a freeze holds everybody, and no thread holds it."""
    locks = (piece.reason for piece in facts.budget.pieces if piece.cls == classes.LOCK)
    return frozenset(reason for reason in locks if reason != FROZEN)


def _where(found: Waited | None) -> tuple[Link | None, str | None]:
    """In which call and on which file most of it is, and the file's name."""
    if found is None:
        return None, None
    name = found.path
    if name is None and found.ino is not None:
        name = units.inode(found.ino)
    return (
        link(
            f"{plural(found.waits, 'wait')} there by {plural(found.threads, 'thread')}, "
            f"{duration(found.total_ns / found.waits)} each",
            found.total_ns,
            "ns",
            "waits",
        ),
        name,
    )


def _remedies(reasons: list[tuple[str, float]], most: Waited | None) -> tuple[Remedy, ...]:
    """What helps against the lock with the longest waits: that of memory, of a directory, or of a file."""
    if reasons and reasons[0][0] == MEMORY_MAP:
        return (_MAP_LESS, _PROCESSES)
    if most is not None and most.call in NAME_CALLS:
        return (_DIRECTORIES, _ONE_CHANGES)
    if most is None or most.path is None:
        return ()
    threads = "each thread" if most.threads < 2 else f"each of the {most.threads} threads"
    return (
        replace(
            _SPREAD,
            do=worded(
                "lock-contended.file-each",
                "Give {threads} a separate file instead of {path}",
                threads=threads,
                path=most.path,
            ),
        ),
        replace(
            _ONE_WRITES,
            do=worded(
                "lock-contended.one-thread",
                "Let one thread do all I/O of {path}",
                path=most.path,
            ),
        ),
        _SHARED,
    )


MEMORY_MAP = "memory_map_lock"
_MAP_LESS = Remedy(
    worded(
        "lock-contended.keep-memory",
        "Keep freed memory instead of unmapping it, in its environment: `MALLOC_TRIM_THRESHOLD_=1073741824 MALLOC_MMAP_THRESHOLD_=1073741824`",
    ),
    risk="it holds more memory",
)
_PROCESSES = Remedy(
    worded(
        "lock-contended.processes",
        "Use processes instead of threads: each has its own memory map",
    ),
    risk="more memory; data that threads share is shared no more",
)
_DIRECTORIES = Remedy(
    worded("lock-contended.more-directories", "Spread the files over several directories"),
    risk="programs that know the old paths fail",
)
_ONE_CHANGES = Remedy(
    worded(
        "lock-contended.one-creator",
        "Let one thread create and remove the names in a directory",
    ),
    risk="that thread may become the limit",
    for_authors=True,
)
_SPREAD = Remedy(
    worded("lock-contended.file-each-any", "Give each thread a separate file"),
    risk="readers of that file see only a part",
)
_SHARED = Remedy(
    worded(
        "lock-contended.direct-io",
        "Use direct I/O on preallocated blocks, which shares the lock (XFS, ext4)",
    ),
    risk="the page cache no longer helps reads",
    for_authors=True,
)
_ONE_WRITES = Remedy(
    worded("lock-contended.one-thread-any", "Let one thread do all I/O of a file"),
    risk="that thread may become the limit",
    for_authors=True,
)

CAUSE = Cause(
    name="lock-contended",
    title="A contended kernel lock",
    meaning=(
        "Threads that write one file, or change one directory, take its lock in turn. While one waits "
        "for the device, all wait."
    ),
    measured=(
        "Uninterruptible waits whose kernel stack shows a lock, by call and file, in the time in which "
        "another recorded thread is at work and can hold it. User-space locks (futex) count as sleep, "
        "and belong to not-io."
    ),
    thresholds=(
        Threshold("waiting for locks", SHARE, "share", "a finding must explain as much to be listed"),
    ),
    fooled_by=(
        "a holder outside the recording (another program, a kernel worker): record the whole machine (-a) to "
        "see it",
        "a holder that waits for the device: a faster device shortens the wait for the lock too",
    ),
    remedies=(_SPREAD, _ONE_WRITES, _SHARED),
    find=find,
    explains=classes.named("lock"),
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
)  # fmt: skip
