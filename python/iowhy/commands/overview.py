"""All that the page of a verdict shows: the verdict, what experiments proved, and the largest of each layer."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.invocation import typed
from iowhy.measures import measures, values
from iowhy.recordings import Recording
from iowhy.recordings.experiments import Tested, tested
from iowhy.recordings.query_errors import is_out_of_memory, is_query_error
from iowhy.relations import Relations
from iowhy.relations.change_points import Phase
from iowhy.relations.lifetimes import as_if_alone
from iowhy.relations.narrowed import Narrowed
from iowhy.reports import engine
from iowhy.reports.filters import moment
from iowhy.whys.facts import facts_of
from iowhy.whys.verdict import Verdict, verdict_of

if TYPE_CHECKING:  # slow to import: NumPy
    from iowhy.model.predictions import Prediction

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
    #: Statements of databases, the longest first, if a server was asked for them.
    statements: Sequence[Row] = ()
    #: What changes would make of the run, the most helpful first, if it was asked for.
    would_help: Sequence["Prediction"] = ()


def overview(
    recording: Recording,
    *,
    measured: bool = False,
    evidence: bool = False,
    would_help: bool = False,
) -> Overview:
    """Judges a recording and gathers what is next to the verdict: nothing where it cannot say.

    `measured`: the measures as well; `evidence`: the largest of each layer; `would_help`: predictions, which take a second.
    """
    threads: int | None = None
    beside: Sequence[Sequence[Row]] = ((), (), ())
    machine: Sequence[Sequence[Row]] = ((), ())
    known: Mapping[str, float | None] = {}
    statements: Sequence[Row] = ()
    predicted: Sequence[Prediction] = ()
    with facts_of(recording) as facts:
        verdict = verdict_of(facts)
        try:
            threads = _threads(facts.relations)
            machine = _of_machine(facts.relations, recording)
            statements = _statements(facts.relations)
            if would_help:
                from iowhy.model.predictions import helpful, predictions_of

                predicted = helpful(predictions_of(recording, facts.relations))
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
        statements=statements,
        would_help=predicted,
    )


def _statements(relations: Relations) -> Sequence[Row]:
    if not relations.has_statements:
        return ()
    (found,) = engine.rows_all(relations, ("statements",))
    return found


def overview_of(
    recording: Recording,
    pids: tuple[int, ...] = (),
    *,
    phase: int | None = None,
    at: str | None = None,
) -> Overview:
    """As `overview`, of a part of a recording: of some of its processes as if they alone had been watched, while they were there;
    of the phase of a number, or in which a time is.

    Raises Problem for a process that was not recorded, and for a phase or time that there is not.
    """
    narrowed = _as_if_alone(recording, pids) if pids else Narrowed()
    watched = recording
    if phase is not None or at is not None:
        narrowed = _in_phase(recording, narrowed, phase, at)
    if pids:
        command = replace(recording.manifest.command, mode="attach", argv=())
        watched = replace(recording, manifest=replace(recording.manifest, command=command))
    with facts_of(watched, narrowed=narrowed) as facts:
        verdict = verdict_of(facts)
        threads = _threads(facts.relations)
        calls, devices, files = engine.rows_all(facts.relations, REPORTS)
        machine = _of_machine(facts.relations, watched)
        statements = _statements(facts.relations)
    return Overview(
        recording,
        verdict,
        {},
        threads,
        calls,
        devices,
        files,
        suffering=machine[0],
        containers=machine[1],
        statements=statements,
    )


def cause_of_each_phase(recording: Recording) -> list[str | None]:
    """The leading cause of each phase, judged alone; of one phase that of the whole. None: it has none, or is healthy."""
    with recording.damage_named(), Relations(recording) as relations:
        facts, found = relations.facts, relations.phases
    causes: list[str | None] = []
    for number in range(1, len(found) + 1):
        narrowed = _narrowed_to(Narrowed(), facts.start_ns, found, number)
        with facts_of(recording, narrowed=narrowed) as one:
            findings = verdict_of(one).findings
        causes.append(findings[0].cause if findings else None)
    return causes


def _of_machine(relations: Relations, recording: Recording) -> Sequence[Sequence[Row]]:
    """Who suffers and who causes it, and containers, of a whole machine."""
    if recording.manifest.command.mode != "machine":
        return (), ()
    return engine.rows_all(relations, ("suffers", "containers"))


def _in_phase(
    recording: Recording, narrowed: Narrowed, number: int | None, at: str | None
) -> Narrowed:
    """The phase of this number, or in which a time is."""
    with recording.damage_named(), Relations(recording, narrowed=narrowed) as relations:
        facts, found = relations.facts, relations.phases
    if not found:
        raise Problem("no-phases", path=recording.path)
    if at is not None:
        after_ns = (moment("--at", at, recording.manifest, facts) or 0) - facts.start_ns
        if not 0 <= after_ns < facts.elapsed_ns:
            raise Problem("at-not-recorded", at=at, elapsed_ns=facts.elapsed_ns)
        if number is not None:
            raise Problem("phase-and-at")
        number = next(one.number for one in found if after_ns < one.end_ns)
    if number is None or not 0 < number <= len(found):
        raise Problem("no-such-phase", phase=number, phases=len(found), path=typed(recording.path))
    return _narrowed_to(narrowed, facts.start_ns, found, number)


def _narrowed_to(
    narrowed: Narrowed, start_ns: int, found: Sequence[Phase], number: int
) -> Narrowed:
    """What begins before the first phase, or ends after the last, is theirs."""
    one = found[number - 1]
    return replace(
        narrowed,
        since_ns=None if number == 1 else start_ns + one.begin_ns,
        until_ns=None if number == len(found) else start_ns + one.end_ns,
    )


def _as_if_alone(recording: Recording, pids: tuple[int, ...]) -> Narrowed:
    with recording.damage_named(), Relations(recording) as relations:
        known = set(relations.values(int, "SELECT DISTINCT tgid FROM threads"))
        beside = set(relations.values(int, "SELECT DISTINCT tgid FROM neighbours"))
        narrowed = as_if_alone(relations, pids)
    listing = f"`iowhy report processes {typed(recording.path)}` lists them"
    for pid in pids:
        if pid in beside - known:
            raise Problem("pid-from-outside", pid=pid, listing=listing)
        if pid not in known:
            raise Problem("pid-did-nothing", pid=pid, listing=listing)
    return narrowed


def _threads(relations: Relations) -> int | None:
    """How many threads the budget is of; None when none is named."""
    sql = "SELECT count(*) FROM (SELECT tid FROM threads UNION SELECT tid FROM thread_time) AS t"
    return relations.value(int, sql) or None
