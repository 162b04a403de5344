"""What pasted texts are about: the file whose layout they show, else the one whose calls take most time; whether disks only write."""

from iowhy.recordings import Recording

#: What every program reads, and what is no file of a disk.
_SYSTEM = "^/(usr|lib[^/]*|s?bin|etc|proc|sys|dev)/"
_SQL = f"""
WITH laid_out AS (
  SELECT subject AS path, min(value) AS first, 0 AS kind FROM measurements
  WHERE metric IN ('sequentiality', 'extents') AND subject LIKE '/%' GROUP BY subject
), called AS (
  SELECT f.path, -sum(s.dur_ns) AS first, 1 AS kind FROM syscalls AS s JOIN files AS f USING (dev, ino)
  WHERE f.kind = 'file' AND f.path LIKE '/%' AND NOT regexp_matches(f.path, '{_SYSTEM}') GROUP BY f.path
)
SELECT path FROM (SELECT * FROM laid_out UNION ALL SELECT * FROM called) ORDER BY kind, first, path LIMIT 1
"""


def named_file(recording: Recording) -> str | None:
    """Its path; None where the texts name none."""
    found = recording.connection().execute(_SQL).fetchone()
    return None if found is None else str(found[0])


#: Counters of each disk; none is NULL.
_READ = "SELECT bool_or(reads > 0) FROM (SELECT max(reads) - min(reads) AS reads FROM disk_samples GROUP BY dev)"


def only_writes(recording: Recording) -> bool:
    """Whether disks are shown, and none of them reads anything."""
    found = recording.connection().execute(_READ).fetchone()
    return found is not None and found[0] is False
