"""Loop devices that were set up."""

import errno
import fcntl
import os
from pathlib import Path

from iowhy.undo.kinds.entry import Entry, Failed, Kind, path_of, until

_LOOP_CLR_FD = 0x4C01  # include/uapi/linux/loop.h


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
    path_of(entry, "backing")


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

    if not until(gone):
        raise Failed(f"detach the loop device of {entry['backing']}: still in use")


LOSETUP_DETACH = Kind(_check_loop, _undo_loop)
