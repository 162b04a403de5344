"""Where the files lie: extents after (else before) the command, and who allocated them."""

from dataclasses import dataclass

from iowhy.relations import Relations


@dataclass(frozen=True)
class File:
    """`sequentiality`: share of neighbouring blocks in the file that are neighbours on the device.

    As AIX' fileplace counts it, 1.0 for one extent. `writers` and `interleaved` are of its
    allocations: distinct threads, and the share that another thread made than the one before.
    """

    dev: int
    ino: int
    path: str | None
    extents: int
    bytes: float
    sequentiality: float
    allocations: int | None
    writers: int | None
    interleaved: float | None

    @property
    def mean_extent_bytes(self) -> float:
        """Mean length of an extent."""
        return self.bytes / max(1, self.extents)


@dataclass(frozen=True)
class Layout:
    """The files whose extents were read, most extents first (at most 50)."""

    files: tuple[File, ...]

    def file(self, dev: int, ino: int) -> File | None:
        """One file's layout."""
        return next((f for f in self.files if (f.dev, f.ino) == (dev, ino)), None)


_FILES = """
WITH phases AS (
  SELECT dev, ino, max(CASE WHEN phase = 'after' THEN 1 ELSE 0 END) AS late FROM extents
  GROUP BY dev, ino
), e AS (
  SELECT x.dev, x.ino, x.logical_bytes, x.physical_bytes, x.bytes FROM extents AS x
  JOIN phases AS p ON p.dev = x.dev AND p.ino = x.ino
    AND x.phase = CASE WHEN p.late = 1 THEN 'after' ELSE 'before' END
  WHERE x.physical_bytes IS NOT NULL
), o AS (
  SELECT *, lag(physical_bytes + bytes) OVER (
    PARTITION BY dev, ino ORDER BY logical_bytes) AS before FROM e
), l AS (
  SELECT dev, ino, count(*) AS n, sum(bytes) AS bytes,
    sum(CASE WHEN before IS NOT NULL AND physical_bytes <> before THEN 1 ELSE 0 END) AS breaks
  FROM o GROUP BY dev, ino
), a AS (
  SELECT dev, ino, tid, lag(tid) OVER (PARTITION BY dev, ino ORDER BY ts_ns) AS last
  FROM allocations
), w AS (
  SELECT dev, ino, count(*) AS allocations, count(DISTINCT tid) AS writers,
    avg(CASE WHEN last IS NULL THEN NULL WHEN tid <> last THEN 1.0 ELSE 0.0 END) AS mixed
  FROM a GROUP BY dev, ino
)
SELECT l.dev, l.ino, f.path, l.breaks + 1 AS extents, l.bytes,
  CASE WHEN l.bytes <= {page} THEN 1.0
    ELSE greatest(0.0, 1 - l.breaks / (l.bytes / {page} - 1)) END AS sequentiality,
  w.allocations, w.writers, w.mixed AS interleaved
FROM l LEFT JOIN w ON w.dev = l.dev AND w.ino = l.ino
LEFT JOIN named_files AS f ON f.dev = l.dev AND f.ino = l.ino
ORDER BY l.breaks DESC, l.bytes DESC LIMIT 50
"""


def measure(relations: Relations) -> Layout:
    """From extents and allocations."""
    if not relations.has("extents"):
        return Layout(())
    page = relations.facts.page_bytes
    return Layout(tuple(relations.read(File, _FILES.format(page=page))))
