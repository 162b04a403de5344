"""The journal of one session, and the replay of journals whose session is dead.

A journal is a file of JSON lines: a header that names its process, then one line per action
(written and fsynced before the action is done) and one per action undone. It is removed when
nothing is left to undo. A last line without its newline was cut while it was written, so its action
was never begun: it counts as absent. Any other line that this program would not have written is a
:class:`~iowhy.errors.Problem`, and nothing of that journal is undone.
"""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from iowhy.errors import Problem
from iowhy.undo import process
from iowhy.undo.kinds import KINDS, MARKER_FILE, Failed, Refused

_FORMAT = 1
_PATIENCE_S = 5.0
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


def state_directory() -> Path:
    """The private directory of journals, made if need be.

    ``$IOWHY_STATE``; else for root /var/lib/iowhy (it outlives a restart, so that copies are removed
    then) or /run/iowhy where that cannot be written; else ``$XDG_STATE_HOME/iowhy``.
    """
    named = os.environ.get("IOWHY_STATE")
    if named:
        candidates = [Path(named)]
    elif os.geteuid() == 0:
        candidates = [Path("/var/lib/iowhy"), Path("/run/iowhy")]
    else:
        home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local/state")
        candidates = [Path(home) / "iowhy"]
    why = ""
    for path in candidates:
        try:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
            found = path.lstat()
        except OSError as error:
            why = f"{path}: {error.strerror}"
            continue
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise Problem(
                f"{path} must be a directory of yours that nobody else can write to: what it holds "
                "is undone with your rights. Set IOWHY_STATE to another directory."
            )
        if os.access(path, os.W_OK):
            return path.resolve()
        why = f"{path}: not writable"
    raise Problem(f"no place for the undo journal ({why}): set IOWHY_STATE to a directory of yours")


@dataclass(frozen=True)
class _Journal:
    """A journal as read: its header and the entries that are still to be undone, oldest first."""

    path: Path
    header: dict[str, Any]
    pending: dict[int, dict[str, Any]]

    def alive(self) -> bool:
        same_boot = self.header["boot"] == process.boot_id()
        start = process.start_ticks(self.header["pid"])
        return same_boot and start is not None and start == int(self.header["start_ticks"])


def _parse(path: Path, text: str) -> _Journal | None:
    """Reads a journal; None when it was cut before its header was whole."""
    lines = text.split("\n")
    lines.pop()  # empty after a whole last line, else the line that was cut
    header: dict[str, Any] | None = None
    pending: dict[int, dict[str, Any]] = {}
    highest = 0
    for number, line in enumerate(lines, 1):

        def bad(why: str, number: int = number) -> Problem:
            return Problem(
                f"{path} line {number}: {why}. Nothing of this undo journal was carried out: look "
                "at what it names, put that back by hand, then delete the file."
            )

        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise bad("not JSON") from None
        if not isinstance(row, dict):
            raise bad("not a JSON object")
        if header is None:
            whole = all(type(row.get(key)) is int for key in ("iowhy_undo", "pid", "start_ticks"))
            if not whole or not isinstance(row.get("boot"), str):
                raise bad("not the header of an undo journal")
            if row["iowhy_undo"] != _FORMAT:
                raise bad(f"format {row['iowhy_undo']} of another version of iowhy")
            header = row
            continue
        if "undone" in row:
            if pending.pop(row["undone"] if type(row["undone"]) is int else -1, None) is None:
                raise bad("undoes an action that is not there")
            continue
        index, kind = row.get("n"), row.get("kind")
        if type(index) is not int or index <= highest:
            raise bad("an action without a rising number `n`")
        if not isinstance(kind, str) or kind not in KINDS:
            raise bad(f"unknown kind of action {kind!r}")
        try:
            KINDS[kind].check(row)
        except Refused as error:
            raise bad(str(error)) from None
        highest = index
        pending[index] = row
    return None if header is None else _Journal(path, header, pending)


