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
import struct
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from iowhy.errors import Problem
from iowhy.undo import MARK_VARIABLE, Undo

_PR_SET_PDEATHSIG = 1  # include/uapi/linux/prctl.h
_OUTPUT_LIMIT = 16 << 20
_WATCH_S = 0.01
_libc = ctypes.CDLL(None, use_errno=True)

InChild = Callable[[], None]


@dataclass(frozen=True)
class Place:
    """Where and how a command runs: ``in_child`` is called in the forked child, in order."""

    directory: Path
    in_child: tuple[InChild, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Ended:
    """How one command ended; times in seconds, ``status`` as a shell gives it, None if timed out.

    ``peak_rss_bytes`` is None where it is below what this process, which it was forked from, had.
    """

    wall_s: float
    user_s: float
    system_s: float
    status: int | None
    peak_rss_bytes: int | None
    read_bytes: int
    written_bytes: int
    output: str = field(default="", repr=False)


def words(command: Sequence[str]) -> list[str]:
    """The argument vector of a command: one word with blanks in it is a line for the shell."""
    if len(command) == 1 and any(c in command[0] for c in " \t\n;|&<>$`()"):
        return ["sh", "-c", command[0]]
    return list(command)


def shown(command: Sequence[str]) -> str:
    """A command as a person would type it."""
    return command[0] if len(command) == 1 else shlex.join(command)


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

    ``watch`` is called every few milliseconds meanwhile. With ``leave_children`` that waits until the undo's end (a --setup may start a server). Raises
    Problem when it cannot be started. After ``timeout_s`` it is killed, with ``status`` None.
    """
    argv = words(command)
    action, mark = undo.kill_marked()
    output = os.memfd_create("iowhy-output", os.MFD_CLOEXEC) if capture else -1
    ready_read, ready_write = os.pipe2(os.O_CLOEXEC)
    gate_read, gate_write = os.pipe2(os.O_CLOEXEC)
    parent = os.getpid()
    with warnings.catch_warnings():
        # Python 3.12 warns of other threads' locks; the child calls little and soon is another program.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        _child(
            argv, place, mark, parent, ready_write, gate_read, gate_write, output, show, input_file
        )
    reaped = False
    try:
        os.close(ready_write)
        ready_write = -1
        message = os.read(ready_read, 65536)
        if not message.startswith(b"ready "):
            raise Problem(
                f"{shown(command)}: {message.decode(errors='replace') or 'did not start'}"
            )
        began = time.monotonic_ns()
        os.write(gate_write, b"g")
        failure = os.read(ready_read, 65536)  # empty once exec has closed the other end
        if failure:
            raise Problem(f"{shown(command)}: {failure.decode(errors='replace')}")
        timed_out = not _wait(child, began, timeout_s, watch)
        if timed_out:
            _kill_group(child)
        _, status, usage = os.wait4(child, 0)
        ended = time.monotonic_ns()
        reaped = True
        text = _read_back(output) if capture else ""
    finally:
        for handle in (ready_read, ready_write, gate_read, gate_write, output):
            if handle >= 0:
                os.close(handle)
        if not reaped:
            _kill_group(child)
            os.waitpid(child, 0)
        if not leave_children:
            undo.now(action)
    code = os.waitstatus_to_exitcode(status)
    _, user_before, system_before, rss_before = message.split()
    return Ended(
        wall_s=(ended - began) / 1e9,
        user_s=max(0.0, usage.ru_utime - float(user_before)),
        system_s=max(0.0, usage.ru_stime - float(system_before)),
        status=None if timed_out else (code if code >= 0 else 128 - code),
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
    ready: int,
    gate: int,
    gate_other_end: int,
    output: int,
    show: bool,
    input_file: Path | None,
) -> NoReturn:
    """Never returns: ends in exec, or in the message of what went wrong."""
    try:
        # The gate must read end-of-file when the parent dies.
        os.close(gate_other_end)
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        os.setpgid(0, 0)
        for number in range(1, signal.NSIG):
            if signal.getsignal(number) not in (signal.SIG_DFL, None):
                signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        null = os.open(input_file or "/dev/null", os.O_RDONLY)
        os.dup2(null, 0)
        if output >= 0:
            os.dup2(output, 1)
            os.dup2(output, 2)
        elif not show:
            sink = os.open("/dev/null", os.O_WRONLY)
            os.dup2(sink, 1)
            os.dup2(sink, 2)
        os.chdir(place.directory)
        environment = {**os.environ, **dict(place.environment), MARK_VARIABLE: mark}
        environment["PWD"] = str(place.directory)
        for hook in place.in_child:
            hook()
        spent = resource.getrusage(resource.RUSAGE_SELF)
        os.write(ready, f"ready {spent.ru_utime} {spent.ru_stime} {spent.ru_maxrss}".encode())
        if os.read(gate, 1) != b"g":
            os._exit(1)
        try:
            os.execvpe(argv[0], argv, environment)
        except (FileNotFoundError, NotADirectoryError):
            os.write(ready, b"no such command")
    except OSError as error:
        os.write(ready, f"cannot be started: {error.strerror or error}".encode(errors="replace"))
    except BaseException:
        os.write(ready, traceback.format_exc(limit=-2)[-4000:].encode(errors="replace"))
    os._exit(127)


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


# -- what levers do inside the child ---------------------------------------------------------------


def enter_group(procs_file: Path) -> InChild:
    """Moves the child into a control group."""

    def hook() -> None:
        procs_file.write_text("0")

    return hook


def bind_cpus(cpus: Sequence[int]) -> InChild:
    """Binds the child to these CPUs."""

    def hook() -> None:
        os.sched_setaffinity(0, cpus)

    return hook


def mount_over(copy: Path, original: Path) -> InChild:
    """Shows ``copy`` in place of ``original`` to the child and its descendants alone (needs root).

    The mount lives in a namespace of the child's own and ends with it: nothing has to be undone.
    """
    clone_newns, rec_private, bind = 0x20000, 0x44000, 4096  # sched.h; mount(2)

    def hook() -> None:
        inside = Path(os.path.relpath(Path.cwd(), original))
        for call, arguments in (
            (_libc.unshare, (clone_newns,)),
            (_libc.mount, (b"none", b"/", None, ctypes.c_ulong(rec_private), None)),
            (
                _libc.mount,
                (os.fsencode(copy), os.fsencode(original), None, ctypes.c_ulong(bind), None),
            ),
        ):
            if call(*arguments) != 0:
                code = ctypes.get_errno()
                raise OSError(code, f"mounting a copy over {original}: {os.strerror(code)}")
        # A working directory is kept across a mount on top of it: enter it anew.
        os.chdir(original / inside)

    return hook


class _Program(ctypes.Structure):
    _fields_ = (("len", ctypes.c_ushort), ("filter", ctypes.c_void_p))


# System-call numbers from the kernel's tables (arch/x86/entry/syscalls/syscall_64.tbl and
# include/uapi/asm-generic/unistd.h): sync, fsync, fdatasync, msync, sync_file_range, syncfs.
_SYNC_CALLS = {
    "x86_64": (0xC000003E, (162, 74, 75, 26, 277, 306)),
    "aarch64": (0xC00000B7, (81, 82, 83, 227, 84, 267)),
}


def sync_filter_refusal() -> str | None:
    """Why :func:`ignore_syncs` cannot work here, or None."""
    machine = os.uname().machine
    if machine not in _SYNC_CALLS:
        return f"the numbers of the sync calls on {machine} are not known"
    if struct.calcsize("P") != 8:
        return "this Python is not a 64-bit program"
    return None


def ignore_syncs() -> InChild:
    """Makes every sync-like system call of the child and its descendants return 0 at once.

    By a seccomp filter (seccomp(2)) that answers with errno 0, so that any program obeys, static ones
    too. Durability by open flags (O_SYNC), io_uring and libaio is not touched.
    """
    architecture, calls = _SYNC_CALLS[os.uname().machine]
    load, jump_equal, jump_not_less, answer = 0x20, 0x15, 0x35, 0x06
    allow, succeed = 0x7FFF0000, 0x00050000
    code: list[tuple[int, int, int, int]] = [
        (load, 0, 0, 4),  # seccomp_data.arch
        (jump_equal, 1, 0, architecture),
        (answer, 0, 0, allow),
        (load, 0, 0, 0),  # seccomp_data.nr
    ]
    if os.uname().machine == "x86_64":
        # The x32 ABI has the same arch and this bit set in the number.
        code.append((jump_not_less, len(calls), 0, 0x40000000))
    for index, number in enumerate(calls):
        code.append((jump_equal, len(calls) - index, 0, number))
    code.append((answer, 0, 0, allow))
    code.append((answer, 0, 0, succeed))
    text = b"".join(struct.pack("=HBBI", *line) for line in code)
    buffer = ctypes.create_string_buffer(text, len(text))
    program = _Program(len(code), ctypes.cast(buffer, ctypes.c_void_p))

    def hook() -> None:
        pr_set_seccomp, mode_filter, pr_set_no_new_privs = 22, 2, 38
        if os.geteuid() != 0:
            _libc.prctl(pr_set_no_new_privs, 1, 0, 0, 0)
        if _libc.prctl(pr_set_seccomp, mode_filter, ctypes.byref(program), 0, 0) != 0:
            number = ctypes.get_errno()
            raise OSError(number, f"seccomp: {os.strerror(number)}")
        _ = buffer  # the filter's memory must live until here

    return hook
