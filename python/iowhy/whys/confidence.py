"""How sure a finding is: what lowers its confidence, each with the reason in words."""

from iowhy.recordings.schema import tables
from iowhy.whys.chain import duration, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate

#: A run below this says little: start-up weighs as much as the work. One second is also ten
#: readings of the counters, which come at 10 Hz.
SHORT_NS = 1_000_000_000
#: Intervals below which a share may be one accident.
FEW_INTERVALS = 3
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
            reasons.append(f"{plural(lost, 'event')} of {table} were lost ({percent(share)})")
    for one in facts.run.mismatches:
        # Incomplete sums are not used; the rows that they add up may be.
        if tables()[one.table].sums is None and one.share > LOST_SHARE:
            value = min(value * max(0.5, 1 - one.share), PART)
            reasons.append(f"{one.table}: {one.words}")
    if "block_requests" in candidate.needs and not run.pasted:
        found = facts.requests
        share = found.unseen / max(1, found.count)
        if share > LOST_SHARE:
            value *= max(0.5, 1 - share)
            reasons.append(
                f"the end of {plural(found.unseen, 'request')} was not seen ({percent(share)})"
            )
    if not run.pasted:
        for sensor in candidate.needs:
            if not facts.recording.ran(sensor):
                value *= 0.75
                why = run.missing.get(sensor, "was not asked for")
                reasons.append(f"the sensor {sensor} did not run: {why}")
    if run.elapsed_ns is not None and run.elapsed_ns < SHORT_NS and not run.pasted:
        value *= 0.7
        reasons.append(f"the run is short ({duration(run.elapsed_ns)})")
    elif facts.budget.intervals is not None and facts.budget.intervals < FEW_INTERVALS:
        value *= 0.8
        reasons.append(
            f"only {plural(facts.budget.intervals, 'interval')} of time {'was' if facts.budget.intervals == 1 else 'were'} recorded"
        )
    if run.recorder_cpu_share is not None and run.recorder_cpu_share > RECORDER_SHARE:
        value *= 0.85
        took = percent(min(1.0, run.recorder_cpu_share))
        reasons.append(f"the recorder itself took {took} of the CPU time")
    if facts.budget.basis == "machine":
        value *= 0.85
        reasons.append("the figures are for the whole machine, not for one command")
    elif facts.budget.basis in ("calls", "waits"):
        value *= 0.9
        reasons.append("the shares are of what one tool counted, not of all time")
    if not run.complete:
        value *= 0.9
        reasons.append("the recording was cut off before its end")
    part = part_shown(facts, candidate)
    if part is not None:
        value = min(value, PART)
        reasons.append(f"the text shows only part of what happened: {part}")
    return max(0.05, min(0.99, value)), tuple(reasons)


def part_shown(facts: Facts, candidate: Candidate) -> str | None:
    """Why the evidence of a candidate is only part of what happened; None if it is the whole."""
    tables = [table for link in candidate.chain for table in _REPORTS.get(link.report, ())]
    if candidate.fixed_share is None:
        tables += _BASIS[facts.budget.basis]
    return next((facts.run.partial[table] for table in tables if table in facts.run.partial), None)
