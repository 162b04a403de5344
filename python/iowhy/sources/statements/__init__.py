"""What a database's sessions do while they are recorded: read by a process for each server, which may hang, and hold nothing up.

The DSN goes to that process by a pipe: no list of processes shows it, and no answer of it has it.
"""

import select
import subprocess
import sys
from collections.abc import Container, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TypeAlias

import msgspec
from msgspec import Struct

from iowhy.errors import Problem
from iowhy.sources.statements.sampler import MOST_READINGS, Asked, Told
from iowhy.sources.statements.server import Server, servers
from iowhy.units import duration

#: At the end, what a process has to answer; one that does not is killed.
ANSWER_S = 10.0
#: From it on, a time without a reading is noted.
SILENT_NS = 1e9
Row: TypeAlias = Mapping[str, object]


#: How long the recorder may wait for the first reading.
READY_S = 5.0


class Statements(Struct, frozen=True):
    """Rows by table, what was lost of them, and what the manifest says of it."""

    rows: dict[str, list[Row]]
    lost: dict[str, int]
    notes: tuple[str, ...]


class Sampling:
    """Servers that are read from now on, until `ended`."""

    def __init__(self, pids: Sequence[int], dsn: str, *, text: bool, exact: bool = False) -> None:
        """Of some processes, or of the machine without any. Raises Problem if no server is found, or the DSN has a password."""
        found = servers(pids or None)
        if not found:
            raise Problem("statements-no-server", pids=", ".join(map(str, pids)) or "this machine")
        _check(dsn, found)
        self._asked = [Asked(one, dsn, text, exact) for one in found]
        self._processes = [started(one) for one in self._asked]
        for one in self._processes:
            _first_reading(one)

    def __enter__(self) -> "Sampling":
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            if process.poll() is None:
                process.kill()
                process.wait()

    @property
    def processes(self) -> tuple[int, ...]:
        """Those that read, one for each server."""
        return tuple(one.pid for one in self._processes)

    def readable(self) -> tuple[tuple[str, str | None], ...]:
        """Each server, and why it cannot be read, if so."""
        told = [
            (one.server, _answer(of)) for one, of in zip(self._asked, self._processes, strict=True)
        ]
        return tuple(
            (f"{one.kind} ({one.pid}, {one.socket})", _why_not(answer)) for one, answer in told
        )

    def ended(self, recorded: Container[int] | None = None) -> Statements:
        """All that was read, of servers among processes if these are given."""
        told = [
            (one, _answer(process))
            for one, process in zip(self._asked, self._processes, strict=True)
        ]
        return merged(
            (one, answer) for one, answer in told if recorded is None or one.server.pid in recorded
        )


def readable() -> tuple[tuple[str, str | None], ...]:
    """The servers of this machine, each with why its sessions cannot be read as `--statements` does; None: they can."""
    found = servers(None)
    if not found:
        return ()
    with Sampling((), "", text=False) as sampling:
        return sampling.readable()


def _check(dsn: str, found: Sequence[Server]) -> None:
    if not dsn:
        return
    from iowhy.sources.statements import mysql, postgresql

    kinds = {one.kind for one in found}
    unreadable = {"postgresql": postgresql.unreadable, "mysql": mysql.unreadable}
    try:
        if all(unreadable[kind](dsn) for kind in kinds):
            raise Problem("statements-dsn")
    except ImportError:
        raise Problem("statements-extra") from None


def started(asked: Asked) -> subprocess.Popen[bytes]:
    """The process that reads a server."""
    process = subprocess.Popen(
        [sys.executable, "-m", "iowhy.sources.statements.sampler"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        bufsize=0,
        start_new_session=True,
    )
    assert process.stdin is not None
    process.stdin.write(msgspec.json.encode(asked) + b"\n")
    return process


def _first_reading(process: subprocess.Popen[bytes]) -> None:
    """Waits a while until it has read its server once, or could not."""
    assert process.stdout is not None
    if select.select([process.stdout], [], [], READY_S)[0]:
        process.stdout.read(1)


def _answer(process: subprocess.Popen[bytes]) -> Told | None:
    """What it read; None if it does not answer."""
    try:
        answered, _ = process.communicate(timeout=ANSWER_S)
        return msgspec.json.decode(answered, type=Told)
    except (subprocess.TimeoutExpired, msgspec.DecodeError, OSError):
        process.kill()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1)
        return None


def _why_not(told: Told | None) -> str | None:
    if told is not None and told.reads:
        return None
    return "it did not answer" if told is None or told.error is None else told.error


def merged(answers: Iterable[tuple[Asked, Told | None]]) -> Statements:
    """What all servers' processes answered, as rows: their times on the clock of recordings."""
    readings: list[Row] = []
    known: dict[str, Row] = {}
    files: list[Row] = []
    notes: list[str] = []
    lost = 0
    for asked, told in answers:
        why = _why_not(told)
        files += [] if told is None else told.files
        if told is None or why is not None:
            notes.append(f"statements of the server {asked.server.pid} are not known: {why}")
            continue
        if told.failed:
            notes.append(
                f"statements of the server {asked.server.pid} were not read all the time: {told.error}"
            )
        elif told.silent_ns >= SILENT_NS:
            notes.append(
                f"statements of the server {asked.server.pid} were not read for {duration(told.silent_ns)}: it did not answer"
            )
        known |= {str(one["statement_id"]): one for one in told.statements}
        readings += told.readings
        lost += told.lost
    kept = readings[:MOST_READINGS]
    rows = {"statement_readings": kept, "statements": list(known.values()), "database_files": files}
    return Statements(
        {name: made for name, made in rows.items() if made},
        {"statement_readings": lost + len(readings) - len(kept)},
        tuple(notes),
    )
