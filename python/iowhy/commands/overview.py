"""All that the page of a verdict shows: the verdict, what experiments proved, and the largest of each layer."""

from collections.abc import Mapping, Sequence

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.invocation import typed
from iowhy.measures import measures, values
from iowhy.recordings import Recording
from iowhy.recordings.experiments import Tested, tested
from iowhy.recordings.query_errors import is_out_of_memory, is_query_error
from iowhy.relations import Relations
from iowhy.relations.lifetimes import as_if_alone
from iowhy.relations.narrowed import Narrowed
from iowhy.reports import engine
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import Verdict, verdict_of

Row = Mapping[str, object]

#: What stands beside the verdict.
REPORTS = ("syscalls", "devices", "file-patterns")


class Overview(Struct, frozen=True):
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
    #: Of a whole machine, who suffers and who causes it, and its containers and services.
    suffering: Sequence[Row] = ()
    containers: Sequence[Row] = ()


def overview(
    recording: Recording,
    *,
    measured: bool = False,
    evidence: bool = False,
) -> Overview:
    """Judges a recording and gathers what is next to the verdict: nothing where it cannot say.

    `measured`: the measures as well; `evidence`: the largest of each layer.
    """
    threads: int | None = None
    beside: Sequence[Sequence[Row]] = ((), (), ())
    machine: Sequence[Sequence[Row]] = ((), ())
    known: Mapping[str, float | None] = {}
    with facts_of(recording) as facts:
        verdict = verdict_of(facts)
        try:
            threads = _threads(facts.relations)
            if recording.manifest.command.mode == "machine":
                machine = engine.rows_all(facts.relations, ("suffers", "containers"))
            if evidence:
                beside = engine.rows_all(facts.relations, REPORTS)
            if measured:
                known = values(facts.relations, measures().values())
        except Exception as error:
            told = isinstance(error, Problem) or is_query_error(error)
            if not told or is_out_of_memory(error):
                raise
    calls, devices, files = beside
    return Overview(
        recording,
        verdict,
        tested(recording),
        threads,
        calls,
        devices,
        files,
        known,
        suffering=machine[0],
        containers=machine[1],
    )


def overview_of(recording: Recording, pids: tuple[int, ...]) -> Overview:
    """As `overview`, of some of the processes of a recording as if they alone had been watched, while they were there.

    Raises Problem for one that was not recorded.
    """
    narrowed = _as_if_alone(recording, pids)
    command = replace(recording.manifest.command, mode="attach", argv=())
    watched = replace(recording, manifest=replace(recording.manifest, command=command))
    with facts_of(watched, narrowed=narrowed) as facts:
        verdict = verdict_of(facts)
        threads = _threads(facts.relations)
        beside = engine.rows_all(facts.relations, REPORTS)
    calls, devices, files = beside
    return Overview(recording, verdict, {}, threads, calls, devices, files)


def _as_if_alone(recording: Recording, pids: tuple[int, ...]) -> Narrowed:
    with recording.damage_named(), Relations(recording) as relations:
        known = set(relations.values(int, "SELECT DISTINCT tgid FROM threads"))
        beside = set(relations.values(int, "SELECT DISTINCT tgid FROM neighbours"))
        narrowed = as_if_alone(relations, pids)
    listing = f"`iowhy report processes {typed(recording.path)}` lists them"
    for pid in pids:
        if pid in beside - known:
            raise Problem("pid-only-what-did", pid=pid, listing=listing)
        if pid not in known:
            raise Problem("pid-no-process-recording", pid=pid, listing=listing)
    return narrowed


def _threads(relations: Relations) -> int | None:
    """How many threads the budget is of; None when none is named."""
    sql = "SELECT count(*) FROM (SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"
    return relations.value(int, sql) or None
