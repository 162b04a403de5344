"""It sleeps, and not for I/O: timers, people, peers, children, user-space locks."""

import re
from pathlib import PurePath

from msgspec import Struct

from iowhy.invocation import as_root, quoted
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, locks_in_words, next_command, saving
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.file_locks import HeldFile, held_file, lock_file
from iowhy.whys.facts.locked import Locked, cut
from iowhy.whys.facts.sleeps import POLLS, TIMERS, WORK, Peer, Sleep
from iowhy.whys.finding import Candidate, Claim, Link, Saving
from iowhy.whys.program import server_behind
from iowhy.whys.remedy import Remedy

SHARE = 0.15
# Of the time without work: a call that explains less says nothing of the rest.
MOST = 0.5

_TIMER = "for a timer"
_PEER = "for a peer"
_EVENTS = "for an event"
_CHILD = "for a child process"
_THREAD = "for another thread (a lock, queue or condition)"
_FILE_LOCK = "for a lock on a file that another process holds"
_WORDS = {
    "futex": _THREAD,
    "futex_waitv": _THREAD,
    "nanosleep": _TIMER,
    "clock_nanosleep": _TIMER,
    "wait4": _CHILD,
    "waitid": _CHILD,
    "waitpid": _CHILD,
    "accept": _PEER,
    "accept4": _PEER,
    "recvfrom": _PEER,
    "recvmsg": _PEER,
    "connect": _PEER,
    "flock": _FILE_LOCK,
    "fcntl": _FILE_LOCK,
    "msgrcv": "for another process",
    "semop": "for another process",
    "semtimedop": "for another process",
    "mq_timedreceive": "for another process",
}


