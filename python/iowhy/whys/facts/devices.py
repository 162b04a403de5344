"""Devices by their own counters: what iostat shows, and all that a pasted iostat can show."""

import re

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.filesystems import Filesystems

#: Of the bytes that the command moved, the share that its device must have moved: the first and last
#: reading are up to 100 ms within the run, and written pages may be dropped or written after it.
FITS = 0.5


#: Disks of virtio, which all say that they rotate, whatever is behind them.
SAYS_SO_ALWAYS = re.compile(r"vd[a-z]+")


def turns(name: str | None, rotational: bool | None) -> bool:
    """Whether a device says that it rotates, and is not one of those that always do."""
    return bool(rotational) and SAYS_SO_ALWAYS.fullmatch(name or "") is None


class Device(Struct, frozen=True):
    """As the relation device_rates has it."""

    dev: int
    name: str
    samples: int
    busy_share: float | None
    depth: float | None
    reads_per_s: float
    writes_per_s: float
    read_bytes_per_s: float
    write_bytes_per_s: float
    request_bytes: float | None
    wait_ns: float | None
    load: float


class Devices(Struct, frozen=True):
    """The devices that had any request, the most loaded first.

    `top` is the one to speak of: the most loaded one; of a recorded command without its own
    requests (--mode proc) the one that it can be, None when it is not known whose the load is. `own_share` is then
    how much of what that device moved the command can have moved, by its own counters; None where requests
    say it, or nothing does.
    """

    all: tuple[Device, ...]
    top: Device | None = None
    own_share: float | None = None

    def named(self, dev: int | None) -> Device | None:
        """The device with this number."""
        return next((one for one in self.all if one.dev == dev), None)


_RATES = """
SELECT s.* EXCLUDE (place, flushes_per_s, best_bytes_per_s), coalesce(d.name, (s.dev >> 20) || ':' || (s.dev & 1048575)) AS name
FROM device_rates AS s
LEFT JOIN (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS d ON d.dev = s.dev
ORDER BY s.place LIMIT 8
"""


def scheduler(relations: Relations, dev: int | None) -> str | None:
    """The active I/O scheduler of a disk; None if not known, or that of the disk below decides."""
    if dev is None or not relations.has("devices"):
        return None
    return relations.value(
        str,
        f"""SELECT any_value(scheduler) AS scheduler FROM devices AS d WHERE dev = {dev} AND below_dev IS NULL
        AND dev NOT IN (SELECT dev FROM device_layers)""",
    )


def measure(
    relations: Relations, whole: bool, folder: str | None, filesystems: Filesystems
) -> Devices:
    """From the relation device_rates.

    `whole`: the recording is of the machine, not of one command. `folder`: its working directory.
    """
    if not relations.has("disk_samples"):
        return Devices(())
    found = tuple(relations.read(Device, _RATES))
    top, share = _own(relations, found, whole, _under(filesystems, folder))
    return Devices(found, top, share)


def _own(
    relations: Relations, found: tuple[Device, ...], whole: bool, under: int | None
) -> tuple[Device | None, float | None]:
    """The device that the command uses: it moved what the command's own counters say, and of several
    that did it is the one under its working directory. With it, the command's share of what it moved."""
    named = relations.has("block_requests") or not relations.has("process_io")
    if whole or named or not found:
        return (found[0] if found else None), None
    ((read, written),) = relations.rows(
        """SELECT coalesce(sum(r), 0), coalesce(sum(w), 0) FROM (
        SELECT tgid, max(read_bytes) AS r, max(written_bytes) AS w FROM process_io GROUP BY tgid)"""
    )
    if read + written <= 0:
        return None, None
    moved, column = (written, "written_bytes") if written > read else (read, "read_bytes")
    totals: dict[int, int | None] = dict(
        relations.rows(f"SELECT dev, sum({column}) FROM disk_steps GROUP BY dev")
    )
    fitting = [one for one in found if (totals.get(one.dev) or 0) >= FITS * moved]
    top = fitting[0] if len(fitting) == 1 else None
    if top is None:
        top = next((one for one in fitting if one.dev == under), None)
    whole_bytes = None if top is None else totals.get(top.dev)
    return top, min(1.0, moved / whole_bytes) if whole_bytes else None


def _under(filesystems: Filesystems, path: str | None) -> int | None:
    """The device of the file system that a path is on."""
    if path is None:
        return None
    inside = [
        (len(one.mount), one.disk_dev)
        for one in filesystems
        if one.disk_dev is not None and f"{path}/".startswith(f"{one.mount.rstrip('/')}/")
    ]
    return max(inside)[1] if inside else None
