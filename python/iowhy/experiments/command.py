"""Runs one command of a trial: held at a gate until all is set, then timed to its end.

The child is forked, does what the levers want done inside it (enter a control group, bind CPUs, filter
system calls, mount in its own namespace), reports ready and waits. Only then is the clock started and
the gate opened, so neither the fork nor a lever's set-up is in the measured time. It dies with its
parent, and all its descendants carry a mark by which they are found and killed.
"""

import ctypes
import os
import resource
import select
import shlex
import signal
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import NoReturn

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.experiments.in_child import InChild
from iowhy.invocation import IGNORED_VARIABLE
from iowhy.undo import MARK_VARIABLE, Undo
from iowhy.users import User

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_OUTPUT_LIMIT = 16 << 20
_WATCH_S = 0.01
_libc = ctypes.CDLL(None, use_errno=True)


class Place(Struct, frozen=True):
    """Where and how a command runs: ``in_child`` is called in the forked child, in order; then it is ``user``'s."""

    directory: Path
    in_child: tuple[InChild, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    user: User | None = None


class Ended(Struct, frozen=True):
    """How one command ended; times in seconds, ``status`` as a shell gives it, None if timed out.

    ``peak_rss_bytes`` is None if it is below what this process, which it was forked from, had.
    """

    wall_s: float
    user_s: float
    system_s: float
    status: int | None
    peak_rss_bytes: int | None
    read_bytes: int
    written_bytes: int
    output: str = ""


def words(command: Sequence[str]) -> list[str]:
    """The argument vector of a command: one word with blanks in it is a line for the shell."""
    if len(command) == 1 and any(c in command[0] for c in " \t\n;|&<>$`()"):
        return ["sh", "-c", command[0]]
    return list(command)


def shown(command: Sequence[str]) -> str:
    """A command as a person would type it."""
    return command[0] if len(command) == 1 else shlex.join(command)


class _Pipes(Struct):
    """Between a command and its maker: `ready` says that it is set up, `gate` lets it begin."""

    ready_read: int
    ready_write: int
    gate_read: int
    gate_write: int
    output: int

    @classmethod
    def open(cls, capture: bool) -> "_Pipes":
        output = os.memfd_create("iowhy-output", os.MFD_CLOEXEC) if capture else -1
        return cls(*os.pipe2(os.O_CLOEXEC), *os.pipe2(os.O_CLOEXEC), output)

    def close(self) -> None:
        for handle in (
            self.ready_read, self.ready_write, self.gate_read, self.gate_write, self.output,
        ):  # fmt: skip
            if handle >= 0:
                os.close(handle)


def run(
    command: Sequence[str],
    place: Place,
    undo: Undo,
    *,
    timeout_s: float | None = None,
    capture: bool = False,
    show: bool = False,
    input_file: Path | None = None,
    leave_children: bool = False,
    watch: Callable[[], None] | None = None,
) -> Ended:
    """Runs a command to its end and kills whatever it left running.

    ``watch`` is called every few milliseconds until then. With ``leave_children`` that waits until the undo's end (a --setup may start a server). Raises
    Problem when it cannot be started. After ``timeout_s`` it is killed, with ``status`` None.
    """
    argv = words(command)
    action, mark = undo.kill_marked()
    pipes = _Pipes.open(capture)
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns of other threads' locks; the child calls little and soon is another program.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _child(argv, place, mark, parent, pipes, show, input_file)
    reaped = False
    try:
        before, began_ns = _begin(command, pipes)
        timed_out = not _wait(child, began_ns, timeout_s, watch)
        if timed_out:
            _kill_group(child)
        _, status, usage = os.wait4(child, 0)
        ended_ns = time.monotonic_ns()
        reaped = True
        text = _read_back(pipes.output) if capture else ""
    finally:
        pipes.close()
        if not reaped:
            _kill_group(child)
            os.waitpid(child, 0)
        if not leave_children:
            undo.now(action)
    wall_s = (ended_ns - began_ns) / 1e9
    return _ended(wall_s, None if timed_out else status, usage, before, text)


def _begin(command: Sequence[str], pipes: _Pipes) -> tuple[bytes, int]:
    """Waits until the child is set up and lets it begin: what it had used until then, and when it began."""
    os.close(pipes.ready_write)
    pipes.ready_write = -1
    message = os.read(pipes.ready_read, 65536)
    if not message.startswith(b"ready "):
        raise Problem(
            "command-message",
            command=shown(command),
            message=message.decode(errors="replace") or "did not start",
        )
    began_ns = time.monotonic_ns()
    os.write(pipes.gate_write, b"g")
    failure = os.read(pipes.ready_read, 65536)  # empty once exec has closed the other end
    if failure:
        raise Problem(
            "command-not-started", command=shown(command), failure=failure.decode(errors="replace")
        )
    return message, began_ns


def _ended(
    wall_s: float, status: int | None, usage: resource.struct_rusage, before: bytes, text: str
) -> Ended:
    code = None if status is None else os.waitstatus_to_exitcode(status)
    _, user_before, system_before, rss_before = before.split()
    return Ended(
        wall_s=wall_s,
        user_s=max(0.0, usage.ru_utime - float(user_before)),
        system_s=max(0.0, usage.ru_stime - float(system_before)),
        status=code if code is None or code >= 0 else 128 - code,
        peak_rss_bytes=usage.ru_maxrss * 1024 if usage.ru_maxrss > int(rss_before) else None,
        read_bytes=usage.ru_inblock * 512,
        written_bytes=usage.ru_oublock * 512,
        output=text,
    )


def _child(
    argv: list[str],
    place: Place,
    mark: str,
    parent: int,
    pipes: _Pipes,
    show: bool,
    input_file: Path | None,
) -> NoReturn:
    """Never returns: ends in exec, or in the message of what went wrong."""
    ready = pipes.ready_write
    try:
        # The gate must read end-of-file when the parent dies.
        os.close(pipes.gate_write)
        _die_with(parent)
        os.setpgid(0, 0)
        for number in range(1, signal.NSIG):
            if signal.getsignal(number) not in (signal.SIG_DFL, None):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        _streams(pipes.output, show, input_file, place.user)
        os.chdir(place.directory)
        environment = {**os.environ, **dict(place.environment), MARK_VARIABLE: mark}
        environment["PWD"] = str(place.directory)
        environment.pop(IGNORED_VARIABLE, None)
        for hook in place.in_child:
            hook()
        if place.user is not None:
            # Levers are applied with root's rights; the command never has them.
            place.user.become()
            environment |= place.user.environment
            _die_with(parent)  # a change of user takes the signal back
        spent = resource.getrusage(resource.RUSAGE_SELF)
        os.write(ready, f"ready {spent.ru_utime} {spent.ru_stime} {spent.ru_maxrss}".encode())
        if os.read(pipes.gate_read, 1) != b"g":
            os._exit(1)
        try:
            os.execvpe(argv[0], argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            os.write(ready, b"command not found; check its name, or give its path")
    except OSError as error:
        os.write(ready, f"cannot be started: {error.strerror or error}".encode(errors="replace"))
    except BaseException:
        os.write(ready, traceback.format_exc(limit=-2)[-4000:].encode(errors="replace"))
    os._exit(127)


def _die_with(parent: int) -> None:
    _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(1)


def _streams(output: int, show: bool, input_file: Path | None, user: User | None) -> None:
    """stdin from a file that the user may read, stdout and stderr kept, shown or dropped."""
    with nullcontext() if user is None else user.acting():
        null = os.open(input_file or "/dev/null", os.O_RDONLY)
    os.dup2(null, 0)
    if output >= 0:
        os.dup2(output, 1)
        os.dup2(output, 2)
    elif not show:
        sink = os.open("/dev/null", os.O_WRONLY)
        os.dup2(sink, 1)
        os.dup2(sink, 2)


def _wait(
    child: int, began_ns: int, timeout_s: float | None, watch: Callable[[], None] | None
) -> bool:
    """True once the child has ended, False when the time is over."""
    handle = os.pidfd_open(child)
    try:
        while True:
            left = None
            if timeout_s is not None:
                left = max(0.0, timeout_s - (time.monotonic_ns() - began_ns) / 1e9)
            tick = left if watch is None else min(_WATCH_S, _WATCH_S if left is None else left)
            if select.select([handle], [], [], tick)[0]:
                return True
            if watch is not None:
                watch()
            if left is not None and left <= (tick or 0):
                return False
    finally:
        os.close(handle)


def _kill_group(child: int) -> None:
    # The child is not reaped yet, so neither its number nor its group's can be another's.
    try:
        os.killpg(child, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        try:
            os.kill(child, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            return


def _read_back(handle: int) -> str:
    size = os.fstat(handle).st_size
    start = max(0, size - _OUTPUT_LIMIT)
    parts = []
    while start < size:
        part = os.pread(handle, min(1 << 20, size - start), start)
        if not part:
            break
        parts.append(part)
        start += len(part)
    return b"".join(parts).decode(errors="replace")
