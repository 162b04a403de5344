"""How sure a finding is: what lowers its confidence, each with the reason in words."""

from iowhy.recordings.schema import tables
from iowhy.sentences import Sentence, worded
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate

#: A run below this says little: start-up weighs as much as the work. One second is also ten
#: readings of the counters, which come at 10 Hz.
SHORT_NS = 1_000_000_000
#: Intervals below which a share may be one accident.
FEW_INTERVALS = 3
#: Rows that could not be read, from this share on, may be what would show the contrary.
FEW_SKIPPED = 0.1
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


def confidence(facts: Facts, candidate: Candidate) -> tuple[float, tuple[str, ...]]:
    """The candidate's own confidence, lowered by what the recording lacks; with the reasons."""
    value = candidate.confidence
    reasons = list(candidate.lowered_by)
    run = facts.run
    for table, lost in run.lost.items():
        share = lost / max(1, lost + run.kept.get(table, 0))
        if share > LOST_SHARE:
            value *= max(0.5, 1 - share)
            said = "{events:count event} of {table} were lost ({share:share})"
            reasons.append(worded("events-lost", said, events=lost, table=table, share=share))
    for one in facts.run.mismatches:
        # Incomplete sums are not used; the rows that they add up may be.
        if tables()[one.table].sums is None and one.share > LOST_SHARE:
            value = min(value * max(0.5, 1 - one.share), PART)
            said = "{table}: {differs}"
            reasons.append(worded("rows-differ", said, table=one.table, differs=one.words))
    if "block_requests" in candidate.needs and not run.pasted:
        found = facts.requests
        share = found.unseen / max(1, found.count)
        if share > LOST_SHARE:
            value *= max(0.5, 1 - share)
            said = "the end of {requests:count request} was not seen ({share:share})"
            reasons.append(worded("ends-unseen", said, requests=found.unseen, share=share))
    if not run.pasted:
        for sensor in candidate.needs:
            if not facts.recording.ran(sensor):
                value *= 0.75
                why = run.missing.get(sensor, "was not asked for")
                said = "the sensor {sensor} did not run: {why}"
                reasons.append(worded("sensor-missing", said, sensor=sensor, why=why))
    if run.elapsed_ns is not None and run.elapsed_ns < SHORT_NS and not run.pasted:
        value *= 0.7
        reasons.append(worded("short-run", "the run is short ({took:ns})", took=run.elapsed_ns))
    elif facts.budget.intervals is not None and facts.budget.intervals < FEW_INTERVALS:
        value *= 0.8
        verb = "was" if facts.budget.intervals == 1 else "were"
        said = "only {intervals:count interval} of time {verb} recorded"
        reasons.append(worded("few-intervals", said, intervals=facts.budget.intervals, verb=verb))
    if run.recorder_cpu_share is not None and run.recorder_cpu_share > RECORDER_SHARE:
        value *= 0.85
        said = "the recorder itself took {share:share} of the CPU time"
        reasons.append(worded("recorder-cost", said, share=min(1.0, run.recorder_cpu_share)))
    if facts.budget.basis == "machine":
        value *= 0.85
        said = "the figures are for the whole machine, not for one command"
        reasons.append(worded("of-the-machine", said))
    elif facts.budget.basis in ("calls", "waits"):
        value *= 0.9
        said = "the shares are of what one tool counted, not of all time"
        reasons.append(worded("of-one-tool", said))
    if not run.complete:
        value *= 0.9
        reasons.append(worded("cut-off", "the recording was cut off before its end"))
    value = _of_rows_read(facts, value, reasons)
    if (part := part_shown(facts, candidate)) is not None:
        value = min(value, PART)
        said = "the text shows only part of what happened: {part}"
        reasons.append(worded("only-part", said, part=part))
    return max(0.05, min(0.99, value)), tuple(reasons)


def _of_rows_read(facts: Facts, value: float, reasons: list[str]) -> float:
    """Less, for rows that could not be read."""
    share = facts.run.skipped_share
    if not share:
        return value
    reasons.append(rows_not_read(facts))
    return value * (1 - share) if share < FEW_SKIPPED else min(value * (1 - share), PART)


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