@dataclass
class Undo:
    """The actions of one session that are still to be undone. Made by :meth:`session`."""

    path: Path
    _handle: int
    _pending: dict[int, dict[str, Any]] = field(default_factory=dict)
    _next: int = 1
    _owner: int = field(default_factory=os.getpid)

    @classmethod
    @contextmanager
    def session(cls, name: str) -> Iterator["Undo"]:
        """Opens a journal and undoes all of it on the way out, signals included.

        While the session is open SIGTERM, SIGHUP and SIGQUIT raise SystemExit(128 + signal) in the
        main thread; while it undoes, signals wait. Raises Problem when something could not be
        undone (and nothing else went wrong: else it says so on stderr).
        """
        undo = cls._open(name)
        old = _catch_signals()
        try:
            yield undo
        finally:
            failed_before = sys.exc_info()[0] is not None
            # A forked child that leaves by an exception must not undo its parent's work.
            if os.getpid() == undo._owner:
                waiting = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
                try:
                    problems = undo._close()
                finally:
                    for number, handler in old.items():
                        signal.signal(number, handler)
                    signal.pthread_sigmask(signal.SIG_SETMASK, waiting)
                if problems:
                    message = _left(undo.path, problems)
                    if not failed_before:
                        raise Problem(message)
                    print(f"iowhy: {message}", file=sys.stderr)

    @classmethod
    def _open(cls, name: str) -> "Undo":
        path = state_directory() / f"{name}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            handle = os.open(path, flags, 0o600)
        except OSError as error:
            raise Problem(
                f"{path}: {error.strerror}: no undo journal, so nothing is changed"
            ) from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        undo = cls(path, handle)
        undo._write(
            {
                "iowhy_undo": _FORMAT,
                "session": name,
                "pid": os.getpid(),
                "start_ticks": process.start_ticks(os.getpid()),
                "boot": process.boot_id(),
            }
        )
        return undo

    # -- what will be done: each returns the action's number ------------------------------------

    def umount(self, path: str | os.PathLike[str]) -> int:
        """A filesystem is about to be mounted on ``path``."""
        return self._add("umount", path=_absolute(path))

    def remount(self, path: str | os.PathLike[str], option: str) -> int:
        """A filesystem in a directory of ours is about to be remounted; ``option`` puts it back."""
        return self._add("remount", path=_absolute(path), option=option)

    def losetup_detach(self, backing: str | os.PathLike[str]) -> int:
        """A loop device is about to be set up on the file or device ``backing``."""
        return self._add("losetup-detach", backing=os.path.realpath(backing))

    def kill_process(self, pid: int) -> int:
        """``pid`` runs and is to be killed, it and never a later process of the same number."""
        start = process.start_ticks(pid)
        return self._add("kill-process", pid=pid, start_ticks=0 if start is None else start)

    def kill_marked(self, mark: str | None = None) -> tuple[int, str]:
        """Processes with ``IOWHY_MARK=mark`` in their environment are about to start.

        Returns the action and the mark (made up when none is given, 32 hexadecimal digits).
        """
        mark = mark or secrets.token_hex(16)
        return self._add("kill-marked", mark=mark, after_ticks=process.now_ticks()), mark

    def rmdir_cgroup(self, path: str | os.PathLike[str]) -> int:
        """A control group (its name begins with ``iowhy``) is about to be made.

        Its tasks are moved to its parent before it is removed.
        """
        return self._add("rmdir-cgroup", path=_absolute(path))

    def write_file(self, path: str | os.PathLike[str], old: str | None = None) -> int:
        """A kernel knob below /sys or /proc is about to be written; ``old`` if not its content."""
        if old is None:
            try:
                old = Path(path).read_text()
            except OSError as error:
                raise Problem(f"{path}: {error.strerror}: it cannot be put back later") from None
        return self._add("write-file", path=_absolute(path), old=old)

    def affinity(self, pid: int) -> int:
        """The CPU affinity of the running process ``pid`` is about to change."""
        return self._add(
            "affinity",
            pid=pid,
            start_ticks=process.start_ticks(pid) or 0,
            cpus=sorted(os.sched_getaffinity(pid)),
        )

    def scratch_directory(self, parent: str | os.PathLike[str], name: str = "iowhy") -> Path:
        """Makes and returns a directory of ours below ``parent`` that is removed in the end."""
        token = secrets.token_hex(16)
        path = Path(os.path.realpath(parent)) / f"{name}-{token[:12]}"
        self._add("remove-tree", path=str(path), token=token)
        try:
            path.mkdir(mode=0o700)
            (path / MARKER_FILE).write_text(token)
        except OSError as error:
            raise Problem(f"{path}: {error.strerror}") from None
        return path

    # -- undoing --------------------------------------------------------------------------------

    def now(self, action: int) -> None:
        """Undoes one action now. Raises Problem when it cannot; the session will try again."""
        row = self._pending.get(action)
        if row is None:
            return
        try:
            KINDS[row["kind"]].undo(row)
        except (Failed, OSError) as error:
            raise Problem(f"could not undo: {error}") from None
        del self._pending[action]
        self._write({"undone": action})

    @contextmanager
    def scope(self) -> Iterator[None]:
        """Undoes, in reverse, what is journalled inside it when it ends."""
        first = self._next
        try:
            yield
        finally:
            for action in sorted((n for n in self._pending if n >= first), reverse=True):
                self.now(action)

    def _add(self, kind: str, **values: Any) -> int:
        row = {"n": self._next, "kind": kind, **values}
        try:
            KINDS[kind].check(row)
        except Refused as error:
            raise Problem(f"{kind}: {error}") from None
        # Pending before written: a signal in between undoes an action not done, which is harmless.
        self._pending[self._next] = row
        self._next += 1
        self._write(row)
        return self._next - 1

    def _write(self, row: dict[str, Any]) -> None:
        data = (json.dumps(row) + "\n").encode()
        before = os.fstat(self._handle).st_size
        try:
            if os.write(self._handle, data) != len(data):
                raise OSError(28, "no space left")
            os.fsync(self._handle)
        except OSError as error:
            os.ftruncate(self._handle, before)
            raise Problem(f"{self.path}: {error.strerror}: nothing was changed") from None

    def _close(self) -> list[str]:
        def note(row: dict[str, Any]) -> None:
            with contextlib.suppress(Problem):  # a full disk: undoing twice does no harm
                self._write(row)

        problems = _undo_all(self._pending, note)
        if not self._pending:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)
        return problems


