"""Scratch filesystems: made on a scratch disk, mounted in the scratch directory."""

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.lab import shell
from iowhy.lab.disks import Disk
from iowhy.undo import Undo

#: What mkfs refuses to go below (mkfs.xfs(8): 300 MB since xfsprogs 5.19).
LEAST_MIB = {"xfs": 320}
#: mkfs for each kind. No discard: the disk is empty. ext4 without lazy initialisation, which would
#: write in the background of what is measured, and without blocks kept back for root, so that ageing can fill it.
_MKFS = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-m", "0", "-E",
             "nodiscard,lazy_itable_init=0,lazy_journal_init=0"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
    "btrfs": ("mkfs.btrfs", "-q", "-f", "-K"),
}  # fmt: skip
KINDS = tuple(_MKFS)
_CHUNK = 1 << 20


class Filesystem(Struct):
    """A mounted scratch filesystem."""

    kind: str
    disk: Disk
    path: Path
    options: tuple[str, ...]
    _undo: Undo
    _mounted: int = 0

    def mount(self) -> None:
        """Mounts it. Raises Problem with mount's own words."""
        self._mounted = self._undo.umount(self.path)
        argv = ["mount", "-t", self.kind]
        if self.options:
            argv += ["-o", ",".join(self.options)]
        shell.run([*argv, str(self.disk.path), str(self.path)])

    def cool(self) -> None:
        """Drops everything cached of it, metadata too, by unmounting and mounting it.

        Nothing else on the machine loses its cache.
        """
        self._undo.now(self._mounted)
        self.mount()

    def warm(self) -> None:
        """Has all of its names, inodes and data in memory, however long ago they were written.

        Where the kernel pages out what nobody has used for a while (DAMON), what a scenario has just made may be gone already.
        """
        for path in self.path.rglob("*"):
            if stat.S_ISREG(path.lstat().st_mode):
                with path.open("rb", buffering=0) as file:
                    while file.read(_CHUNK):
                        pass

    def sync(self) -> None:
        """Writes back what is dirty in it."""
        handle = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
        shell.run(["sync", "--file-system", str(self.path)])


def make(
    kind: str,
    disk: Disk,
    path: Path,
    undo: Undo,
    options: Sequence[str] = (),
    mkfs: Sequence[str] = (),
) -> Filesystem:
    """Makes a filesystem on a disk and mounts it on `path`, with options for mount and mkfs.

    Raises Problem when the kind is unknown or a tool refuses.
    """
    if kind not in _MKFS:
        raise Problem("filesystem-unknown", kind=kind, kinds=", ".join(KINDS))
    shell.run([*_MKFS[kind], *mkfs, str(disk.path)])
    path.mkdir(mode=0o755, exist_ok=True)
    made = Filesystem(kind, disk, path, tuple(options), undo)
    made.mount()
    return made
