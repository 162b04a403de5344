"""A file that one thread writes again and again as a whole, as for each change of what it holds."""

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys import classes

#: Passes over a file from which that is a way to work.
PASSES = 3
#: A smaller one is as well the first pages of a larger one.
LEAST_BYTES = 32 * 1024
#: Of the file's size in the end, what a pass writes on the mean: one that grows to it has half.
OF_SIZE = 0.4
#: Of all bytes written, those of that file from which writing it is the work.
MOSTLY = 0.8
#: A log is written from its beginning again when its end is reached.
_RING = r".*(wal|journal|redo|log)[^/]*"


class Rewritten(Struct, frozen=True):
    """How often the file was written, and the part (0..1) of what was written that one more pass would not have."""

    path: str
    passes: int
    part: float


_MOST = f"""
WITH writes AS (
  SELECT tid, dev, ino, "offset", ret FROM syscalls
  WHERE name IN {classes.quoted(classes.DATA_WRITES)} AND ret > 0 AND "offset" IS NOT NULL AND ino IS NOT NULL
), by_file AS (
  SELECT tid, dev, ino, sum(ret) AS written, max("offset" + ret) AS size, count(*) FILTER ("offset" = 0) AS passes
  FROM writes GROUP BY tid, dev, ino
)
SELECT f.path, passes, 1 - size / written AS part FROM by_file AS b JOIN named_files AS f ON f.dev = b.dev AND f.ino = b.ino
WHERE f.kind = 'file' AND NOT regexp_full_match(lower(f.path), {text_literal(_RING)})
  AND passes >= {PASSES} AND size >= {LEAST_BYTES} AND written >= {OF_SIZE} * passes * size
  AND written >= {MOSTLY} * (SELECT sum(ret) FROM writes)
ORDER BY written DESC, f.path LIMIT 1
"""


def measure(relations: Relations) -> Rewritten | None:
    """None if there is no such file, or calls were not recorded one by one."""
    return relations.first(Rewritten, _MOST) if relations.has("syscalls") else None
