"""What levers do in the forked child, before it becomes the command: groups, CPUs, mounts, filters of calls."""

import ctypes
import os
import struct
from collections.abc import Callable, Sequence
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

InChild = Callable[[], None]


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
