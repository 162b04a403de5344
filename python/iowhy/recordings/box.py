"""What others made is read in a process that can do nothing else (landlock(7), seccomp(2)).

A recording is hostile input: whatever a damaged file made of DuckDB, Arrow or a parser, it reaches no network, starts no program,
signals nobody, and writes only where its command writes. A command enters before it reads, as long as it has one thread. Only a process
that is iowhy's own enters (`own`): who imports iowhy keeps its rights.
"""

import os
import resource
import stat
import struct
import sys
from collections.abc import Collection
from pathlib import Path

from msgspec import Struct

#: The most that a reader's own memory may grow to, next to what queries may take.
MOST_DATA_BYTES = 4 << 30

#: prctl(2), seccomp(2), landlock(7): numbers of the kernel's interface, of calls the same on all machines.
_NO_NEW_PRIVS = 38
_FILTER, _ALL_THREADS = 1, 1
_CREATE, _ADD_RULE, _RESTRICT = 444, 445, 446
_VERSION, _BENEATH = 1, 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _REMOVE_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 4
#: What may be done to files by the version of Landlock that knows it: bits from the first on.
_FILE_BITS = {1: 13, 2: 14, 3: 15, 5: 16}
_NET, _NET_FROM = 0b11, 4
_SCOPES, _SCOPES_FROM = 0b11, 6
_OF_A_FILE = _WRITE_FILE | 1 << 14

#: Calls that a reader has no use for, by name; those that start a program are in _STARTS.
_REFUSED = [
    "socket",
    "connect",
    "bind",
    "listen",
    "accept",
    "accept4",
    "ptrace",
    "process_vm_readv",
    "process_vm_writev",
    "bpf",
    "perf_event_open",
    "io_uring_setup",
    "io_uring_enter",
    "io_uring_register",
    "mount",
    "umount2",
    "pivot_root",
    "chroot",
    "unshare",
    "setns",
    "move_mount",
    "open_tree",
    "fsopen",
    "fsmount",
    "keyctl",
    "add_key",
    "request_key",
    "init_module",
    "finit_module",
    "delete_module",
    "kexec_load",
    "kexec_file_load",
    "reboot",
    "swapon",
    "swapoff",
    "userfaultfd",
    "open_by_handle_at",
    "pidfd_getfd",
    "chmod",
    "fchmodat",
    "fchmodat2",
    "chown",
    "lchown",
    "fchownat",
    "setxattr",
    "lsetxattr",
    "removexattr",
    "lremovexattr",
    "settimeofday",
    "clock_settime",
    "sethostname",
    "setdomainname",
    "acct",
    "quotactl",
    "mknod",
    "mknodat",
    "personality",
]
_STARTS = ("execve", "execveat")
_AUDIT = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_X32 = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _EPERM = 0x7FFF0000, 0x00050001

_own = False
_entered = False


class Box(Struct, frozen=True):
    """What this machine's kernel can keep a reader from; `landlock` is its version there, 0 if it has none."""

    landlock: int
    seccomp: bool

    @property
    def lacking(self) -> tuple[str, ...]:
        """What the kernel does not have."""
        return (*(() if self.landlock else ("Landlock",)), *(() if self.seccomp else ("seccomp",)))


def own() -> None:
    """Says that this process is iowhy's: from here on it may enter."""
    global _own
    _own = True


def is_own() -> bool:
    """Whether it is, and not one in which somebody else's code calls commands."""
    return _own


def available() -> Box:
    """What the kernel has."""
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    status = Path("/proc/self/status").read_text()
    version = libc.syscall(_CREATE, None, 0, _VERSION)
    return Box(max(0, version), "\nSeccomp:" in status and os.uname().machine in _AUDIT)


