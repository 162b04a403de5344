"""The time is elsewhere: timers, people, peers, children, user-space locks."""

from iowhy.invocation import as_root, quoted
from iowhy.whys import classes, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, count, duration, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.program import server_behind

SHARE = 0.15
# Of the time without work: what explains less says nothing of it.
MOST = 0.5

_CHILD = "for a child process"
_FILE_LOCK = "for a lock on a file that another process holds"
_WORDS = {
    "futex": "for another thread (futex: a lock, a queue, a condition)",
    "futex_waitv": "for another thread (futex: a lock, a queue, a condition)",
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


# What does the work is not in the recording: it can be followed.
_UNSEEN = frozenset({_CHILD, "for a peer", "for events, a peer or a timer"})
_SEEN = ("look at what it waits for: `iowhy report syscalls` names the calls",)
# No call is in the recording.
_NO_CALLS = ("record it: `iowhy run -- CMD` names the calls that it waits in",)
# Calls are recorded as they end, their stacks too: what lasts all of a recording is in it by its time alone.
_NONE_ENDED = (
    "no call that it waits in ended meanwhile, which is when calls and their stacks are recorded: record it for longer, or read "
    "the number of the call that each thread is in from /proc/PID/task/TID/syscall",
)


def find(facts: Facts) -> Candidate | None:
    """No thread is at work, and none waits for storage."""
    idle = facts.budget.elapsed(classes.IDLE)
    if idle < SHARE or facts.budget.basis == "waits":
        return None
    if facts.budget.basis == "machine":
        # CPUs that idle are nobody's waiting.
        return None
    if not facts.run.pasted and "thread_time" in facts.run.missing:
        # Calls that wait are seen, not what the thread did beside them.
        return None
    if facts.budget.modes("unknown") > 0:
        # Idle CPUs are no idle command: how many there are is not known.
        return None
    known = _most(facts, idle)
    words, what = "", ""
    most = None
    if known is not None:
        name, time = known
        what = _WORDS.get(name, "for events, a peer or a timer")
        words = f" {what}"
        group = facts.calls.by_name.get(name)
        number = "" if group is None else f"{count(group.calls)} calls, "
        most = link(
            f"most of it in {name} ({number}{duration(time)} over all threads): it waits {what}",
            time,
            "ns",
            "syscalls",
        )
    storage = facts.budget.elapsed(*classes.STORAGE)
    return Candidate(
        claims=(Claim(frozenset({classes.IDLE})),),
        chain=chain_of(
            link(f"in {percent(idle)} of the time no thread is at work", idle, "share", "budget"),
            most,
            link(f"only {percent(storage)} waits for storage", storage, "share", "budget"),
        ),
        summary=f"is not I/O: {facts.run.who} waits{words}",
        saving=saving.all_of_it("if what it waits for took no time"),
        remedies=_of_server(facts) or (() if what in _UNSEEN else _of_calls(facts)),
        needs=("thread_time",),
        confidence=0.75 if known is None else 0.9,
        lowered_by=()
        if known is not None or facts.run.pasted
        else ("which call it sleeps in is not known",),
    )


def _of_calls(facts: Facts) -> tuple[str, ...]:
    if facts.calls.by_name:
        return _SEEN
    recorded = not facts.run.pasted and "syscalls" not in facts.run.missing
    return _NONE_ENDED if recorded else _NO_CALLS


def _most(facts: Facts, idle: float) -> tuple[str, float] | None:
    """The call in which most of that time is, and how long over all threads; None where no call explains half of it.

    Calls of another kind sleep too: to lock a file, say.
    """
    # Shares of traced calls are of no elapsed time.
    elapsed_ns = facts.shares_of_ns if facts.budget.basis == "threads" else None
    for calls in (facts.calls.idle_by_name, _sleeping(facts)):
        if any(calls.values()):
            name, time = max(calls.items(), key=lambda item: item[1])
            if elapsed_ns is None or time >= MOST * idle * elapsed_ns:
                return name, time
    return None


def _of_server(facts: Facts) -> tuple[str, ...]:
    """Where a client of a known server waits: to record the server."""
    behind = server_behind(facts)
    if behind is None or not behind.server:
        return ()
    pids = f'"$(pgrep -d, -x {quoted("|".join(behind.server))})"'
    return (
        f"{behind.name}'s server does the work: record it, if it runs here, `{as_root()} run -p {pids} "
        "--duration 30s` while this runs again",
        *_SEEN,
    )


def _sleeping(facts: Facts) -> dict[str, float]:
    """How long threads sleep in each call, where that was recorded."""
    return {
        name: group.sleeping_ns for name, group in facts.calls.by_name.items() if group.sleeping_ns
    }


CAUSE = Cause(
    name="not-io",
    title="The time is not I/O",
    meaning=(
        "All threads sleep: for a timer, the network, a child that is not followed, or each other. "
        "Nothing in the I/O stack can make that shorter."
    ),
    measured="Time in which every thread is in interruptible sleep, outside I/O calls on files.",
    thresholds=(
        Threshold("idle time", SHARE, "share", "a shell between two commands idles for less"),
        Threshold(
            "of it, in the call that says what is waited for, at least", MOST, "share",
            "a call that explains less says nothing of the rest",
        ),
    ),
    fooled_by=(
        "a network file system or FUSE that sleeps interruptibly in other calls than those on files and names, and that close files",
        "a server that does the I/O for the command: attach to it with -p",
    ),
    remedies=(
        "look at what it waits for: `iowhy report syscalls` names the calls",
        "record the process that does the work, too: -p with its number, or the whole machine with -a",
    ),
    experiment=None,
    find=find,
    unseen_without=("thread_time",),
    settled_by=next_command.CALLS,
)  # fmt: skip