_SEEN = Remedy(
    worded("not-io.see-calls", "See in which calls it waits: `iowhy report syscalls`"), looks=True
)
_WHICH_PEER = Remedy(
    worded("not-io.see-peer", "See which peer it waits for, while it waits: `ss -tunp`"),
    looks=True,
)
_WITH_WORK = Remedy(worded("not-io.record-work", "Record it while it has work to do"), looks=True)
#: Of a statement, what a sentence has of it.
_SHOWN = 60
_COMMIT_SOONER = Remedy(
    worded(
        "not-io.commit-sooner",
        "Commit sooner in the session that holds the lock, or change fewer rows at once",
    ),
    risk="what was one transaction may be seen, and fail, in parts",
    for_authors=True,
)
# Programs that stop and continue the one that they start, and options that bound a rate.
_HOLD_BACK = frozenset({"cpulimit", "trickle"})
_RATE = re.compile(
    r"--?\S*(bwlimit|throttl|rate-?limit|limit-?rate|load-?limit|speed-?limit|limit-?speed|max-?rate|bandwidth)\S*"
)
_NO_CALLS = Remedy(
    worded(
        "not-io.record-calls",
        "Record it, to see in which calls it waits: `iowhy run -- CMD`",
    ),
    looks=True,
)
# Calls and their stacks are recorded as they end: of a call that lasts all of a recording only the time is known.
_NONE_ENDED = Remedy(
    worded("not-io.record-longer", "Record for longer: a call is recorded when it ends"),
    looks=True,
)
_RECORD_TOO = Remedy(
    worded(
        "not-io.record-all",
        "Record all processes, including the one that does the work: `iowhy run -a --duration 10s`",
    ),
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
    if facts.locked is not None and facts.waits_for_work is None:
        return _for_lock(facts, idle, facts.locked)
    if facts.waits_for_work is not None:
        return _without_work(facts, idle, facts.waits_for_work)
    found = _most(facts, idle)
    what = None if found is None else _for_what(found)
    sleep = None if found is None else found.sleep
    lock, held = lock_file(facts.relations, sleep), held_file(facts.relations, sleep)
    return Candidate(
        claims=(Claim(frozenset({classes.IDLE})),),
        chain=chain_of(
            _asleep(idle),
            None if found is None else _in_call(facts, found),
            None if lock is None else locks_in_words.shown(lock),
            locks_in_words.held(held),
            _storage(facts),
        ),
        summary=locks_in_words.says(lock, held) or _says(found, what),
        saving=saving.all_of_it("if what it waits for took no time"),
        remedies=locks_in_words.remedies(facts, lock)
        if lock is not None
        else (*_without_limit(facts), *(_of_server(facts) or _remedies(facts, found, what, held))),
        needs=("thread_time",),
        confidence=0.75 if found is None else 0.9,
        lowered_by=()
        if found is not None or facts.run.pasted
        else ("which call it sleeps in is not known",),
    )


def _without_work(facts: Facts, idle: float, waits_for: str) -> Candidate:
    """A server idles until a client asks for something: that is no time that anybody loses."""
    said = "waiting for {waits_for}: it has no work"
    said = "idle: nobody waits for what sleeps" if waits_for == WORK else said
    return Candidate(
        claims=(Claim(frozenset({classes.IDLE})),),
        chain=chain_of(_asleep(idle), _storage(facts)),
        summary=worded("not-io.no-work", said, waits_for=waits_for),
        saving=Saving(0.0, "it has no work in that time"),
        remedies=(_WITH_WORK,),
        needs=("thread_time",),
        confidence=0.8,
    )


def _for_lock(facts: Facts, idle: float, found: Locked) -> Candidate:
    """Sessions of a database wait for each other: whoever holds the lock decides how long."""
    elapsed = facts.shares_of_ns or found.all_ns
    part = min(1.0, found.all_ns / elapsed / idle)
    holder = "a session that the server does not name"
    if found.holder_tid is not None:
        holder = f"the session {found.holder_tid}"
    ran = f", which ran `{cut(found.holder)}`" if found.holder else ""
    return Candidate(
        claims=(Claim(frozenset({classes.IDLE}), fraction=part),),
        chain=chain_of(
            link(
                f"`{cut(found.statement)}` waits longest: {duration(found.waited_ns)} ({found.lock})",
                found.waited_ns,
                "ns",
                "statements",
                "not-io.locked",
            ),
            link(f"{holder} holds the lock{ran}", None, "text", "statements", "not-io.holder"),
            _storage(facts),
        ),
        summary=worded(
            "not-io.waits-for-lock",
            "waiting for locks of the database that other sessions hold, not for I/O",
        ),
        saving=saving.all_of_it("if no session held a lock that another needs"),
        remedies=(_COMMIT_SOONER,),
        needs=("thread_time",),
        confidence=0.9,
    )


def _asleep(idle: float) -> Link:
    return link(
        f"all threads sleep {percent(idle)} of the time", idle, "share", "budget", "not-io.idle"
    )


def _storage(facts: Facts) -> Link:
    storage = facts.budget.elapsed(*classes.STORAGE)
    return link(
        f"{percent(storage)} of the time is spent waiting for storage",
        storage,
        "share",
        "budget",
        "not-io.storage",
    )


class _Call(Struct, frozen=True):
    """The call that most of the sleep is in: of one thread, where `sleep` is there, else over all threads."""

    name: str
    total_ns: float
    sleep: Sleep | None = None


def _says(found: _Call | None, what: str | None) -> Sentence:
    """What it waited for, or that it slept."""
    if what is None or found is None:
        return worded("not-io.sleeps", "sleeping, not waiting for I/O")
    said = "waiting {what} in {call}, not for I/O"
    return worded("not-io.waits", said, what=what, call=found.name)


def _in_call(facts: Facts, found: _Call) -> Link:
    group = facts.calls.by_name.get(found.name)
    calls = found.sleep.calls if found.sleep else None if group is None else group.calls
    number = "" if calls is None else f"{plural(calls, 'call')}, "
    whose = "over all threads" if found.sleep is None else f"by {found.sleep.comm}"
    path = "" if found.sleep is None or found.sleep.path is None else f", on {found.sleep.path}"
    return link(
        f"most of that is in {found.name}: {number}{duration(found.total_ns)} {whose}{path}",
        found.total_ns,
        "ns",
        "syscalls",
        "not-io.in-call",
    )


def _for_what(found: _Call) -> str:
    """What the call waits for, in words."""
    sleep = found.sleep
    if sleep is not None and _by_itself(sleep):
        return f"{_TIMER} that {sleep.comm} sets itself"
    if sleep is not None and sleep.moved_kind == "pipe":
        return "for the other end of a pipe"
    what = _PEER if sleep and sleep.moved_kind == "socket" else _WORDS.get(found.name, _EVENTS)
    if sleep is not None and sleep.peer is not None and what in (_PEER, _EVENTS):
        return f"for the peer {sleep.peer}"
    return what


def _by_itself(sleep: Sleep) -> bool:
    """Whether it sleeps for a time that it chose: it polls, and there is nobody whom that could be for."""
    return sleep.call in TIMERS or (sleep.call in POLLS and not sleep.peers)


def _without_limit(facts: Facts) -> tuple[Remedy, ...]:
    """What was typed to make it slower: a program before it, or an option."""
    argv = facts.run.argv if facts.run.mode == "run" else ()
    held = [one for one in argv[:1] if PurePath(one).name in _HOLD_BACK]
    option = next(iter((*held, *filter(_RATE.fullmatch, argv))), None)
    do = worded("not-io.without-limit", "Start it without `{option}`", option=option)
    risk = "others get less of the network or the CPUs"
    return () if option is None else (Remedy(do, risk=risk),)


def _remedies(
    facts: Facts, found: _Call | None, what: str | None, held: HeldFile | None
) -> tuple[Remedy, ...]:
    """What to do about the call, or how to see more of it."""
    if found is None or what is None:
        return (_of_calls(facts),)
    if found.sleep is not None and what.startswith(_TIMER):
        pause = Remedy(
            worded(
                "not-io.shorten-pause",
                "Shorten the pause of {comm}: {name} in its code, {calls:count call} of {total_ns:ns}",
                comm=found.sleep.comm,
                name=found.name,
                calls=found.sleep.calls,
                total_ns=found.sleep.total_ns / max(1, found.sleep.calls),
            ),
            risk="what it polls, or is limited for, gets more load",
        )
        return (pause,)
    if what == _FILE_LOCK:
        return (*locks_in_words.of_holder(held), _of_calls(facts))
    if found.sleep is not None and found.sleep.peer is not None and what.startswith("for the peer"):
        return (_of_peer(found.sleep.peer), _RECORD_TOO)
    if what == _EVENTS and not (found.sleep is not None and found.sleep.peers):
        return (_RECORD_TOO, _of_calls(facts))
    if what in (_PEER, _EVENTS):
        return (_WHICH_PEER, _RECORD_TOO)
    # What does the work is not in the recording: it can be recorded too.
    return (_RECORD_TOO,) if what == _CHILD else (_of_calls(facts),)


def _of_peer(peer: Peer) -> Remedy:
    """Who answers there: a process of this machine, or another one."""
    if peer.is_local:
        return Remedy(
            worded(
                "not-io.local-peer",
                "See which process answers at {peer}, and record it too: `ss -tlnp 'sport = :{port}'`",
                peer=str(peer),
                port=peer.port,
            ),
            looks=True,
        )
    return Remedy(
        worded(
            "not-io.remote-peer",
            "Measure how long the way to {peer} takes: `ping -c 5 {address}`; then record there: `iowhy run -a --duration 10s`",
            peer=str(peer),
            address=peer.address,
        ),
        looks=True,
    )


def _of_calls(facts: Facts) -> Remedy:
    if facts.calls.by_name:
        return _SEEN
    recorded = not facts.run.pasted and "syscalls" not in facts.run.missing
    return _NONE_ENDED if recorded else _NO_CALLS


def _most(facts: Facts, idle: float) -> _Call | None:
    """The call in which most of that time is, and how long; None if no call explains half of it.

    That of the thread which sets the pace, else over all threads. Other kinds of calls sleep too, to lock a file for example.
    """
    # Shares of traced calls are not of the elapsed time.
    elapsed_ns = facts.shares_of_ns if facts.budget.basis == "threads" else None
    least_ns = 0.0 if elapsed_ns is None else MOST * idle * elapsed_ns
    sleep = facts.sleeper if elapsed_ns is not None and not facts.run.pasted else None
    if sleep is not None and sleep.total_ns >= least_ns:
        return _Call(sleep.call, sleep.total_ns, sleep)
    for calls in (facts.calls.idle_by_name, _sleeping(facts)):
        if any(calls.values()):
            name, time = max(calls.items(), key=lambda item: item[1])
            if time >= least_ns:
                return _Call(name, time)
    return None


def _of_server(facts: Facts) -> tuple[Remedy, ...]:
    """If a client of a known server waits: record the server."""
    behind = server_behind(facts)
    if behind is None or not behind.server:
        return ()
    pids = f'"$(pgrep -d, -x {quoted("|".join(behind.server))})"'
    return (
        Remedy(
            worded(
                "not-io.record-server",
                "Record {name}'s server, which does the work, while {who} runs again: `{as_root} run -p {pids} --duration 30s`",
                name=behind.name,
                who=facts.run.who,
                as_root=as_root(),
                pids=pids,
            ),
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
    find=find,
    explains=classes.named("idle"),
    unseen_without=("thread_time",),
    settled_by=next_command.CALLS,
)  # fmt: skip
