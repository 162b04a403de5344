"""The journals of the file systems that the command used."""

from msgspec import Struct

from iowhy.relations import Relations


class Journal(Struct, frozen=True):
    """Over all commits; `flushing_share`: of their time, handing the data of ordered files to the device (`ordered_share` has all of it)."""

    commits: int | None = None
    time_ns: float | None = None
    mean_ns: float | None = None
    flushing_share: float | None = None


_COMMITS = """
SELECT coalesce(sum(commits), 0) AS commits, sum(total_ns) AS time_ns,
  sum(total_ns) / nullif(sum(timed), 0) AS mean_ns,
  sum(flushing_ns) / nullif(sum(flushing_of_ns), 0) AS flushing_share
FROM journal_totals WHERE own
"""


def measure(relations: Relations) -> Journal:
    """From the relation journal_totals."""
    if not relations.has("journal_commits"):
        ran = {"journal_jbd2", "journal_xfs"} & relations.facts.ran
        return Journal(0 if ran else None)
    return relations.one(Journal, _COMMITS)


#: jbd2 hands the data of ordered files to the device (its phase of flushing) and waits for them in its phase of logging, before it
#: writes the commit (fs/jbd2/commit.c: journal_submit_data_buffers, journal_finish_inode_data_buffers): a device with a long queue takes
#: all of them at once. So the last of them that was handed over by then, and done before the commit was, says how long they took.
_ORDERED = """
WITH commits AS (
  SELECT dev, ts_ns, dur_ns, flushing_ns, ts_ns + dur_ns AS end_ns, ts_ns + dur_ns - logging_ns AS handed_ns
  FROM journal_commits
  WHERE dur_ns IS NOT NULL AND flushing_ns IS NOT NULL AND logging_ns IS NOT NULL
    AND dev IN (SELECT dev FROM command_filesystems)
), done AS (
  SELECT c.dev, c.ts_ns, max(r.complete_ns) AS last_ns
  FROM commits AS c
  JOIN block_requests AS r ON r.owner_dev = c.dev AND r.queue_ns <= c.handed_ns AND r.complete_ns > c.handed_ns
    AND r.complete_ns <= c.end_ns
  WHERE r.op = 'write' AND r.owner_kind = 'data'
  GROUP BY c.dev, c.ts_ns
)
SELECT CAST(sum(c.flushing_ns + coalesce(d.last_ns - c.handed_ns, 0)) AS DOUBLE) / nullif(sum(c.dur_ns), 0) AS share
FROM commits AS c LEFT JOIN done AS d ON d.dev = c.dev AND d.ts_ns = c.ts_ns
"""


def ordered_share(relations: Relations) -> float | None:
    """Of the time of all commits, the share in which they write data of ordered files or wait for those; None where not known."""
    if not relations.has("journal_commits") or not relations.has("block_requests"):
        return None
    return relations.value(float, _ORDERED)
