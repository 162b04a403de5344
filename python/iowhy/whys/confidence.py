"""How sure a finding is: what lowers its confidence, each with the reason in words."""

from collections.abc import Collection, Iterator
from functools import cache

from iowhy.recordings.schema import tables
from iowhy.sentences import Sentence, worded
from iowhy.tables import sensors
from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate

#: A run below this says little: start-up weighs as much as the work. One second is also ten
#: readings of the counters, which come at 10 Hz.
SHORT_NS = 1_000_000_000
#: Intervals below which a share may be one accident.
FEW_INTERVALS = 3
#: Rows that could not be read, from this share on, may be what would show the contrary.
FEW_SKIPPED = 0.1
#: Of a table that only what could be in its place is seen by, from this share on that may be missed.
MISSED_SHARE = 0.1
#: The recorder's share of the machine's CPU time above which it changes what it measures.
RECORDER_SHARE = 0.05
#: The highest confidence in the whole from evidence of a part: as high as in the contrary.
PART = 0.5
#: Where a budget's shares come from, by its basis.
_BASIS = {
    "machine": ("cpu_samples",),
    "threads": ("thread_time",),
    "calls": ("syscalls", "syscall_totals", "measurements"),
    "waits": ("measurements",),
    "job": ("measurements",),
}
#: The tables behind a report, if other tools print them.
_REPORTS = {
    "devices": ("disk_samples",),
    "measurements": ("measurements", "histograms"),
    "cgroup": ("cgroup_samples",),
    "pressure": ("pressure_samples",),
    "cache": ("page_cache",),
}
#: Share of events lost that may be ignored: below it no share moves by a whole point.
LOST_SHARE = 0.001
#: What describes others' rows, by the sensor whose rows these are: without them, what these say has no name or place.
_DESCRIBES = {
    "block_requests": ("devices", "filesystems"),
    "disk_samples": ("devices",),
    "thread_time": ("threads",),
    "waits": ("filesystems",),
    "syscalls": ("filesystems",),
}
_DESCRIBED = frozenset(
    {*(name for named in _DESCRIBES.values() for name in named), "files", "stacks", "user_stacks"}
)


#: Classes of time of which a table alone shows something: it has the calls that are not kept one by one, or the names of threads, by which
#: servers are known, and which thread waits for which, or what flushes take.
_SHOWS = {
    "syscall_totals": frozenset({classes.IDLE, classes.KERNEL}),
    "threads": frozenset({classes.IDLE}),
    "flush_sums": frozenset({classes.SYNC}),
    "flushing_sums": frozenset({classes.SYNC}),
}
#: Sensors of causes that find the command's own part by its threads.
_KNOWS_ITS_OWN = frozenset({"page_cache", "dirty_throttle", "async_operations"})


#: What lowers a confidence: its factor, what it is then at most, and the reason.
_Doubt = tuple[float, float, Sentence]


def confidence(
    facts: Facts, candidate: Candidate, rivals: Collection[str] = ()
) -> tuple[float, tuple[str, ...]]:
    """The candidate's own confidence, lowered by what the recording lacks of that which it hangs on; with the reasons.

    `rivals` are sensors without which no cause is found that would take its time.
    """
    value = candidate.confidence
    reasons = list(candidate.lowered_by)
    if facts.manifest.source != "live":
        rivals = ()
    own = tables_of((*candidate.needs, *_BASIS[facts.budget.basis]))
    hangs_on = own | tables_of(rivals)
    hangs_on -= {one for one in hangs_on & _SHOWS.keys() if not _matters(facts, candidate, one)}
    for factor, most, said in (
        *_of_rows(facts, hangs_on, own),
        *_of_sensors(facts, candidate, rivals),
        *_of_the_run(facts, candidate),
    ):
        value = min(value * factor, most)
        reasons.append(said)
    return max(0.05, min(0.99, value)), tuple(reasons)


def tables_of(names: Collection[str]) -> frozenset[str]:
    """What sensors fill, of these names those that are; sums of it, and what describes it."""
    own = {table for name in names for table in _filled(name)}
    return frozenset(own | {one.name for one in tables().values() if one.sums in own})


def _matters(facts: Facts, candidate: Candidate, table: str) -> bool:
    """Whether the time that a table shows could be as much as what the candidate claims, or is a part of it."""
    claimed = frozenset(cls for claim in candidate.claims for cls in claim.classes)
    shown = _SHOWS[table]
    if (
        candidate.fixed_share is not None
        or not facts.budget.known
        or not claimed
        or claimed & shown
    ):
        return True
    own = _KNOWS_ITS_OWN.intersection(candidate.needs) or facts.relations.has("async_operations")
    if table == "threads" and own:
        return True
    return facts.budget.elapsed(*shown) >= facts.budget.elapsed(*claimed)


