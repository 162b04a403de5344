"""Reads what a server's sessions do, some twenty times a second, in a process that may hang and be killed.

It is asked by a line of JSON on stdin, and answers on stdout when stdin ends. What it read is in memory until then: no more than
`MOST_READINGS`. Connecting and reading are done by a thread, so that a server that does not answer keeps nobody waiting.
"""

import ctypes
import os
import select
import sys
import threading
import time
from contextlib import suppress
from typing import Any, TypeAlias

import msgspec
from msgspec import Struct, field

from iowhy.sources.statements import catalogue, mysql, postgresql
from iowhy.sources.statements.normalised import fingerprint, normalised, whole
from iowhy.sources.statements.refused import reason
from iowhy.sources.statements.server import Server, threads_here
from iowhy.sources.statements.session import Session
from iowhy.sources.statements.short_runs import Reading, Run, ShortRuns

PER_SECOND = 20
MOST_READINGS = 200_000
MOST_STATEMENTS = 5_000
MOST_SESSIONS = 1_000
MOST_DATABASES = 10
MOST_FILES = 20_000
#: How long the catalogues may take at the end.
CATALOGUE_S = 3.0
_PR_SET_SECUREBITS, _NO_SETUID_FIXUP = 28, 1 << 2  # linux/prctl.h, linux/securebits.h
#: Of the time, what readings may take: a server that answers slowly is asked less often.
BUSY = 0.25
RECONNECT_S = 1.0


class Asked(Struct, frozen=True):
    """What the process is asked."""

    server: Server
    dsn: str = ""
    text: bool = False
    #: Probes take the same statements: ids are of their texts.
    exact: bool = False
    #: Instead of an answer at the end: one line of what sessions did each time that this has passed.
    every_s: float | None = None
    per_second: float = PER_SECOND


class Told(Struct):
    """What it answers: rows of tables, on the clock of recordings, and how often the server was read, or could not be."""

    statements: list[dict[str, Any]] = field(default_factory=list)
    readings: list[dict[str, Any]] = field(default_factory=list)
    files: list[dict[str, Any]] = field(default_factory=list)
    lost: int = 0
    reads: int = 0
    failed: int = 0
    #: The longest time without a reading.
    silent_ns: int = 0
    error: str | None = None


#: Statement, its text, kind of wait, seconds of sessions.
Share: TypeAlias = tuple[str, str, str, float]


