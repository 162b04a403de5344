"""Kernel knobs that were written.

A journal may have been tampered with, and root carries it out: only the knobs that iowhy itself writes are
written back, each only with values that it can hold, and only at the place that the kernel has for it. A
path that merely looks like one (`/proc/self/root/etc/passwd`) is refused.
"""

import errno
import os
import re
from pathlib import Path

from iowhy.undo.kinds.entry import Entry, Failed, Kind, Refused, path_of

_NUMBER = r"-?\d{1,20}\n?"
_WORD = r"[a-z][a-z0-9_-]{0,31}\n?"

#: The path of each knob, resolved, and the values that it may be given back. One that is new in a lever or a
#: scenario is added here, with its reason.
KNOWN: tuple[tuple[str, str], ...] = (
    # A controller that a new group needs is taken from its parent again.
    (r"/sys/fs/cgroup/([^/]+/)*cgroup\.subtree_control", r"[-+][a-z_]{1,32}"),
    # Scratch disks of the lab: how they appear, and the limits of their writeback.
    (r"/sys/devices/virtual/block/(loop|zram)\d+/queue/(max_sectors_kb|rotational)", _NUMBER),
    (r"/sys/devices/virtual/bdi/\d+:\d+/(strict_limit|max_ratio)", _NUMBER),
    (r"/sys/class/zram-control/hot_remove", _NUMBER),
    # The lever cpu-frequency.
    (r"/sys/devices/system/cpu/cpufreq/policy\d+/scaling_max_freq", _NUMBER),
    # What tune sets, on any disk; dirty limits in tests, too.
    (r"/sys/devices/([^/]+/)*block/[^/]+/queue/scheduler", _WORD),
    (r"/sys/devices/([^/]+/)*block/[^/]+/queue/(read_ahead_kb|nr_requests|wbt_lat_usec)", _NUMBER),
    (r"/sys/kernel/mm/transparent_hugepage/enabled", _WORD),
    (r"/proc/sys/vm/dirty_[a-z_]+", _NUMBER),
)


def _check_file(entry: Entry) -> None:
    path = path_of(entry, "path")
    values = next((values for known, values in KNOWN if re.fullmatch(known, path)), None)
    if values is None:
        raise Refused(f"{path} is not a kernel knob that iowhy writes")
    # The kernel's own tree holds no links at these places: one means that something else lies there.
    if os.path.realpath(path) != path:
        raise Refused(f"{path} is not where that knob is")
    old = entry.get("old")
    if not isinstance(old, str) or not re.fullmatch(values, old):
        raise Refused(f"`old` is not a value of {path}")


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
        handle = os.open(path, os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
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


WRITE_FILE = Kind(_check_file, _undo_file)
