"""Numbers for the names that text has: disks, files, processes.

Text names a disk "sda" and a file "/var/db/x", where a recording has device and inode numbers. One
`Names` is shared by all parts of a diagnosis, so the same name has the same number in all of them.
Numbers that had to be made up are marked by a major number that no driver has.
"""

import re
from collections.abc import Collection

#: Major number of made-up disks (block majors end below 512: BLKDEV_MAJOR_MAX, linux/blkdev.h).
MADE_UP_DISK = 4094
#: Major number of the made-up filesystem that files known only by path are said to be on.
MADE_UP_FILES = 4095

MINOR_BITS = 20
#: What is no file is named as /proc/PID/fd does ("pipe:[7]"): the kind of file (schema.toml) by the start of its name.
_KINDS = {"pipe:[": "pipe", "socket:[": "socket", "anon_inode:": "anonymous"}
#: Process ids are 32-bit signed in every system read here; what is larger is damage.
PID_MAX = 2**31 - 1


def dev_number(major: int, minor: int) -> int:
    """The kernel's device number (include/linux/kdev_t.h)."""
    return major << MINOR_BITS | minor


def _conventional(name: str) -> int | None:
    """Number of a disk whose name fixes it (Documentation/admin-guide/devices.txt), else None."""
    if match := re.fullmatch(r"(sd|xvd)([a-p])", name):
        major = {"sd": 8, "xvd": 202}[match[1]]
        return dev_number(major, 16 * (ord(match[2]) - ord("a")))
    if match := re.fullmatch(r"(loop|md|ram)(\d{1,5})", name):
        return dev_number({"loop": 7, "md": 9, "ram": 1}[match[1]], int(match[2]))
    return None


def _kind(path: str) -> str:
    return next((kind for start, kind in _KINDS.items() if path.startswith(start)), "unknown")


class Names:
    """Names seen so far, with their numbers, and the processes that are asked about (none: all)."""

    def __init__(self, pids: Collection[int] = ()) -> None:
        self.pids = frozenset(pids)
        self._disks: dict[str, int] = {}
        self._files: dict[str, tuple[int, int]] = {}
        self._threads: dict[tuple[int, int], dict[str, object]] = {}

    def copy(self) -> "Names":
        """Another one that knows the same names."""
        other = Names(self.pids)
        other.take(self)
        return other

    def take(self, other: "Names") -> None:
        """Know what another one knows, and nothing else."""
        self._disks, self._files = dict(other._disks), dict(other._files)
        self._threads = {key: dict(row) for key, row in other._threads.items()}

    def disk(self, name: str, number: int | None = None) -> int:
        """Device number of a disk; `number` when the text gives it (the first one seen stays)."""
        known = self._disks.get(name)
        if known is not None:
            return known
        if number is None:
            number = _conventional(name)
        if number is None:
            number = dev_number(MADE_UP_DISK, len(self._disks))
        self._disks[name] = number
        return number

    def file(self, path: str, dev: int | None = None, ino: int | None = None) -> tuple[int, int]:
        """(dev, ino) of a file; made up, one per path, unless the text gives them."""
        known = self._files.get(path)
        if known is not None:
            return known
        made_up = (dev_number(MADE_UP_FILES, 0), len(self._files) + 1)
        pair = (made_up[0] if dev is None else dev, made_up[1] if ino is None else ino)
        self._files[path] = pair
        return pair

    def thread(self, tid: int, tgid: int, comm: str, ppid: int | None = None) -> None:
        """Name a thread; the last name stays, as in a live recording.

        For tools that do not say when it started: it is said to be there from the beginning. One
        that knows puts rows into `threads` itself.
        """
        if not (0 <= tid <= PID_MAX and 0 <= tgid <= PID_MAX):
            return
        row = self._threads.setdefault(
            (tgid, tid), {"tid": tid, "tgid": tgid, "ppid": ppid, "start_ns": 0}
        )
        row["comm"] = comm
        if ppid is not None:
            row["ppid"] = ppid

    def rows(self) -> dict[str, list[dict[str, object]]]:
        """The tables `devices`, `files` and `threads` for what was named."""
        return {
            "devices": [
                {"dev": dev, "name": name}
                for name, dev in {d: (n, d) for n, d in self._disks.items()}.values()
            ],
            "files": [
                {"dev": dev, "ino": ino, "path": path, "kind": _kind(path)}
                for path, (dev, ino) in self._files.items()
            ],
            "threads": list(self._threads.values()),
        }