def enter(written: Collection[Path] = (), *, programs: bool = False) -> None:
    """From here on this process only reads, and writes below its private folder, next to files `written`, and in folders
    `written`. `programs`: it may start some, which are as bound as it is. What the kernel does not have is left out.
    """
    global _entered
    if not _own or _entered:
        return
    _entered = True
    import ctypes

    from iowhy.recordings.query_limits import memory_bytes, private_folder

    libc = ctypes.CDLL(None, use_errno=True)
    folder = private_folder()
    most = MOST_DATA_BYTES + memory_bytes()
    for limit, value in ((resource.RLIMIT_CORE, 0), (resource.RLIMIT_DATA, most)):
        _, hard = resource.getrlimit(limit)
        kept = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(limit, (kept, kept))
    if libc.prctl(_NO_NEW_PRIVS, 1, 0, 0, 0):
        return
    own_folders = [] if folder is None else [folder]
    if folder is not None:
        # What is put down for a moment goes there, too, also by programs that this one starts.
        os.environ["TMPDIR"] = str(folder)
        if "tempfile" in sys.modules:
            import tempfile  # slow, if nothing has imported it yet

            tempfile.tempdir = str(folder)
    _landlock(libc, [*own_folders, Path(os.devnull), *written], folder, programs)
    _seccomp(libc, programs)


def _landlock(libc, writable: Collection[Path], private: Path | None, programs: bool) -> None:  # type: ignore[no-untyped-def]
    version = libc.syscall(_CREATE, None, 0, _VERSION)
    if version < 1:
        return
    bits = max(bits for known, bits in _FILE_BITS.items() if known <= version)
    handled = ((1 << bits) - 1) & ~(_READ_FILE | _READ_DIR)
    if programs:
        handled &= ~_EXECUTE
    net = _NET if version >= _NET_FROM else 0
    scopes = _SCOPES if version >= _SCOPES_FROM else 0
    size = 24 if version >= _SCOPES_FROM else 16 if version >= _NET_FROM else 8
    asked = struct.pack("=QQQ", handled, net, scopes)[:size]
    rules = libc.syscall(_CREATE, asked, size, 0)
    if rules < 0:
        return
    try:
        for path in writable:
            _allow(libc, rules, path, handled & ~_EXECUTE)
        if private is not None:  # it goes at the end; what is in it is in no other folder
            _allow(libc, rules, private.parent, _REMOVE_DIR)
        libc.syscall(_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(libc, rules: int, path: Path, allowed: int) -> None:  # type: ignore[no-untyped-def]
    """What may be done below a folder; of a file that is to be written, below the folder that it will be in."""
    try:
        mode = path.stat().st_mode
        if stat.S_ISREG(mode):
            path = path.absolute().parent
    except FileNotFoundError:
        mode, path = stat.S_IFDIR, path.absolute().parent
    except OSError:
        return
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        allowed &= _OF_A_FILE
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    libc.syscall(_ADD_RULE, rules, _BENEATH, struct.pack("=Qi", allowed, opened), 0)
    os.close(opened)


def _seccomp(libc, programs: bool) -> None:  # type: ignore[no-untyped-def]
    import ctypes

    from iowhy.tables import call_numbers

    machine = os.uname().machine
    if machine not in _AUDIT:
        return
    numbers = {name: number for number, name in call_numbers(machine).items()}
    names = (*_REFUSED, *(() if programs else _STARTS))
    refused = sorted(numbers[name] for name in names if name in numbers)
    # The machine that the call is of; then its number: another machine's, or one of those, is refused.
    steps = [(_LOAD, 0, 0, 4), (_EQUAL, 1, 0, _AUDIT[machine]), (_RETURN, 0, 0, _EPERM), (_LOAD, 0, 0, 0)]  # fmt: skip
    left = len(refused)
    if machine == "x86_64":
        steps.append((_AT_LEAST, left + 1, 0, _X32))
    steps += [(_EQUAL, left - at, 0, number) for at, number in enumerate(refused)]
    steps += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _EPERM)]
    code = b"".join(struct.pack("=HBBI", *step) for step in steps)
    held = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("@HP", len(steps), ctypes.addressof(held))
    seccomp = numbers["seccomp"]
    libc.syscall(seccomp, _FILTER, _ALL_THREADS, program)