class Sampler:
    """All that was read of one server."""

    def __init__(self, asked: Asked) -> None:
        self._asked = asked
        self._mysql = asked.server.kind == "mysql"
        self._databases: set[str] = set()
        self._statements: dict[str, dict[str, Any]] = {}
        self._readings: list[Reading] = []
        self._runs: dict[int, Run] = {}
        #: Of each session the run that was seen to be over last.
        self._over: dict[int, int] = {}
        #: Those of the reading before, which last until the next one.
        self._current: dict[int, Reading] = {}
        self._before_ns = 0
        self._took_s = 0.0
        self._short_runs = ShortRuns()
        self._texts: dict[str, str] = {}
        #: By the server's own ids.
        self._ids: dict[str, str] = {}
        #: Ids of normalised texts.
        self._named: dict[str, str] = {}
        #: What a new session may take for one sort or hash.
        self.memory_bytes: int | None = None
        self.told = Told()
        self.lock = threading.Lock()
        #: The server was read, or could not be.
        self.tried = threading.Event()

    def read_for_ever(self) -> None:
        """Connects, reads, and connects again where the server goes."""
        threads = threads_here(self._asked.server.pid)
        while True:
            try:
                connection = self._connect()
                self.memory_bytes = connection.memory_bytes
                while True:
                    self._read(connection, threads)
                    self.tried.set()
            except Exception as error:
                self.told.failed += 1
                self.told.error = reason(error)
                self.tried.set()
                time.sleep(RECONNECT_S)

    def _connect(self, database: str | None = None) -> Any:
        kind = mysql.Connection if self._mysql else postgresql.Connection
        server = self._asked.server
        kind.load()
        # The server lets its own user in by the socket.
        own = os.geteuid() == 0 and not self._mysql
        if own:
            # Python reads more of itself when it needs that, perhaps from root's home: root's rights stay (capabilities(7)).
            ctypes.CDLL(None).prctl(_PR_SET_SECUREBITS, _NO_SETUID_FIXUP, 0, 0, 0)
            os.setegid(server.gid)
            os.seteuid(server.uid)
        try:
            return kind(
                server, self._asked.dsn, 1 / self._asked.per_second, MOST_SESSIONS, database
            )
        finally:
            if own:
                os.seteuid(0)
                os.setegid(0)

    def _read(self, connection: Any, threads: dict[int, tuple[int, int]]) -> None:
        began = time.monotonic()
        before_ns = time.time_ns()
        sessions = connection.sessions()
        at_ns = connection.read_ns or before_ns + (time.time_ns() - before_ns) // 2
        # What our own session takes is not a statement's.
        sessions.append(Session(connection.thread, "iowhy", connection.began_ns, backend="iowhy"))
        with self.lock:
            self.take(sessions, at_ns, connection.name, threads)
        time.sleep(self.rest_s(time.monotonic() - began))

    def rest_s(self, took_s: float) -> float:
        """Until the next reading. One that is late alone is not a server that answers slowly: it was stopped, and goes on."""
        slow_s, self._took_s = min(took_s, self._took_s), took_s
        return max(1 / self._asked.per_second - took_s, slow_s * (1 / BUSY - 1))

    def take(
        self, sessions: list[Session], at_ns: int, server: str, threads: dict[int, tuple[int, int]]
    ) -> None:
        """One reading of all sessions."""
        self.told.reads += 1
        self._silent_until(at_ns)
        # What was met in the reading before lasted until this one.
        for met in self._current.values():
            met.span_ns = at_ns - met.at_ns
        before, self._current = self._current, {}
        seen = set()
        for one in sessions:
            tgid, tid = self._here(one.thread, threads)
            seen.add(tid)
            run = self._run(one, tgid, tid, at_ns, server, threads)
            if run is None:
                continue
            holder = None if one.holder is None else self._here(one.holder, threads)[1]
            if run.ended_ns is None:
                self._reading(run, at_ns, one.wait, holder, before.get(tid))
            else:
                # It came and went between two readings: of those that did so, one is seen now and then.
                self._keep(Reading(run, at_ns, 0, 0, None, None))
        for tid in [tid for tid in self._runs if tid not in seen]:
            self._end(tid, at_ns)
        self._before_ns = at_ns

    def _silent_until(self, at_ns: int) -> None:
        if self._before_ns:
            self.told.silent_ns = max(self.told.silent_ns, at_ns - self._before_ns)

    def _here(self, thread: int, threads: dict[int, tuple[int, int]]) -> tuple[int, int]:
        """Process and thread, as the kernel here numbers them."""
        if self._mysql:
            return threads.get(thread, (self._asked.server.pid, thread))
        return threads.get(thread, (thread, thread))

    def _run(
        self, one: Session, tgid: int, tid: int, at_ns: int, server: str, threads: dict[int, tuple[int, int]]
    ) -> Run | None:  # fmt: skip
        """The run that a session is in, or ended last; None for one that is known and over."""
        known = self._runs.get(tid)
        if one.began_ns is None or not one.text:
            if known is not None and one.ended_ns is not None and one.ended_ns >= known.began_ns:
                known.ended_ns, known.exact = one.ended_ns, True
                del self._runs[tid]
            return None
        number = one.began_ns if one.run is None else one.run
        if one.ended_ns is not None and self._over.get(tid) == number:
            return None
        same = known is not None and (
            known.began_ns == one.began_ns if one.run is None else known.number == one.run
        )
        if not same:
            self._end(tid, min(at_ns, one.began_ns))
            leader = None if one.leader is None else self._here(one.leader, threads)[1]
            statement = self._statement(one, server)
            known = Run(tgid, tid, statement, one.began_ns, leader, one.backend, number=one.run)
            if one.ended_ns is None or one.ended_ns >= one.began_ns:
                self._runs[tid] = known
        assert known is not None
        if one.ended_ns is not None and known.ended_ns is None:
            known.ended_ns, known.exact = max(one.ended_ns, known.began_ns), True
            self._over[tid] = number
            self._runs.pop(tid, None)
            return known if not same else None
        return known

    def _end(self, tid: int, at_ns: int) -> None:
        """A run that is over, without a reading that says when: after the one before, the end in the middle."""
        run = self._runs.pop(tid, None)
        if run is not None and run.ended_ns is None:
            run.ended_ns = max(run.began_ns, (max(self._before_ns, run.began_ns) + at_ns) // 2)

    def _reading(
        self, run: Run, at_ns: int, wait: str | None, holder: int | None, last: Reading | None
    ) -> None:
        if last is not None and last.run is run and (last.wait, last.holder) == (wait, holder):
            last.readings += 1
            last.span_ns += round(1e9 / self._asked.per_second)
            self._current[run.tid] = last
            return
        made = Reading(run, at_ns, round(1e9 / self._asked.per_second), 1, wait, holder)
        if self._keep(made):
            self._current[run.tid] = made

    def _keep(self, reading: Reading) -> bool:
        if len(self._readings) >= MOST_READINGS:
            self.told.lost += 1
            return False
        self._readings.append(reading)
        return True

    def _statement(self, one: Session, server: str) -> str:
        """The id of its statement, which is noted."""
        own = None if self._asked.exact else one.id
        known = self._texts.get(one.text) if own is None else self._ids.get(own)
        if known in self._statements:
            return str(known)
        text = normalised(one.text, mysql=self._mysql)
        # A server may not know its own id yet, as a run has just begun: then the text has one of ours from there on.
        ours, known = fingerprint(self._asked.server.kind, text), self._named.get(text)
        made = ours if known == ours else own or known or ours
        if own is not None and len(self._ids) < MOST_STATEMENTS:
            self._ids[own] = made
        if text in self._named or len(self._named) < MOST_STATEMENTS:
            self._named[text] = made
        if len(self._texts) < MOST_STATEMENTS:
            self._texts[one.text] = made
        if one.database is not None and len(self._databases) < MOST_DATABASES:
            self._databases.add(one.database)
        if len(self._statements) >= MOST_STATEMENTS:
            text, made = "others", "others"
        self._statements.setdefault(
            made,
            {
                "statement_id": made,
                "text": text,
                "whole_text": whole(one.text) if self._asked.text else None,
                "database": one.database,
                "server": server,
                "memory_bytes": self.memory_bytes,
            },
        )
        return made

    def shares(self) -> list[Share]:
        """What sessions did since this was last asked, by statement and what the server says of their waits; nothing of it is kept."""
        with self.lock:
            now = time.time_ns()
            read = [one for one in self._readings if one.run.backend != "iowhy"]
            found = self._short_runs.divided(read, round(1e9 / self._asked.per_second))
            self._readings = list(self._current.values())
            for one in self._readings:
                one.at_ns, one.span_ns, one.readings = now, 0, 0
            texts = {id_: str(self._statements[id_]["text"]) for id_, _ in found}
        return [(id_, texts[id_], wait, ns / 1e9) for (id_, wait), ns in found.items() if ns]

    def name_files(self) -> None:
        """Whose files are whose, as each database's catalogue says; of a server that lets nobody in, as the catalogue's files do."""
        if self._mysql:
            return
        if not self.told.reads:
            self.told.files = catalogue.objects(self._asked.server.pid, MOST_FILES)
            return
        for database in sorted(self._databases):
            with suppress(Exception):
                connection = self._connect(database)
                self.told.files += connection.files(self._asked.server.pid, MOST_FILES)

    def rows(self, ended_ns: int | None = None) -> Told:
        """All of it."""
        clock = time.monotonic_ns() - time.time_ns()
        self._silent_until(ended_ns or self._before_ns)
        self.told.statements = list(self._statements.values())
        self.told.readings = [_row(one, clock) for one in self._readings]
        return self.told


def _row(one: Reading, clock: int) -> dict[str, Any]:
    run = one.run
    return {
        "ts_ns": one.at_ns + clock,
        "span_ns": one.span_ns,
        "readings": one.readings,
        "tgid": run.tgid,
        "tid": run.tid,
        "leader_tid": run.leader,
        "backend": run.backend,
        "statement_id": run.statement,
        "began_ns": run.began_ns + clock,
        "ended_ns": None if run.ended_ns is None else run.ended_ns + clock,
        "exact": run.exact,
        "wait": one.wait,
        "holder_tid": one.holder,
    }


def _say_when(tried: threading.Event) -> None:
    """A blank, before the answer."""
    tried.wait()
    os.write(1, b" ")


def _tell_for_ever(sampler: Sampler, every_s: float) -> None:
    """Until nobody listens: whoever started it has ended."""
    with suppress(OSError):
        while not select.select([0], [], [], every_s)[0]:
            os.write(1, msgspec.json.encode(sampler.shares()) + b"\n")
    os._exit(0)


def main() -> None:
    """Reads until stdin ends."""
    asked = msgspec.json.decode(sys.stdin.buffer.readline(), type=Asked)
    sampler = Sampler(asked)
    threading.Thread(target=sampler.read_for_ever, daemon=True).start()
    if asked.every_s is not None:
        _tell_for_ever(sampler, asked.every_s)
    threading.Thread(target=_say_when, args=(sampler.tried,), daemon=True).start()
    sys.stdin.buffer.read()
    ended_ns = time.time_ns()
    naming = threading.Thread(target=sampler.name_files, daemon=True)
    naming.start()
    naming.join(CATALOGUE_S)
    with suppress(OSError):
        # A thread that hangs in the server holds no lock.
        with sampler.lock:
            data = msgspec.json.encode(sampler.rows(ended_ns))
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
