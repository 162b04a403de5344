"""The kinds of action that can be undone: what an entry must hold, and how it is put back.

An entry is a JSON object. ``check`` refuses one that this program would never have written, since a
journal may have been tampered with; ``undo`` puts the machine back and may be called any number of
times: what is already as it was is left alone.
"""

import ctypes
import errno
import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from iowhy.undo import process

Entry = Mapping[str, Any]

MARKER_FILE = ".iowhy-scratch"
"""A directory is only ever removed when this file in it holds the token of the journal's entry."""

MARK_VARIABLE = "IOWHY_MARK"
"""Environment variable by which the processes of a trial are found again."""

CGROUPS = ("/sys/fs/cgroup",)
"""Where control groups of ours lie."""

KNOBS = ("/sys", "/proc")
"""Where files lie that are written back: a user's file never is, not even with its old content."""

_PATIENCE_S = 5.0
_UNDECIDED_S = 1.0
_CLEAN_LOOKS = 3
_LOOP_CLR_FD = 0x4C01  # include/uapi/linux/loop.h
_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8  # include/linux/fs.h, umount2(2)
_KEEP = {"/", "/dev", "/dev/pts", "/dev/shm", "/proc", "/sys", "/sys/fs/cgroup", "/run", "/tmp"}
_KEEP |= {"/home", "/root", "/usr", "/var", "/etc", "/boot", "/opt", "/srv", "/mnt", "/media"}

_libc = ctypes.CDLL(None, use_errno=True)


class Refused(Exception):
    """The entry is not one that this program would have written."""


class Failed(Exception):
    """The action could not be undone now."""


@dataclass(frozen=True)
class Kind:
    """One kind of action; ``survives_boot`` tells whether its effect outlives a restart."""

    check: Callable[[Entry], None]
    undo: Callable[[Entry], None]
    survives_boot: bool = False


def _path(entry: Entry, key: str, below: tuple[str, ...] = ()) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or "\0" in value or len(value) > 4096:
        raise Refused(f"`{key}` is no path")
    if os.path.normpath(value) != value or not value.startswith("/") or value.startswith("//"):
        raise Refused(f"`{key}` is no absolute plain path: {value!r}")
    if below and not value.startswith(tuple(top + "/" for top in below)):
        raise Refused(f"`{key}` is not below {' or '.join(below)}: {value!r}")
    return value


def _whole(entry: Entry, key: str, least: int) -> int:
    value = entry.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise Refused(f"`{key}` is no whole number of at least {least}")
    return value


def _text(entry: Entry, key: str, pattern: str) -> str:
    value = entry.get(key)
    if not isinstance(value, str) or not re.fullmatch(pattern, value, re.DOTALL):
        raise Refused(f"`{key}` is not of the form {pattern}")
    return value


def _until(done: Callable[[], bool], patience_s: float = _PATIENCE_S) -> bool:
    end = time.monotonic() + patience_s
    pause = 0.002
    while not done():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
        pause = min(pause * 2, 0.1)
    return True


# -- umount ---------------------------------------------------------------------------------------


def mount_points() -> list[str]:
    """Mount points of this mount namespace, oldest first (proc_pid_mountinfo(5))."""
    lines = Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines()
    return [
        re.sub(r"\\([0-7]{3})", lambda m: chr(int(m[1], 8)), line.split(" ")[4]) for line in lines
    ]


def _check_umount(entry: Entry) -> None:
    if _path(entry, "path") in _KEEP:
        raise Refused(f"{entry['path']} belongs to the system")


def _undo_umount(entry: Entry) -> None:
    path = entry["path"]
    flags = _UMOUNT_NOFOLLOW

    def gone() -> bool:
        if path not in mount_points():
            return True
        if _libc.umount2(os.fsencode(path), flags) != 0:
            code = ctypes.get_errno()
            if code not in (errno.EBUSY, errno.EAGAIN, errno.EINVAL):
                raise Failed(f"umount {path}: {os.strerror(code)}")
        return path not in mount_points()

    if _until(gone):
        return
    # Somebody still stands in it: take it out of the tree, the kernel drops it with its last user.
    flags = _UMOUNT_NOFOLLOW | _MNT_DETACH
    if not _until(gone, 1.0):
        raise Failed(f"umount {path}: busy")


# -- remount --------------------------------------------------------------------------------------


def opposite_option(option: str, now: tuple[str, ...]) -> str | None:
    """The mount option that takes ``option`` back, given those in force; None when not known."""
    key, equals, _ = option.partition("=")
    if not re.fullmatch(r"[a-z_]+(=[a-z0-9_]+)?", option):
        return None
    if equals:
        return next((old for old in now if old.startswith(f"{key}=")), None)
    if key in ("ro", "rw"):
        return None  # a filesystem that goes read-only under a command shows nothing
    plain = {"sync": "async", "async": "sync", "relatime": "relatime", "nodiscard": "discard"}
    return plain.get(key) or (key[2:] if key.startswith("no") else f"no{key}")