@cache
def _filled(name: str) -> tuple[str, ...]:
    sensor = sensors().get(name)
    own = (name,) if sensor is None else sensor.tables
    return tuple(one for one in (*own, *_DESCRIBES.get(name, ())) if one in tables())


def _of_rows(facts: Facts, hangs_on: Collection[str], own: Collection[str]) -> Iterator[_Doubt]:
    """What was lost, what is not there, and what does not add up; `own`: of it, what the finding itself is seen by."""
    run = facts.run
    # Incomplete sums are not used; the rows that they add up may be. Of what describes other rows, that counts which these lack.
    counting = {name for name in hangs_on if tables()[name].sums is None and name not in _DESCRIBED}
    for table, lost in run.lost.items():
        share = lost / max(1, lost + run.kept.get(table, 0))
        if share > LOST_SHARE and (run.pasted or table in counting):
            said = "{events:count event} of {table} were lost ({share:share})"
            why = worded("events-lost", said, events=lost, table=table, share=share)
            missed = table not in own and share > MISSED_SHARE
            yield max(0.5, 1 - share), PART if missed else 1.0, why
    for one in run.mismatches:
        if one.share > LOST_SHARE and one.table in counting:
            said = "{table}: {differs}"
            why = worded("rows-differ", said, table=one.table, differs=one.words)
            yield max(0.5, 1 - one.share), PART, why
    for short in facts.shorts:
        if short.table in hangs_on:
            yield 1.0, PART, short.words


def _of_sensors(facts: Facts, candidate: Candidate, rivals: Collection[str]) -> Iterator[_Doubt]:
    """Requests whose end was not seen, and sensors that did not run."""
    run = facts.run
    if run.pasted:
        return
    if "block_requests" in candidate.needs:
        found = facts.requests
        share = found.unseen / max(1, found.count)
        if share > LOST_SHARE:
            said = "the end of {requests:count request} was not seen ({share:share})"
            yield (
                max(0.5, 1 - share), 1.0, worded("ends-unseen", said, requests=found.unseen, share=share)
            )  # fmt: skip
    for sensor in dict.fromkeys((*candidate.needs, *rivals)):
        if not facts.recording.ran(sensor):
            said = "the sensor {sensor} did not run: {why}"
            missing = run.missing.get(sensor, "was not asked for")
            why = worded("sensor-missing", said, sensor=sensor, why=missing)
            factor = 0.75 if sensor in candidate.needs else 1.0
            yield factor, PART if sensor in rivals else 1.0, why


def _of_the_run(facts: Facts, candidate: Candidate) -> Iterator[_Doubt]:
    """What was recorded, and how much of it."""
    run, intervals = facts.run, facts.budget.intervals
    if run.elapsed_ns is not None and run.elapsed_ns < SHORT_NS and not run.pasted:
        yield 0.7, 1.0, worded("short-run", "the run is short ({took:ns})", took=run.elapsed_ns)
    elif intervals is not None and intervals < FEW_INTERVALS:
        said = "only {intervals:count interval} of time {verb} recorded"
        verb = "was" if intervals == 1 else "were"
        yield 0.8, 1.0, worded("few-intervals", said, intervals=intervals, verb=verb)
    if run.recorder_cpu_share is not None and run.recorder_cpu_share > RECORDER_SHARE:
        said = "the recorder itself took {share:share} of the CPU time"
        yield 0.85, 1.0, worded("recorder-cost", said, share=min(1.0, run.recorder_cpu_share))
    if facts.budget.basis == "machine":
        said = "the figures are for the whole machine, not for one command"
        yield 0.85, 1.0, worded("of-the-machine", said)
    elif facts.budget.basis in ("calls", "waits"):
        said = "the shares are of what one tool counted, not of all time"
        yield 0.9, 1.0, worded("of-one-tool", said)
    if not run.complete:
        yield 0.9, 1.0, worded("cut-off", "the recording was cut off before its end")
    if run.skipped:
        most = 1.0 if run.skipped_share < FEW_SKIPPED else PART
        yield 1 - run.skipped_share, most, rows_not_read(facts)
    part = part_shown(facts, candidate)
    if part is not None:
        said = "the text shows only part of what happened: {part}"
        yield 1.0, PART, worded("only-part", said, part=part)


def rows_not_read(facts: Facts) -> Sentence:
    """How many rows of other tools' texts count for nothing."""
    said = "{skipped:count} of {figures:count row} of numbers could not be read"
    return worded("rows-not-read", said, skipped=facts.run.skipped, figures=facts.run.figures)


def part_shown(facts: Facts, candidate: Candidate) -> str | None:
    """Why the evidence of a candidate is only part of what happened; None if it is the whole."""
    tables = [table for link in candidate.chain for table in _REPORTS.get(link.report, ())]
    if candidate.fixed_share is None:
        tables += _BASIS[facts.budget.basis]
    return next((facts.run.partial[table] for table in tables if table in facts.run.partial), None)
