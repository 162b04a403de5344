"""The journals of the file systems that the command used."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


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


def measure(facts: "Facts") -> Journal:
    """From journal_commits."""
    if not facts.has("journal_commits"):
        ran = facts.recording.ran("journal_jbd2") or facts.recording.ran("journal_xfs")
        return Journal(0 if ran else None, None, None, None, None, None, None)
    row = facts.numbers(
        f"""
        SELECT count(*) AS n, sum(dur_ns) AS t, avg(dur_ns) AS mean,
          sum(flushing_ns) / nullif(sum(CASE WHEN flushing_ns IS NOT NULL THEN dur_ns END), 0)
            AS flushing,
          sum(logging_ns) / nullif(sum(CASE WHEN logging_ns IS NOT NULL THEN dur_ns END), 0)
            AS logging,
          avg(handles) AS handles, avg(blocks) AS blocks
        FROM journal_commits WHERE {facts.own_filesystems()}
        """
    )
    return Journal(
        commits=int(row["n"] or 0),
        time_ns=row["t"],
        mean_ns=row["mean"],
        flushing_share=row["flushing"],
        logging_share=row["logging"],
        handles_per_commit=row["handles"],
        blocks_per_commit=row["blocks"],
    )
