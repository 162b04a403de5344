"""What the kernel stacks of waits show beyond their reason: why a write waits for writeback, a commit or a flush.

A write that waits for writeback does so for one of two: it is to be durable (O_SYNC, O_DSYNC, RWF_DSYNC, a mount
with sync, chattr +S), then it syncs itself; or its filesystem runs short of free space and makes some first.
"""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.tables import rules
from iowhy.whys import classes
from iowhy.whys.facts.filesystems import Filesystems, of, written_most

#: A call syncs a file: vfs_fsync_range (fs/sync.c) and what filesystems have for it (file_operations.fsync).
SYNCS = frozenset({
    "vfs_fsync_range", "ext4_sync_file", "ext2_fsync", "xfs_file_fsync", "btrfs_sync_file",
    "f2fs_sync_file", "f2fs_do_sync_file", "generic_file_fsync", "__generic_file_fsync",
    "blkdev_fsync", "fat_file_fsync", "nfs_file_fsync", "fuse_fsync", "ceph_fsync", "cifs_fsync",
    "cifs_strict_fsync", "ocfs2_sync_file", "gfs2_fsync", "ntfs_file_fsync", "exfat_file_fsync",
})  # fmt: skip
#: A filesystem makes room (tables/reasons.toml). The stacks tell it of recordings that have no such reason.
ROOM = "make_room"
MAKES_ROOM = frozenset(name for rule in rules() if rule.reason == ROOM for name in rule.any_of)

#: btrfs makes room for who asks for space that none of its chunks has (fs/btrfs/space-info.c): it writes back, commits,
#: or, where there is room, only makes a chunk. What the compiler has inlined shows by its callers.
RESERVES = frozenset({
    "btrfs_reserve_metadata_bytes", "btrfs_reserve_data_bytes", "__reserve_bytes",
    "handle_reserve_ticket", "wait_reserve_ticket", "flush_space",
})  # fmt: skip

#: Reasons of waits that a sync has, and a filesystem that makes room.
SYNC_REASONS = frozenset({"page_writeback", "journal_commit", "device_flush", "log_force"})


class Through(Struct, frozen=True):
    """Waits in calls of one name and for one reason. `shown_ns` is None where no stack of them was kept."""

    call: str
    reason: str
    total_ns: float
    shown_ns: float | None
    shown_waits: int
    longest_ns: float | None


def passing(relations: Relations, functions: frozenset[str]) -> tuple[int, ...]:
    """The kernel stacks that pass through one of some functions."""
    if not relations.has("waits") or not relations.has("stacks"):
        return ()
    sql = f"SELECT stack_id FROM ({_shown(functions)}) AS s WHERE passes ORDER BY stack_id"
    return tuple(relations.values(int, sql))


def _shown(functions: frozenset[str]) -> str:
    """Of each stack, whether it passes through one of them. A compiler's suffix (.isra.0, .constprop.0) does not count."""
    names = ", ".join(f"'{name}'" for name in sorted(functions))
    return f"""SELECT stack_id, bool_or(split_part(frame, '.', 1) IN ({names})) AS passes
          FROM (SELECT stack_id, unnest(frames) AS frame FROM stacks) AS f GROUP BY stack_id"""


def through(
    relations: Relations, functions: frozenset[str], reason: str | None = None
) -> tuple[Through, ...]:
    """The waits in calls, by call and reason, and what of them passes through one of some functions.

    All of those for `reason` do, with a stack or without.
    """
    if not relations.has("waits"):
        return ()
    found = relations.read(
        Through,
        f"""
        WITH shown AS ({_shown(functions)}), summed AS (
          -- Each stack is looked at once, however many waits have it.
          SELECT syscall, reason, stack_id, count(*) AS waits, sum(dur_ns) AS total_ns, max(dur_ns) AS longest_ns
          FROM waits WHERE syscall IS NOT NULL AND reason IS NOT NULL
          GROUP BY syscall, reason, stack_id
        ), judged AS (
          SELECT w.*, CASE WHEN w.reason = '{reason or ""}' THEN true ELSE s.passes END AS passes
          FROM summed AS w LEFT JOIN shown AS s ON s.stack_id = w.stack_id
        )
        SELECT syscall AS call, reason, sum(total_ns) AS total_ns,
          sum(CASE WHEN passes THEN total_ns WHEN passes = false THEN 0 END) AS shown_ns,
          sum(CASE WHEN passes THEN waits ELSE 0 END) AS shown_waits,
          max(CASE WHEN passes THEN longest_ns END) AS longest_ns
        FROM judged
        GROUP BY syscall, reason ORDER BY total_ns DESC, call, reason
        """,
    )
    return tuple(found)


def durable_writes(relations: Relations, filesystems: Filesystems) -> bool | None:
    """Whether what writes wait for is that they are durable (O_SYNC and the like).

    Where the recording says of each write whether it is to be, that decides: waits of others are not for sync. Else by the
    stacks and the mount option. None where no stack was kept, and they wait for commits or flushes, which is what durable
    writes mostly do: writeback alone shows nothing.
    """
    if relations.has("syscalls"):
        told = relations.value(bool, "SELECT bool_or(durable) FROM file_operations")
        if told is not None:
            return told
    written = of(filesystems, written_most(relations)) if filesystems else None
    if written is not None and written.mounted_sync:
        return True
    waits = [
        one
        for one in through(relations, SYNCS)
        if one.call in classes.DATA_WRITES and one.reason in SYNC_REASONS
    ]
    total = sum(one.total_ns for one in waits)
    if any(one.shown_ns is not None for one in waits):
        return 2 * sum(one.shown_ns or 0.0 for one in waits) >= total
    writeback = sum(one.total_ns for one in waits if one.reason == "page_writeback")
    return False if 2 * writeback >= total else None