def recover() -> list[str]:
    """Undoes what dead sessions left; returns one line per action undone.

    Raises Problem when a journal cannot be trusted or something could not be undone, after all
    other journals have been tried.
    """
    done: list[str] = []
    problems: list[str] = []
    for path in sorted(state_directory().glob("*.jsonl")):
        try:
            done += _replay(path)
        except Problem as problem:
            problems.append(str(problem))
    if problems:
        raise Problem("\n".join(problems))
    return done


def _replay(path: Path) -> list[str]:
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return []  # another recovery was quicker
    except OSError as error:
        raise Problem(f"{path}: {error.strerror}") from None
    try:
        if not _locked(handle, path):
            return []
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
            raise Problem(f"{path} line 1: not a journal of yours alone; delete it")
        if found.st_size > 16 << 20:
            raise Problem(f"{path} line 1: larger than any undo journal; delete it")
        data = os.pread(handle, found.st_size, 0)
        journal = _parse(path, data.decode(errors="replace"))
        if journal is not None and journal.alive():
            return []
        done: list[str] = []
        if journal is not None:
            os.ftruncate(handle, data.rfind(b"\n") + 1)  # the cut line
            if journal.header["boot"] != process.boot_id():
                # Mounts, groups and processes ended with that boot: only what is on disk is left.
                for index in [
                    n for n, row in journal.pending.items() if not KINDS[row["kind"]].survives_boot
                ]:
                    del journal.pending[index]

            def note(row: dict[str, Any]) -> None:
                with contextlib.suppress(OSError):  # undoing twice does no harm
                    os.write(handle, (json.dumps(row) + "\n").encode())
                done.append(f"{path.name}: undid action {row['undone']}")

            problems = _undo_all(journal.pending, note)
            if problems:
                raise Problem(_left(path, problems))
        path.unlink(missing_ok=True)
        return done
    finally:
        os.close(handle)


def _locked(handle: int, path: Path) -> bool:
    """Takes the lock of a journal; False when a living session or another recovery has it.

    A child that the session was about to start may hold it for a moment beyond the session's death.
    """
    end = time.monotonic() + _PATIENCE_S
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            text = os.pread(handle, 4096, 0).decode(errors="replace").split("\n")[0] + "\n"
            journal = _parse(path, text)
            if journal is None or journal.alive() or time.monotonic() > end:
                return False
            time.sleep(0.01)
        else:
            return True


def _undo_all(
    pending: dict[int, dict[str, Any]], note: Callable[[dict[str, Any]], None]
) -> list[str]:
    """Undoes in reverse, going on after a failure; returns what could not be undone."""
    problems = []
    for action in sorted(pending, reverse=True):
        row = pending[action]
        try:
            KINDS[row["kind"]].undo(row)
        except (Failed, OSError) as error:
            problems.append(str(error))
            continue
        del pending[action]
        note({"undone": action})
    return problems


def _left(path: Path, problems: list[str]) -> str:
    return (
        f"could not undo everything: {'; '.join(problems)}. The next start tries again "
        f"(journal {path})."
    )


def _absolute(path: str | os.PathLike[str]) -> str:
    # The mount point or group need not exist yet, but its parent's links are resolved.
    plain = Path(os.path.normpath(Path(path).absolute()))
    return str(Path(os.path.realpath(plain.parent)) / plain.name)


def _catch_signals() -> dict[int, Any]:
    def leave(number: int, _frame: FrameType | None) -> None:
        raise SystemExit(128 + number)

    old: dict[int, Any] = {}
    try:
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
            if signal.getsignal(number) is not signal.SIG_IGN:
                old[number] = signal.signal(number, leave)
    except ValueError:
        pass  # not the main thread: its owner decides about signals
    return old
