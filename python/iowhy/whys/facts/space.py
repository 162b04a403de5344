"""What a filesystem does, and to whom it says no, when it runs short of free space."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.filesystems import Filesystem, Filesystems, of, waited_for_most
from iowhy.whys.facts.stacks import MAKES_ROOM, RESERVES, ROOM, Through, through

#: ENOSPC and EDQUOT (errno(3)), as calls return them.
NO_SPACE = (-28, -122)
#: btrfs makes room for metadata also while much is left, and a small one more often: a tenth is less than one chunk of each
#: kind needs, which are up to a tenth of it large, and at most 1 GiB (btrfs_calc_stripe_length in fs/btrfs/volumes.c).
SHORT_SHARE = 0.1
SHORT_BYTES = 10 << 30


class Space(Struct, frozen=True):
    """`waits`: by call and reason, what of their waits is for room. Passes of writeback are those that the
    filesystem asked for (fs_free_space). `refused`: calls that failed for want of space or quota; None
    where single calls were not recorded. `filesystem`: the one that was waited for longest."""

    waits: tuple[Through, ...]
    filesystem: Filesystem | None
    passes: int = 0
    pages: float = 0.0
    inodes: int = 0
    refused: int | None = None


_PASSES = """
SELECT count(*) AS passes, coalesce(sum(pages_written), 0) AS pages, count(DISTINCT (dev, ino)) AS inodes
FROM writeback_passes WHERE own AND reason = 'fs_free_space'
"""
_REFUSED = f"SELECT count(*) AS refused FROM file_operations WHERE ret IN {NO_SPACE}"


def space(relations: Relations, filesystems: Filesystems) -> Space:
    """From waits and stacks, writeback, syscalls, filesystems."""
    queries = (("writeback", _PASSES), ("syscalls", _REFUSED))
    waited_for = of(filesystems, waited_for_most(relations))
    functions = MAKES_ROOM | RESERVES if _nearly_full(waited_for) else MAKES_ROOM
    return relations.one(
        Space,
        *(sql for table, sql in queries if relations.has(table)),
        waits=tuple(one for one in through(relations, functions, ROOM) if one.shown_waits),
        filesystem=waited_for,
    )


def _nearly_full(one: Filesystem | None) -> bool:
    """Whether little is left; what is not known shows nothing."""
    if one is None or one.free_bytes is None or one.size_bytes is None:
        return False
    return one.free_bytes <= min(SHORT_SHARE * one.size_bytes, SHORT_BYTES)
