"""A session that changes the machine: its journal is written before each change, and undone on every way out."""

import contextlib
import fcntl
import json
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.undo import process
from iowhy.undo.journal import FORMAT, left_over, state_directory, undo_all
from iowhy.undo.kinds import KINDS
from iowhy.undo.kinds.entry import Failed, Refused
from iowhy.undo.kinds.trees import mark

#: Waits for what a session says when it ends; where it was killed, undoes what it left.
_GUARD = ("sh", "-c", 'read -r _ || exec "$@"', "sh", sys.executable, "-m", "iowhy", "lab", "clean")
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Undo(Struct):
    """The actions of one session that are still to be undone. Made by :meth:`session`."""

    path: Path
    _handle: int
    _pending: dict[int, dict[str, Any]] = field(default_factory=dict)
    _next: int = 1
    _owner: int = field(default_factory=os.getpid)
    _guard: "subprocess.Popen[bytes] | None" = None

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
                    message = left_over(undo.path, problems)
                    if not failed_before:
                        raise Problem("not-undone", problems=message)
                    say(message)

    @classmethod
    def _open(cls, name: str) -> "Undo":
        path = state_directory() / f"{name}-{os.getpid()}-{secrets.token_hex(4)}.jsonl"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            handle = os.open(path, flags, 0o600)
        except OSError as error:
            raise Problem("no-undo-journal", path=path, error=error.strerror) from None
        fcntl.flock(handle, fcntl.LOCK_EX)
        undo = cls(path, handle, _guard=_guarded())
        undo._write(
            {
                "iowhy_undo": FORMAT,
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
                raise Problem("knob-unreadable", path=path, error=error.strerror) from None
        return self._add("write-file", path=_absolute(path), old=old)

    def scratch_directory(self, parent: str | os.PathLike[str], name: str = "iowhy") -> Path:
        """Makes and returns a directory of ours below ``parent`` that is removed in the end."""
        token = secrets.token_hex(16)
        path = Path(os.path.realpath(parent)) / f"{name}-{token[:12]}"
        self._add("remove-tree", path=str(path), token=token)
        try:
            path.mkdir(mode=0o700)
            mark(path, token)
        except OSError as error:
            raise Problem("path-error", path=path, error=error.strerror) from None
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
            raise Problem("could-not-undo", error=error) from None
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
            raise Problem("undo-step-failed", kind=kind, error=error) from None
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
            raise Problem("nothing-was-changed", path=self.path, error=error.strerror) from None

    def _close(self) -> list[str]:
        def note(row: dict[str, Any]) -> None:
            with contextlib.suppress(Problem):  # a full disk: undoing twice does no harm
                self._write(row)

        problems = undo_all(self._pending, note)
        if not self._pending:
            self.path.unlink(missing_ok=True)
        os.close(self._handle)
        if self._guard is not None:
            with contextlib.suppress(OSError):  # it was killed
                self._guard.communicate(b"ended\n")
        return problems


def _guarded() -> "subprocess.Popen[bytes] | None":
    with contextlib.suppress(OSError):  # then the next start undoes what a killed session left
        return subprocess.Popen(
            _GUARD,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )
    return None


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