def _check_remount(entry: Entry) -> None:
    _check_umount(entry)
    _text(entry, "option", r"[a-z_]+(=[a-z0-9_]+)?")
    # One that is gone was perhaps ours; one that is there without our marker is somebody else's.
    ours = any((parent / MARKER_FILE).is_file() for parent in Path(entry["path"]).parents)
    if not ours and entry["path"] in mount_points():
        raise Refused(f"{entry['path']} is no mount of ours")


def _undo_remount(entry: Entry) -> None:
    if entry["path"] not in mount_points():
        return
    done = subprocess.run(
        ["mount", "-o", f"remount,{entry['option']}", entry["path"]],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"remount {entry['path']} with {entry['option']}: {done.stderr.strip()}")


# -- losetup-detach -------------------------------------------------------------------------------


def _loops_of(backing: str) -> list[str]:
    found = []
    for node in Path("/sys/block").glob("loop*/loop/backing_file"):
        try:
            name = node.read_text(errors="surrogateescape").rstrip("\n")
        except OSError:
            continue
        if name.removesuffix(" (deleted)") == backing:
            found.append(f"/dev/{node.parts[3]}")
    return found


def _check_loop(entry: Entry) -> None:
    _path(entry, "backing")


def _undo_loop(entry: Entry) -> None:
    def gone() -> bool:
        for device in _loops_of(entry["backing"]):
            try:
                handle = os.open(device, os.O_RDONLY | os.O_CLOEXEC)
            except OSError as error:
                if error.errno in (errno.ENOENT, errno.ENXIO):
                    continue
                raise Failed(f"detach {device}: {error.strerror}") from error
            try:
                fcntl.ioctl(handle, _LOOP_CLR_FD)
            except OSError as error:
                if error.errno not in (errno.ENXIO, errno.EBUSY):
                    raise Failed(f"detach {device}: {error.strerror}") from error
            finally:
                os.close(handle)
        return not _loops_of(entry["backing"])

    if not _until(gone):
        raise Failed(f"detach the loop device of {entry['backing']}: still in use")


# -- kill-process, kill-marked --------------------------------------------------------------------


def _kill(pid: int, start: int) -> bool:
    """Kills exactly this process; True when it is gone (a zombie counts: only its parent reaps)."""
    if process.start_ticks(pid) != start or process.is_zombie(pid):
        return True
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        # The pidfd now names one process for good: check again that it is the one meant.
        if process.start_ticks(pid) != start:
            return True
        signal.pidfd_send_signal(handle, signal.SIGKILL)
    except ProcessLookupError:
        return True
    except PermissionError as error:
        raise Failed(f"kill {pid}: {error.strerror}") from error
    finally:
        os.close(handle)
    return False


def _check_process(entry: Entry) -> None:
    _whole(entry, "pid", 2)
    _whole(entry, "start_ticks", 0)


def _undo_process(entry: Entry) -> None:
    if not _until(lambda: _kill(entry["pid"], entry["start_ticks"])):
        raise Failed(f"process {entry['pid']} does not end")


def _check_marked(entry: Entry) -> None:
    _text(entry, "mark", r"[0-9a-f]{32}")
    if "after_ticks" in entry:
        _whole(entry, "after_ticks", 0)


def _undo_marked(entry: Entry) -> None:
    own = os.getpid()
    wait_for_undecided = time.monotonic() + _UNDECIDED_S
    clean = 0

    def gone() -> bool:
        nonlocal clean
        seen = process.marked(MARK_VARIABLE, entry["mark"], entry.get("after_ticks", 0))
        alive = False
        for pid in seen.found:
            start = process.start_ticks(pid)
            if pid != own and start is not None and not _kill(pid, start):
                alive = True
        undecided = bool(seen.undecided) and time.monotonic() < wait_for_undecided
        # One that was just being forked is in no list yet: only several empty looks count.
        clean = 0 if alive or undecided else clean + 1
        return clean >= _CLEAN_LOOKS

    if not _until(gone):
        raise Failed(f"processes marked {entry['mark']} do not end")


# -- rmdir-cgroup ---------------------------------------------------------------------------------


def _check_cgroup(entry: Entry) -> None:
    path = _path(entry, "path", CGROUPS)
    if not Path(path).name.startswith("iowhy"):
        raise Refused(f"{path} is no control group of ours: its name does not begin with `iowhy`")


