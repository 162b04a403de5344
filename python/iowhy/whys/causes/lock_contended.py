"""Threads wait for a kernel lock."""

from iowhy.whys import classes, next_command
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim

SHARE = 0.05

_WHERE = """
SELECT w.syscall, f.path, w.ino, count(*), sum(w.dur_ns), count(DISTINCT w.tid) FROM waits AS w
LEFT JOIN why_files AS f ON f.dev = w.dev AND f.ino = w.ino
WHERE w.reason IN ({reasons})
GROUP BY w.syscall, f.path, w.ino ORDER BY sum(w.dur_ns) DESC LIMIT 1
"""


def find(facts: Facts) -> Candidate | None:
    """Waits whose stack shows a lock."""
    share = facts.budget.elapsed(classes.LOCK)
    if share < SHARE:
        return None
    reasons = facts.budget.heaviest_reasons(frozenset({classes.LOCK}))
    where = None
    name = None
    if reasons and facts.has("waits"):
        listed = ", ".join("'" + r.replace("'", "''") + "'" for r, _ in reasons)
        rows = facts.rows(_WHERE.format(reasons=listed))
        if rows:
            call, path, ino, number, total, threads = rows[0]
            name = str(path) if path is not None else None if ino is None else f"inode {ino}"
            on = f" on {name}" if name else ""
            where = link(
                f"most in {call or 'page faults'}{on}: {plural(int(str(number)), 'wait')} of "
                f"{plural(int(str(threads)), 'thread')}, "
                f"{duration(float(str(total)) / int(str(number)))} each",
                float(str(total)),
                "ns",
                "waits",
            )
    on = f" of {name}" if name else ""
    return Candidate(
        claims=(Claim(frozenset({classes.LOCK})),),
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
        ),
        summary=f"waits for a kernel lock{on} that another thread holds",
        needs=("waits", "stacks"),
    )


CAUSE = Cause(
    name="lock-contended",
    title="Threads wait for each other in the kernel",
    meaning=(
        "Writers of one file, or changes in one directory, take the inode's lock in turn; while one "
        "waits for the device, all wait."
    ),
    measured=(
        "Uninterruptible waits whose kernel stack shows a lock, by call and file. User-space locks "
        "(futex) are sleep, and part of not-io."
    ),
    thresholds=(
        Threshold("waiting for locks", SHARE, "share", "what a finding must explain to be listed"),
    ),
    fooled_by=(
        "the holder's own wait is the device's: a faster device shortens the lock too",
    ),
    remedies=(
        "spread the work over several files or directories",
        "use direct I/O with preallocated blocks, which takes the lock shared (XFS, ext4)",
        "let one thread do the I/O of a file",
    ),
    experiment=None,
    find=find,
    settled_by=next_command.CALLS,
)  # fmt: skip
