"""In which call the thread sleeps that sets the pace: not those that wait for it, nor helpers that idle."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations
from iowhy.whys import classes

#: Threads that are looked at, the busiest first.
_THREADS = 2_000
#: Of the time that a parent waits: for children that sleep less it hardly does.
_MOST = 0.5
#: Calls that wait for what comes from elsewhere, or for a time that is over.
POLLS = frozenset(
    {
        "epoll_pwait",
        "epoll_pwait2",
        "epoll_wait",
        "poll",
        "ppoll",
        "pselect6",
        "select",
        "restart_syscall",
    }
)
CHILDREN = frozenset({"wait4", "waitid", "waitpid", "rt_sigsuspend", "rt_sigtimedwait", "pause"})
TIMERS = frozenset({"clock_nanosleep", "nanosleep"})
#: Calls that wait for a lock on a file.
LOCKS = frozenset({"fcntl", "flock"})
_MOVES = classes.DATA_READS | classes.DATA_WRITES
#: Calls on sockets: whoever makes one may have a peer to wait for.
_PEERS = frozenset(
    {
        "accept",
        "accept4",
        "connect",
        "recvfrom",
        "recvmsg",
        "recvmmsg",
        "sendto",
        "sendmsg",
        "sendmmsg",
        "socket",
    }
)
_SERVES = frozenset({"accept", "accept4"})
#: Servers that connect only to look up the names of users.
_DATABASES = frozenset({"postgres", "mariadbd", "mysqld"})
#: What a machine waits for on which nobody waits for what sleeps.
WORK = "work"
#: Calls that ask to be told when files change.
_WATCHES = frozenset({"fanotify_mark", "inotify_add_watch"})


class Peer(Struct, frozen=True):
    """To whom a process has a TCP connection."""

    tgid: int
    address: str
    port: int

    @property
    def is_local(self) -> bool:
        return self.address.startswith("127.") or self.address == "::1"

    def __str__(self) -> str:
        """As `ss` and URLs have it."""
        return (
            f"[{self.address}]:{self.port}"
            if ":" in self.address
            else f"{self.address}:{self.port}"
        )


class Sleep(Struct, frozen=True):
    """The call in which a thread, or several of one name after each other, sleeps longest: how often, and how long. `path` of its file, if it has one that is known.

    `peers`: whether its process makes calls on sockets, or has a connection. `peer`: to whom that has most connections.
    """

    tid: int
    tgid: int
    comm: str
    call: str
    calls: int
    total_ns: float
    path: str | None
    moved_kind: str | None
    peers: bool
    peer: Peer | None = None


class _Thread(Struct, frozen=True):
    tid: int
    tgid: int
    ppid: int | None
    comm: str | None
    active_ns: int


_BUSIEST = """
SELECT n.tid, n.tgid, any_value(n.ppid) AS ppid, coalesce(any_value(n.title), any_value(n.comm)) AS comm,
  CAST(coalesce(sum(t.cpu_ns), 0) + coalesce(sum(t.runnable_ns), 0) + coalesce(sum(t.blocked_ns), 0) AS BIGINT) AS active_ns
FROM threads AS n LEFT JOIN thread_totals AS t ON t.tid = n.tid AND t.tgid = n.tgid
GROUP BY n.tid, n.tgid ORDER BY active_ns DESC, n.tid LIMIT {most}
"""


class _Call(Struct, frozen=True):
    tid: int
    tgid: int
    name: str
    calls: int
    total_ns: int
    path: str | None = None
    kind: str | None = None


_IDLE = """
SELECT tid, tgid, name, CAST(sum(calls) AS BIGINT) AS calls, CAST(sum(total_ns) AS BIGINT) AS total_ns
FROM syscall_totals WHERE name IN {names} GROUP BY tid, tgid, name
"""
_SLEEPING = """
SELECT c.tid, c.tgid, c.name, CAST(sum(c.calls) AS BIGINT) AS calls, CAST(sum(c.sleeping_ns) AS BIGINT) AS total_ns,
  any_value(f.path) AS path, any_value(f.kind) AS kind
