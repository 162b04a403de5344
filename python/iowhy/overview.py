"""All that the page of a verdict shows: the verdict, what experiments proved, and the largest of each layer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from iowhy.errors import Problem
from iowhy.measures import measures, values
from iowhy.recording import Recording
from iowhy.recording.experiments import Tested, tested
from iowhy.recording.query_errors import is_out_of_memory, is_query_error
from iowhy.relations import Relations
from iowhy.reports import engine
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import Verdict, verdict_of

Row = Mapping[str, object]


@dataclass(frozen=True)
class Overview:
    """`threads` is how many the budget is of, None when none is named; the rows are those of the reports.

    `measured` are all measures by name, None for what is not known; empty where they were not asked for.
    """

    recording: Recording
    verdict: Verdict
    tested: Mapping[str, Tested]
    threads: int | None
    calls: Sequence[Row]
    devices: Sequence[Row]
    files: Sequence[Row]
    measured: Mapping[str, float | None] = field(default_factory=dict)


def overview(recording: Recording, *, keep: bool = False, measured: bool = False) -> Overview:
    """Judges a recording and gathers what stands beside the verdict: nothing where it cannot tell.

    `keep`: answers are taken from the user's cache and kept there, so that the next call is quick. `measured`:
    the measures as well.
    """
    threads: int | None = None
    beside: Sequence[Sequence[Row]] = ((), (), ())
    known: Mapping[str, float | None] = {}
    with facts_of(recording, keep=keep) as facts:
        verdict = verdict_of(facts)
        try:
            threads = _threads(facts.relations)
            beside = engine.rows_all(facts.relations, ("syscalls", "devices", "files"))
            if measured:
                known = values(facts.relations, measures().values())
        except Exception as error:
            told = isinstance(error, Problem) or is_query_error(error)
            if not told or is_out_of_memory(error):
                raise
    calls, devices, files = beside
    return Overview(recording, verdict, tested(recording), threads, calls, devices, files, known)


def _threads(relations: Relations) -> int | None:
    """How many threads the budget is of; None when none is named."""
    counted = relations.rows(
        """SELECT count(*) FROM (
        SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"""
    )[0][0]
    return counted if isinstance(counted, int) and counted else None
