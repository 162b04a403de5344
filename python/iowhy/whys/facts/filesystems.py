"""The filesystems of the command's files: where they are mounted, with what options, on which disk."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes

#: Kinds that never overwrite in place, unless they are told to.
COPY_ON_WRITE = frozenset({"btrfs", "bcachefs", "zfs"})


class Filesystem(Struct, frozen=True):
    """One mounted filesystem; `options` as in /proc/mounts, `disk_dev` None if not known.

    `free_bytes` of `size_bytes` were left at the end, None where that was not recorded.
    """

    dev: int
    kind: str
    mount: str
    options: str
    disk_dev: int | None
    size_bytes: int | None = None
    free_bytes: int | None = None

    @property
    def mounted_sync(self) -> bool:
        """Whether every write to it is durable at once (mount(8), sync)."""
        return "sync" in self.options.split(",")

    @property
    def names_durable_by(self) -> str | None:
        """The option by which calls on names return once that is durable (mount(8), sync and dirsync; xfs(5), wsync)."""
        chosen = self.options.split(",")
        return next((one for one in ("sync", "dirsync", "wsync") if one in chosen), None)

    @property
    def journals_data(self) -> bool:
        """Whether all data are written to the journal first, and then to their place (ext4(5), data=journal)."""
        return "data=journal" in self.options.split(",")

    @property
    def copies_on_write(self) -> bool:
        """Whether what is written again goes to another place, as far as its kind and its mount options say (btrfs(5), nodatacow)."""
        return self.kind in COPY_ON_WRITE and "nodatacow" not in self.options.split(",")


Filesystems = tuple[Filesystem, ...]


def filesystems(relations: Relations) -> Filesystems:
    """All of them, from filesystems; one that is mounted at several places counts as each."""
    if not relations.has("filesystems"):
        return ()
    return tuple(
        relations.read(
            Filesystem,
            """SELECT dev, kind, mount, options, disk_dev, size_bytes, free_bytes
            FROM filesystems ORDER BY mount""",
        )
    )


def of(found: Filesystems, dev: int | None) -> Filesystem | None:
    """The filesystem with this device number."""
    return next((one for one in found if one.dev == dev), None)


def written_most(relations: Relations) -> int | None:
    """The filesystem in whose writes most time passes, None where no single calls were recorded."""
    called = f"calls_by_filesystem WHERE name IN {classes.quoted(classes.DATA_WRITES)} AND"
    return _longest(relations, called) if relations.has("syscalls") else None


def waited_for_most(relations: Relations) -> int | None:
    """The filesystem whose files threads wait for longest, None where no waits were recorded."""
    return _longest(relations, "wait_totals WHERE") if relations.has("waits") else None


def called_most(relations: Relations) -> int | None:
    """The filesystem in calls on whose files most time passes, None where no calls were recorded."""
    return _longest(relations, "calls_by_filesystem WHERE") if relations.has("syscalls") else None


def _longest(relations: Relations, rows: str) -> int | None:
    sql = f"SELECT dev FROM {rows} dev IS NOT NULL GROUP BY dev ORDER BY sum(total_ns) DESC, dev LIMIT 1"
    return relations.value(int, sql)