def _move_tasks(group: Path) -> None:
    try:
        pids = (group / "cgroup.procs").read_text().split()
    except OSError:
        return
    for pid in pids:
        # A v2 parent that hands controllers down holds no processes itself: then further up.
        for parent in group.parents:
            try:
                (parent / "cgroup.procs").write_text(pid)
                break
            except ProcessLookupError:
                break
            except OSError:
                if parent == Path("/sys/fs/cgroup"):
                    break


def _rmdir(group: Path) -> None:
    group.rmdir()


def _undo_cgroup(entry: Entry) -> None:
    top = Path(entry["path"])

    def gone() -> bool:
        if not top.is_dir():
            return True
        groups = [Path(folder) for folder, _, _ in os.walk(top, topdown=False)]
        for group in groups:
            _move_tasks(group)
            try:
                _rmdir(group)
            except FileNotFoundError:
                continue
            except OSError as error:
                if error.errno not in (errno.EBUSY, errno.ENOTEMPTY):
                    raise Failed(f"rmdir {group}: {error.strerror}") from error
        return not top.exists()

    if not _until(gone):
        raise Failed(f"rmdir {top}: busy")


# -- write-file -----------------------------------------------------------------------------------


def _check_file(entry: Entry) -> None:
    _path(entry, "path", KNOBS)
    old = entry.get("old")
    if not isinstance(old, str) or len(old) > 65536:
        raise Refused("`old` is no text of at most 64 KiB")


def _undo_file(entry: Entry) -> None:
    path = Path(entry["path"])
    try:
        if path.read_text() == entry["old"]:
            return
    except FileNotFoundError:
        return
    except OSError:
        pass  # a write-only knob
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return
    except OSError as error:
        raise Failed(f"restore {path}: {error.strerror}") from error
    try:
        os.write(handle, entry["old"].encode())
    except OSError as error:
        # A controller that somebody else's groups have come to need in the meantime stays.
        needed = error.errno == errno.EBUSY and path.name == "cgroup.subtree_control"
        if error.errno != errno.ENODEV and not needed:
            raise Failed(f"restore {path}: {error.strerror}") from error
    finally:
        os.close(handle)


# -- remove-tree ----------------------------------------------------------------------------------


def _check_tree(entry: Entry) -> None:
    if _path(entry, "path") in _KEEP:
        raise Refused(f"{entry['path']} belongs to the system")
    _text(entry, "token", r"[0-9a-f]{32}")


def _undo_tree(entry: Entry) -> None:
    top = Path(entry["path"])
    if top.is_symlink() or not top.is_dir():
        return
    inside = [point for point in mount_points() if point == str(top) or _is_below(point, top)]
    if inside:
        raise Failed(f"remove {top}: {inside[-1]} is still mounted")
    marker = top / MARKER_FILE
    try:
        ours = not marker.is_symlink() and marker.read_text() == entry["token"]
    except OSError:
        ours = False
    try:
        if ours:
            for child in top.iterdir():
                if child == marker:
                    continue
                if child.is_dir() and not child.is_symlink():
                    shutil.rmtree(child)
                else:
                    child.unlink()
            marker.unlink()
        # Made but not yet marked: it is empty, and rmdir removes nothing else.
        top.rmdir()
    except FileNotFoundError:
        return
    except OSError as error:
        why = error.strerror if ours else f"it does not carry our {MARKER_FILE}"
        raise Failed(f"remove {top}: {why}") from error


def _is_below(path: str, top: Path) -> bool:
    return path.startswith(f"{top}/")


# -- affinity -------------------------------------------------------------------------------------


def _check_affinity(entry: Entry) -> None:
    _check_process(entry)
    cpus = entry.get("cpus")
    if not isinstance(cpus, list) or not cpus or not all(type(cpu) is int for cpu in cpus):
        raise Refused("`cpus` is no list of CPU numbers")


def _undo_affinity(entry: Entry) -> None:
    if process.start_ticks(entry["pid"]) != entry["start_ticks"]:
        return
    try:
        os.sched_setaffinity(entry["pid"], entry["cpus"])
    except ProcessLookupError:
        return
    except OSError as error:
        raise Failed(f"affinity of {entry['pid']}: {error.strerror}") from error


KINDS: dict[str, Kind] = {
    "remount": Kind(_check_remount, _undo_remount),
    "umount": Kind(_check_umount, _undo_umount),
    "losetup-detach": Kind(_check_loop, _undo_loop),
    "kill-process": Kind(_check_process, _undo_process),
    "kill-marked": Kind(_check_marked, _undo_marked),
    "rmdir-cgroup": Kind(_check_cgroup, _undo_cgroup),
    "write-file": Kind(_check_file, _undo_file),
    "remove-tree": Kind(_check_tree, _undo_tree, survives_boot=True),
    "affinity": Kind(_check_affinity, _undo_affinity),
}
