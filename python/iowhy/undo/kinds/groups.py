"""Control groups that were made."""

import errno
import os
from pathlib import Path

from iowhy.undo.kinds.entry import Entry, Failed, Kind, Refused, path_of, until

CGROUPS = ("/sys/fs/cgroup",)
"""Where control groups of ours are."""


def _check_cgroup(entry: Entry) -> None:
    path = path_of(entry, "path", CGROUPS)
    if not Path(path).name.startswith("iowhy"):
        raise Refused(
            f"{path} is not a control group of ours: its name does not begin with `iowhy`"
        )


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

    if not until(gone):
        raise Failed(f"rmdir {top}: busy")


RMDIR_CGROUP = Kind(_check_cgroup, _undo_cgroup)
