"""Files that one process reads again and again from memory."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes


class Reread(Struct, frozen=True):
    """The bytes that its calls returned, those that the files have, and what of these calls' CPU time is for bytes that it had been given
    before. `path`: the file with most of that; None if it has no name."""

    read_bytes: int
    size_bytes: int
    again_cpu_ns: float
    path: str | None
    files: int


# A call that moves little costs more than what it copies.
_READ = f"""
WITH asked AS (
    SELECT tgid, dev, ino, sum(done_bytes) AS read_bytes, sum(cpu_ns) AS cpu_ns
    FROM calls_by_file
    WHERE name IN {classes.quoted(classes.DATA_READS)} AND NOT tiny AND file_kind = 'file' AND cpu_ns IS NOT NULL
    GROUP BY tgid, dev, ino
), found AS (
    SELECT a.read_bytes, f.size_bytes, f.path,
        a.cpu_ns * (1 - f.size_bytes / a.read_bytes::DOUBLE) AS again_cpu_ns
    FROM asked a JOIN named_files f ON f.dev = a.dev AND f.ino = a.ino
    WHERE f.size_bytes > 0 AND a.read_bytes >= {{times}} * f.size_bytes
)
SELECT sum(read_bytes)::BIGINT AS read_bytes, sum(size_bytes)::BIGINT AS size_bytes, sum(again_cpu_ns)::DOUBLE AS again_cpu_ns,
    arg_max(path, again_cpu_ns) AS path, count(*) AS files
FROM found HAVING count(*) > 0
"""


def reread(relations: Relations, times: float) -> Reread | None:
    """Of the files of which one process read so many times what they have; None if there is none, or that is not known."""
    if not relations.has("syscalls"):
        return None
    return relations.first(Reread, _READ.format(times=times))
