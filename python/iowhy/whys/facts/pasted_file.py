"""What pasted texts are about: the file whose layout they show, else the one whose calls take most time; whether disks only write."""

from iowhy.relations import Relations

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


def named_file(relations: Relations) -> str | None:
    """Its path; None where the texts name none."""
    return relations.value(str, _SQL)


def only_writes(relations: Relations) -> bool:
    """Whether disks are shown, and none of them reads anything."""
    return relations.value(bool, "SELECT bool_or(reads > 0) FROM disk_steps") is False
