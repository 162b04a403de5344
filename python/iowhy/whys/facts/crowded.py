"""Small syncs of a log while other data of the program is written to the same disk, compared with those that are alone there."""

from msgspec import Struct

from iowhy.relations import Relations


class Crowded(Struct, frozen=True):
    """Calls and their time, those that meet writes of other data and those that are alone; `path`: of most of that time a file,
    or the folder of several; None if not known.

    `meeting_wall_ns`: time in which at least one that meets such writes was under way. `other_bytes`: of other data
    written there while the recording lasted; `writer`: the process that asked for most of it, None if none did in calls.
    """

    meeting: int
    meeting_ns: float
    meeting_wall_ns: float
    alone: int
    alone_ns: float
    path: str | None
    other_bytes: float
    writer: str | None

    @property
    def times(self) -> float:
        """How many times as long one takes that meets other data."""
        return (self.meeting_ns / self.meeting) / (self.alone_ns / self.alone)

    @property
    def more_ns(self) -> float:
        """Elapsed time that goes if they take as long as those that are alone."""
        return self.meeting_wall_ns * (1 - 1 / self.times)


_CROWDED = """
WITH s AS (
  SELECT * FROM small_syncs
  WHERE disk_dev = (SELECT disk_dev FROM small_syncs GROUP BY disk_dev ORDER BY sum(dur_ns) DESC, disk_dev LIMIT 1)
), small AS (SELECT dev, ino, sum(dur_ns) AS ns FROM s GROUP BY dev, ino
), logs AS (
  SELECT f.path, regexp_replace(f.path, '/[^/]*$', '') AS folder, x.ns
  FROM small AS x JOIN named_files AS f ON f.dev = x.dev AND f.ino = x.ino WHERE f.path IS NOT NULL
), crowd AS (
  SELECT ts_ns, ts_ns + dur_ns AS end_ns,
    max(ts_ns + dur_ns) OVER (ORDER BY ts_ns, tid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before_ns
  FROM s WHERE meeting_ns > 0
), asked AS (
  SELECT o.tgid, sum(o.ret) AS bytes
  FROM file_operations AS o JOIN call_kinds AS k ON k.name = o.name
  LEFT JOIN small AS x ON x.dev = o.dev AND x.ino = o.ino
  LEFT JOIN named_files AS f ON f.dev = o.dev AND f.ino = o.ino
  WHERE k.kind = 'write' AND o.ret > 0 AND x.ino IS NULL AND f.kind = 'file' AND o.dev IN (SELECT dev FROM small)
  GROUP BY o.tgid
)
SELECT count(*) FILTER (WHERE meeting_ns > 0) AS meeting, coalesce(sum(dur_ns) FILTER (WHERE meeting_ns > 0), 0) AS meeting_ns,
  (SELECT coalesce(sum(greatest(0, end_ns - greatest(ts_ns, coalesce(before_ns, ts_ns)))), 0) FROM crowd) AS meeting_wall_ns,
  count(*) FILTER (WHERE meeting_ns = 0) AS alone, coalesce(sum(dur_ns) FILTER (WHERE meeting_ns = 0), 0) AS alone_ns,
  (SELECT CASE WHEN count(*) > 1 THEN folder ELSE max(path) END FROM logs GROUP BY folder ORDER BY sum(ns) DESC, folder LIMIT 1) AS path,
  (SELECT coalesce(sum(q.bytes), 0) FROM command_data_requests AS q
   LEFT JOIN small AS x ON x.dev = q.owner_dev AND x.ino = q.owner_ino
   WHERE q.op = 'write' AND q.owner_kind = 'data' AND x.ino IS NULL AND q.dev = any_value(s.disk_dev)) AS other_bytes,
  (SELECT p.comm FROM asked AS a JOIN named_processes AS p ON p.tgid = a.tgid ORDER BY a.bytes DESC, a.tgid LIMIT 1) AS writer
FROM s HAVING count(*) > 0
"""


def crowded(relations: Relations, alone: int, meeting: int) -> Crowded | None:
    """Of the disk where small syncs take most time; None where fewer than so many calls of either kind are known."""
    if not relations.has("syscalls") or not relations.has("block_requests"):
        return None
    sums = relations.first(Crowded, _CROWDED)
    if sums is None or sums.alone < alone or sums.meeting < meeting:
        return None
    return sums if sums.alone_ns else None
