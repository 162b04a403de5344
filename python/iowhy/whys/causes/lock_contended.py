"""Threads wait for a kernel lock."""

from iowhy import units
from iowhy.whys import classes, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.holders import Waited, held_share, waited_longest
from iowhy.whys.facts.metadata import NAME_CALLS
from iowhy.whys.finding import Candidate, Claim, Link

SHARE = 0.05


def find(facts: Facts) -> Candidate | None:
    """Waits whose stack shows a lock, while another thread works that can hold it."""
    share = facts.budget.elapsed(classes.LOCK)
    if share < SHARE:
        return None
    reasons = facts.budget.heaviest_reasons(frozenset({classes.LOCK}))
    held = held_share(facts.relations, frozenset(reason for reason, _ in reasons))
    fraction = 1.0 if held is None else held
    if share * fraction < SHARE:
        # Nobody else is at work: what is locked is under way to or from the device.
        return None
    most = waited_longest(facts.relations, [reason for reason, _ in reasons])
    where, name = _where(most)
    on = f" of {name}" if name else ""
    return Candidate(
        claims=(Claim(frozenset({classes.LOCK}), fraction=fraction),),
        chain=chain_of(
            link(
                f"{percent(share)} of the time threads wait for a lock in the kernel"
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
                f"in {percent(held)} of these waits' time another of them is at work",
                held,
                "share",
                "threads",
            ),
        ),
        summary=f"waits for a kernel lock{on} that another thread holds",
        saving=saving.all_of_it("if no two of them need the same lock"),
        remedies=_remedies(reasons, most),
        needs=("waits", "stacks"),
        confidence=0.9 if held is not None else 0.75,
        lowered_by=() if held is not None else ("whether another thread holds it is not known",),
    )


def _where(found: Waited | None) -> tuple[Link | None, str | None]:
    """In which call and on what most of it is, and the name of the latter."""
    if found is None:
        return None, None
    name = found.path
    if name is None and found.ino is not None:
        name = units.inode(found.ino)
    on = f" on {name}" if name else ""
    return (
        link(
            f"most in {found.call or 'page faults'}{on}: {plural(found.waits, 'wait')} of "
            f"{plural(found.threads, 'thread')}, {duration(found.total_ns / found.waits)} each",
            found.total_ns,
            "ns",
            "waits",
        ),
        name,
    )


def _remedies(reasons: list[tuple[str, float]], most: Waited | None) -> tuple[str, ...]:
    """What helps against the lock that is waited for longest: that of memory, of a directory, or of a file."""
    if reasons and reasons[0][0] == MEMORY_MAP:
        return (_MAP_LESS, _PROCESSES)
    if most is not None and most.call in NAME_CALLS:
        return (_DIRECTORIES, _ONE_CHANGES)
    return ()


MEMORY_MAP = "memory_map_lock"
_MAP_LESS = (
    "map and unmap less often: larger pieces, a malloc that keeps what was freed (mallopt: M_TRIM_THRESHOLD, "
    "M_MMAP_THRESHOLD)"
)
_PROCESSES = "use processes in the place of threads: each has a memory map of its own"
_DIRECTORIES = "spread the files over several directories"
_ONE_CHANGES = "let one thread make and remove the names of a directory"
_SPREAD = "spread the work over several files"
_SHARED = "use direct I/O with preallocated blocks, which takes the lock shared (XFS, ext4)"
_ONE_WRITES = "let one thread do the I/O of a file"

CAUSE = Cause(
    name="lock-contended",
    title="Threads wait for each other in the kernel",
    meaning=(
        "Writers of one file, or changes in one directory, take the inode's lock in turn; while one "
        "waits for the device, all wait."
    ),
    measured=(
        "Uninterruptible waits whose kernel stack shows a lock, by call and file, in the time in which "
        "another thread of the recording is at work and can hold it. User-space locks (futex) are sleep, "
        "and part of not-io."
    ),
    thresholds=(
        Threshold("waiting for locks", SHARE, "share", "what a finding must explain to be listed"),
    ),
    fooled_by=(
        "a holder outside the recording (another program, a worker of the kernel): record the whole machine "
        "(-a) to see it",
        "the holder's own wait is the device's: a faster device shortens the lock too",
    ),
    remedies=(_SPREAD, _SHARED, _ONE_WRITES),
    for_authors=frozenset({_MAP_LESS, _ONE_CHANGES, _SHARED, _ONE_WRITES}),
    experiment=None,
    find=find,
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
)  # fmt: skip
