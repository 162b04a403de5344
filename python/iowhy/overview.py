"""All that the page of a verdict shows: the verdict, what experiments proved, and the largest of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from iowhy.errors import Problem
from iowhy.recording import Recording
from iowhy.recording.experiments import Tested, tested
from iowhy.reports import engine
from iowhy.whys.verdict import Verdict, judge

Row = Mapping[str, object]


@dataclass(frozen=True)
class Overview:
    """`threads` is how many the budget is of, None when none is named; the rows are those of the reports."""

    recording: Recording
    verdict: Verdict
    tested: Mapping[str, Tested]
    threads: int | None
    calls: Sequence[Row]
    devices: Sequence[Row]
    files: Sequence[Row]


def overview(recording: Recording) -> Overview:
    """Judges a recording and gathers what stands beside the verdict."""
    verdict = judge(recording)
    calls, devices, files = _reports(recording)
    return Overview(
        recording, verdict, tested(recording), _threads(recording), calls, devices, files
    )


def _threads(recording: Recording) -> int | None:
    """How many threads the budget is of; None when none is named."""
    with recording.connected() as connection:
        counted = connection.execute(
            """SELECT count(*) FROM (
            SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"""
        ).fetchone()
    return counted[0] if counted and counted[0] else None


def _reports(recording: Recording) -> list[Sequence[Row]]:
    """What the tables below the verdict show; nothing where the recording cannot tell."""
    names = ("syscalls", "devices", "files")
    try:
        return list(engine.rows_all(recording, names))
    except Problem:
        return [[] for _ in names]
