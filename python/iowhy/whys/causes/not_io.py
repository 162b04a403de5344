"""It sleeps, and not for I/O: timers, people, peers, children, user-space locks."""

from iowhy.invocation import as_root, quoted
from iowhy.whys import classes, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.program import server_behind
from iowhy.whys.remedy import Remedy

SHARE = 0.15
# Of the time without work: a call that explains less says nothing of the rest.
MOST = 0.5

_CHILD = "for a child process"
_THREAD = "for another thread (a lock, queue or condition)"
_FILE_LOCK = "for a lock on a file that another process holds"
_WORDS = {
    "futex": _THREAD,
    "futex_waitv": _THREAD,
    "nanosleep": "for a timer",
    "clock_nanosleep": "for a timer",
    "wait4": _CHILD,
    "waitid": _CHILD,
    "waitpid": _CHILD,
    "accept": "for a peer",
    "accept4": "for a peer",
    "recvfrom": "for a peer",
    "recvmsg": "for a peer",
    "connect": "for a peer",
    "flock": _FILE_LOCK,
    "fcntl": _FILE_LOCK,
    "msgrcv": "for another process",
    "semop": "for another process",
    "semtimedop": "for another process",
    "mq_timedreceive": "for another process",
}


# What does the work is not in the recording: it can be recorded too.
_UNSEEN = frozenset({_CHILD, "for a peer", "for events, a peer or a timer"})
_SEEN = Remedy("See what it waits for: `iowhy report syscalls` names the calls", looks=True)
# No call is in the recording.
_NO_CALLS = Remedy("Record it: `iowhy run -- CMD` names the calls that it waits in", looks=True)
# Calls and their stacks are recorded as they end: of a call that lasts all of a recording only the time is known.
_NONE_ENDED = Remedy(
    "Record for longer (calls are recorded as they end), or read /proc/PID/task/TID/syscall of each thread",
    looks=True,
)
_RECORD_TOO = Remedy(
    "Record the process that does the work, too (`iowhy run -a` records all of them)",
    looks=True,
)


def find(facts: Facts) -> Candidate | None:
    """No thread runs, and none waits for storage."""
    idle = facts.budget.elapsed(classes.IDLE)
    if idle < SHARE or facts.budget.basis == "waits":
        return None
    if facts.budget.basis == "machine":
        # Idle CPUs are not a wait of the command.
        return None
    if not facts.run.pasted and "thread_time" in facts.run.missing:
        # Calls that wait are seen, not what the thread did between them.
        return None
    if facts.budget.modes("unknown") > 0:
        # Idle CPUs are not an idle command: how many CPUs there are is not known.
        return None
    known = _most(facts, idle)
    what, most = "", None
    if known is not None:
        name, time = known
        what = _WORDS.get(name, "for events, a peer or a timer")
        group = facts.calls.by_name.get(name)
        number = "" if group is None else f"{count(group.calls)} calls, "
        most = link(
            f"most of that is in {name}: {number}{duration(time)} over all threads",
            time,
            "ns",
            "syscalls",
        )
    storage = facts.budget.elapsed(*classes.STORAGE)
    return Candidate(
        claims=(Claim(frozenset({classes.IDLE})),),
        chain=chain_of(
            link(f"all threads sleep {percent(idle)} of the time", idle, "share", "budget"),
            most,
            link(
                f"{percent(storage)} of the time is spent waiting for storage",
                storage,
                "share",
                "budget",
            ),
        ),
        summary=f"waiting {what}, not for I/O" if what else "sleeping, not waiting for I/O",
        saving=saving.all_of_it("if what it waits for took no time"),
        remedies=_of_server(facts) or (() if what in _UNSEEN else (_of_calls(facts),)),
        needs=("thread_time",),
        confidence=0.75 if known is None else 0.9,
        lowered_by=()
        if known is not None or facts.run.pasted
        else ("which call it sleeps in is not known",),
    )


def _of_calls(facts: Facts) -> Remedy:
    if facts.calls.by_name:
        return _SEEN
    recorded = not facts.run.pasted and "syscalls" not in facts.run.missing
    return _NONE_ENDED if recorded else _NO_CALLS


def _most(facts: Facts, idle: float) -> tuple[str, float] | None:
    """The call in which most of that time is, and how long over all threads; None if no call explains half of it.

    Other kinds of calls sleep too, to lock a file for example.
    """
    # Shares of traced calls are not of the elapsed time.
    elapsed_ns = facts.shares_of_ns if facts.budget.basis == "threads" else None
    for calls in (facts.calls.idle_by_name, _sleeping(facts)):
        if any(calls.values()):
            name, time = max(calls.items(), key=lambda item: item[1])
            if elapsed_ns is None or time >= MOST * idle * elapsed_ns:
                return name, time
    return None


def _of_server(facts: Facts) -> tuple[Remedy, ...]:
    """If a client of a known server waits: record the server."""
    behind = server_behind(facts)
    if behind is None or not behind.server:
        return ()
    pids = f'"$(pgrep -d, -x {quoted("|".join(behind.server))})"'
    return (
        Remedy(
            f"Record {behind.name}'s server, which does the work, while this runs again: `{as_root()} run -p {pids} --duration 30s`",
            looks=True,
        ),
        _SEEN,
    )


def _sleeping(facts: Facts) -> dict[str, float]:
    """How long threads sleep in each call, if that was recorded."""
    return {
        name: group.sleeping_ns for name, group in facts.calls.by_name.items() if group.sleeping_ns
    }


CAUSE = Cause(
    name="not-io",
    title="Waiting, but not for I/O",
    meaning=(
        "All threads sleep: for a timer, the network, a child that is not recorded, or each other. "
        "Nothing in the I/O stack can make that shorter, and a faster disk would not help."
    ),
    measured="Time in which every thread is in interruptible sleep, outside I/O calls on files.",
    thresholds=(
        Threshold("idle time", SHARE, "share", "a shell sleeps less between two commands"),
        Threshold(
            "of it, in the call that shows what it waits for, at least", MOST, "share",
            "a call that explains less says nothing of the rest",
        ),
    ),
    fooled_by=(
        "a network filesystem or FUSE that sleeps interruptibly in calls other than those on files and names, and those that close files",
        "a server that does the I/O for the command: record it with -p",
    ),
    remedies=(_SEEN, _RECORD_TOO),
    experiment=None,
    find=find,
    unseen_without=("thread_time",),
    settled_by=next_command.CALLS,
)  # fmt: skip
