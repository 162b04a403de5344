"""Files that are opened again for each little that is moved."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.facts.copied_up import OPENS

#: Opens of a file from which keeping it open is another way to work: what is written and read back is opened twice.
REOPENED = 4


class Reopened(Struct, frozen=True):
    """How often files were opened, how many they are, and the time in all calls that come with the opens: those made at least half as often."""

    opens: int
    files: int
    calls_ns: float


_COUNTED = f"""
WITH by_file AS (
  -- What each process opens once, as a library, no one of them can keep open for the others.
  SELECT dev, ino, sum(calls - errors) AS opens FROM call_sums
  WHERE name IN {classes.quoted(OPENS)} AND ino IS NOT NULL GROUP BY tgid, dev, ino
), opened AS (
  SELECT coalesce(sum(opens), 0) AS opens, count(*) AS files FROM by_file WHERE opens >= {REOPENED}
), named AS (
  SELECT name, sum(calls) AS calls, sum(total_ns) AS ns FROM syscall_totals GROUP BY name
)
SELECT opens::BIGINT AS opens, files, coalesce(sum(ns), 0)::DOUBLE AS calls_ns
FROM opened LEFT JOIN named ON 2 * calls >= opens GROUP BY opens, files
"""


def measure(relations: Relations) -> Reopened | None:
    """None if that was not recorded, or no file is opened so often."""
    if not (relations.has("syscalls") and relations.has("syscall_totals")):
        return None
    found = relations.first(Reopened, _COUNTED)
    return None if found is None or not found.files else found
