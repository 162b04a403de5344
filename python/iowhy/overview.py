"""All that the page of a verdict shows: the verdict, what experiments proved, and the largest of each layer."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

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
    """Judges a recording and gathers what stands beside the verdict: nothing where it cannot tell."""
    verdict = judge(recording)
    threads: int | None = None
    beside: Sequence[Sequence[Row]] = ((), (), ())
    with suppress(Problem), recording.connected() as connection:
        threads = _threads(connection)
        beside = engine.rows_all(recording, ("syscalls", "devices", "files"), connection)
    calls, devices, files = beside
    return Overview(recording, verdict, tested(recording), threads, calls, devices, files)


def _threads(connection: DuckDBPyConnection) -> int | None:
    """How many threads the budget is of; None when none is named."""
    counted = connection.execute(
        """SELECT count(*) FROM (
        SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"""
    ).fetchone()
    return counted[0] if counted and counted[0] else None
