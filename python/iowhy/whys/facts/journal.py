"""The journals of the file systems that the command used."""

from iowhy.data_class import dataclass
from iowhy.relations import Relations


@dataclass(frozen=True)
class Journal:
    """Over all commits; `flushing_share`: of their time, writing the data of ordered files."""

    commits: int | None
    time_ns: float | None
    mean_ns: float | None
    flushing_share: float | None
    logging_share: float | None
    handles_per_commit: float | None
    blocks_per_commit: float | None


@dataclass(frozen=True)
class _Commits:
    commits: int
    time_ns: int | None
    mean_ns: float | None
    flushing_share: float | None
    logging_share: float | None
    handles_per_commit: float | None
    blocks_per_commit: float | None


_COMMITS = """
SELECT coalesce(sum(commits), 0) AS commits, sum(total_ns) AS time_ns,
  sum(total_ns) / nullif(sum(timed), 0) AS mean_ns,
  sum(flushing_ns) / nullif(sum(flushing_of_ns), 0) AS flushing_share,
  sum(logging_ns) / nullif(sum(logging_of_ns), 0) AS logging_share,
  sum(handles) / nullif(sum(with_handles), 0) AS handles_per_commit,
  sum(blocks) / nullif(sum(with_blocks), 0) AS blocks_per_commit
FROM journal_totals WHERE own
"""


def measure(relations: Relations) -> Journal:
    """From the relation journal_totals."""
    if not relations.has("journal_commits"):
        ran = {"journal_jbd2", "journal_xfs"} & relations.facts.ran
        return Journal(0 if ran else None, None, None, None, None, None, None)
    found = relations.one(_Commits, _COMMITS)
    return Journal(
        commits=found.commits,
        time_ns=found.time_ns,
        mean_ns=found.mean_ns,
        flushing_share=found.flushing_share,
        logging_share=found.logging_share,
        handles_per_commit=found.handles_per_commit,
        blocks_per_commit=found.blocks_per_commit,
    )
