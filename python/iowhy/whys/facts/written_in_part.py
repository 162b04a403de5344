"""Writes of a part of a block that is not in memory: its rest is read first (read-modify-write).

The page cache keeps whole blocks. A buffered write that leaves a part of one as it is needs that part; one from bound to bound needs
nothing (fs/buffer.c, __block_write_begin; fs/iomap/buffered-io.c, __iomap_write_begin).
"""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes

#: Reason of such waits (tables/reasons.toml).
REASON = "partial_write"


class PartialWrites(Struct, frozen=True):
    """`calls` that wait so, `waits` of them, on `files` files, of which `path` is waited for longest (None: it has no name).

    `writes` and `written_bytes`: all calls of these names on these files, and what they wrote; `reads` and `read_bytes`: requests that
    read these files; None where they were not recorded. `block_bytes`: of the filesystem of the file that is waited for
    longest, None if not known.
    """

    calls: tuple[str, ...]
    waits: int = 0
    files: int = 0
    path: str | None = None
    block_bytes: int | None = None
    writes: int | None = None
    written_bytes: int | None = None
    reads: int | None = None
    read_bytes: int | None = None

    @property
    def mean_bytes(self) -> float | None:
        """What a write writes, on average."""
        return self.written_bytes / self.writes if self.writes and self.written_bytes else None


_CALLS = f"""
SELECT syscall FROM wait_totals
WHERE reason = '{REASON}' AND syscall IS NOT NULL GROUP BY syscall ORDER BY sum(total_ns) DESC, syscall
"""

_WAITED = f"""
SELECT dev, ino, sum(dur_ns) AS ns, count(*) AS waits FROM waits
WHERE reason = '{REASON}' AND syscall IS NOT NULL AND ino IS NOT NULL GROUP BY dev, ino
"""

_LONGEST = f"""
WITH waited AS ({_WAITED})
SELECT f.path, s.block_bytes, (SELECT count(*) FROM waited) AS files,
  CAST((SELECT sum(waits) FROM waited) AS BIGINT) AS waits
FROM waited w
LEFT JOIN named_files f ON f.dev = w.dev AND f.ino = w.ino
LEFT JOIN (SELECT dev, max(block_bytes) AS block_bytes FROM filesystems GROUP BY dev) s ON s.dev = w.dev
ORDER BY w.ns DESC, w.dev, w.ino LIMIT 1
"""

_WRITES = f"""
SELECT coalesce(sum(a.calls), 0) AS writes, sum(a.done_bytes) AS written_bytes
FROM calls_by_file a JOIN ({_WAITED}) w ON w.dev = a.dev AND w.ino = a.ino
WHERE a.name IN {{names}}
"""

_READS = f"""
SELECT count(*) AS reads, sum(r.bytes) AS read_bytes
FROM command_requests r JOIN ({_WAITED}) w ON w.dev = r.owner_dev AND w.ino = r.owner_ino
WHERE r.op = 'read'
"""


def partial_writes(relations: Relations) -> PartialWrites | None:
    """From waits, files, filesystems, the calls and block_requests; None where no call waits so."""
    if not relations.has("waits"):
        return None
    calls = tuple(relations.values(str, _CALLS))
    if not calls:
        return None
    queries: list[str] = []
    if relations.rows(_LONGEST):
        names = classes.quoted(frozenset(calls))
        writes, reads = ("syscalls", _WRITES.format(names=names)), ("block_requests", _READS)
        queries = [_LONGEST, *(sql for table, sql in (writes, reads) if relations.has(table))]
    return relations.one(PartialWrites, *queries, calls=calls)