FROM call_sums AS c LEFT JOIN named_files AS f ON f.dev = c.dev AND f.ino = c.ino
WHERE c.sleeping_ns > 0 GROUP BY c.tid, c.tgid, c.name, c.dev, c.ino
"""


def sleeper(relations: Relations) -> Sleep | None:
    """Where the busiest thread sleeps; if that is for another process of the recording, where that one does. None where no call is known."""
    if not all(map(relations.has, ("threads", "thread_time", "syscall_totals"))):
        return None
    threads = relations.read(_Thread, _BUSIEST.format(most=_THREADS))
    longest = _longest(relations)
    peers, asked = _peers(relations), _asked(relations)
    seen: set[int] = set()
    found: Sleep | None = None
    at = [one for one in threads if one.tid in longest][:1]
    while at:
        seen.update(one.tgid for one in at)
        one, call = at[0], longest[at[0].tid]
        found = Sleep(
            one.tid, one.tgid, one.comm or f"thread {one.tid}", call.name,
            sum(longest[each.tid].calls for each in at), sum(longest[each.tid].total_ns for each in at),
            call.path, call.kind, one.tgid in peers or one.tgid in asked, asked.get(one.tgid),
        )  # fmt: skip
        at = _waited_for(at, found, threads, longest, seen)
    return found and (_polled(relations, found) or found)


def _polled(relations: Relations, sleep: Sleep) -> Sleep | None:
    """Threads of one process that sleep for each other, one of which polls at any time: all of them wait for what is polled."""
    if sleep.call != "futex" or sleep.peer is None:
        return None
    rows = relations.read(_Call, _IDLE.format(names=classes.quoted(POLLS)))
    own = [one for one in rows if one.tgid == sleep.tgid]
    total = sum(one.total_ns for one in own)
    if not own or total < _MOST * sleep.total_ns:
        return None
    name = max(own, key=lambda one: one.total_ns).name
    return replace(sleep, call=name, calls=sum(one.calls for one in own), total_ns=total)


def _waited_for(
    waiters: list[_Thread],
    sleep: Sleep,
    threads: list[_Thread],
    longest: dict[int, _Call],
    seen: set[int],
) -> list[_Thread]:
    """The busiest thread of a process that these may wait for: a child, or whoever is at the other end of a pipe.

    Of children, all of one name that sleep in one call: a script starts one after the other. They sleep for most of that
    time, or else as long as any.
    """
    others = [one for one in threads if one.tgid not in seen and one.tid in longest]
    if sleep.call in CHILDREN:
        parents = {one.tgid for one in waiters}
        alike: dict[tuple[str | None, str], list[_Thread]] = {}
        for one in others:
            if one.ppid in parents:
                alike.setdefault((one.comm, longest[one.tid].name), []).append(one)
        times = {
            key: sum(longest[one.tid].total_ns for one in group) for key, group in alike.items()
        }
        least = min(sleep.total_ns * _MOST, max(times.values(), default=0))
        return next((group for key, group in alike.items() if times[key] >= least), [])
    if sleep.call in _MOVES and sleep.moved_kind in ("pipe", "socket"):
        return next(([one] for one in others if longest[one.tid].name not in CHILDREN), [])
    return []


def _longest(relations: Relations) -> dict[int, _Call]:
    """Of each thread the call in which it sleeps longest."""
    rows = relations.read(_Call, _IDLE.format(names=classes.quoted(classes.IDLE_CALLS)))
    if relations.has("syscalls"):
        rows += relations.read(_Call, _SLEEPING)
    rows.sort(key=lambda one: (one.total_ns, one.path is not None, one.name))
    return {one.tid: one for one in rows if one.total_ns > 0}


def _peers(relations: Relations) -> frozenset[int]:
    """Processes that make calls on sockets."""
    sql = f"SELECT DISTINCT tgid FROM syscall_totals WHERE name IN {classes.quoted(_PEERS)}"
    return frozenset(relations.values(int, sql))


def _asked(relations: Relations) -> dict[int, Peer]:
    """Of each process the peer that it has most connections to, the last of several."""
    if not relations.has("connections"):
        return {}
    sql = "SELECT tgid, address, port FROM connections GROUP BY ALL ORDER BY count(*), max(ts_ns), address, port"
    return {one.tgid: one for one in relations.read(Peer, sql)}


def waits_for_work(relations: Relations, mode: str) -> str | None:
    """What from outside it waits for while it idles, in words: clients of a server, changes of files; None: it has work to do.

    A server is who takes connections, and what ran already before it was recorded; not if it connects to others itself, which may be what
    it waits for. One that listens and has no connection is a server that nobody has called: what it connected to was the service of names.
    Of a machine nobody waits for what sleeps: its threads wait for each other, and for what comes from outside.
    """
    if not relations.has("syscall_totals"):
        return "clients" if mode == "attach" else None
    if mode == "machine":
        return None if _asks(relations) else WORK
    asked = classes.quoted(_SERVES | _WATCHES)
    sql = f"""SELECT DISTINCT name FROM syscall_totals WHERE name IN {asked} OR (
        name = 'connect' AND tgid NOT IN (SELECT tgid FROM threads WHERE comm IN {classes.quoted(_DATABASES)}))"""
    called = set(relations.values(str, sql))
    if not called & _SERVES and not _asked(relations) and _listens(relations):
        return "clients"
    if "connect" in called:
        return None
    if called & _SERVES or mode == "attach":
        return "clients"
    return "files to change" if called & _WATCHES else None


# Of threads that poll most of the time.
_LISTENS = f"""
SELECT count(*) FROM syscall_totals AS l SEMI JOIN (
  SELECT t.tid FROM syscall_totals AS t CROSS JOIN recording AS r WHERE t.name IN {classes.quoted(POLLS)}
  GROUP BY t.tid, r.elapsed_ns HAVING sum(t.total_ns) >= {_MOST} * r.elapsed_ns
) AS polls ON polls.tid = l.tid WHERE l.name = 'listen'
"""


def _listens(relations: Relations) -> bool:
    return bool(relations.value(int, _LISTENS))


# Somebody has just started it, and it sleeps for most of the time.
_ASKS = f"""
WITH began AS (
  SELECT tgid FROM threads CROSS JOIN recording AS r GROUP BY tgid, r.start_ns HAVING min(threads.start_ns) > r.start_ns
)
SELECT count(*) FROM syscall_totals AS t CROSS JOIN recording AS r
WHERE t.tgid IN (SELECT tgid FROM began) AND t.name IN {{names}} AND t.total_ns >= {_MOST} * r.elapsed_ns
"""


def _asks(relations: Relations) -> bool:
    """Whether a program that began during the recording waits for an answer, or for a lock on a file: that is work which somebody asked for."""
    if not relations.has("threads"):
        return False
    names = (POLLS | _PEERS | LOCKS) - _SERVES
    return bool(relations.value(int, _ASKS.format(names=classes.quoted(names))))
