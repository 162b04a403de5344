"""A file that is written as a whole again and again: writing it once saves what its writes, its syncs, and making its contents take."""

from msgspec.structs import replace

from iowhy.sentences import worded
from iowhy.whys import classes, thresholds
from iowhy.whys.cause import Cause
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Saving
from iowhy.whys.remedy import Remedy

_OF_WRITES = frozenset({classes.WRITE, classes.SYNC, classes.THROTTLED})
_OF_CPU = frozenset({classes.USER, classes.KERNEL, classes.RUNNABLE})
#: CPU time for each byte that is written: what an interpreter takes to make a text of what it holds, and to read that back.
#: More of it computes what is new each time.
MAKING_NS = 100


def written_once(facts: Facts, cause: Cause, candidate: Candidate) -> Candidate:
    """The candidate with that remedy first, if the writes take all of its time."""
    found = facts.rewritten
    own = frozenset().union(*(claim.classes for claim in candidate.claims))
    if facts.budget.elapsed(classes.READ) < thresholds.LISTED:
        own -= {classes.READ}
    if found is None or not own or not own <= _OF_WRITES | _OF_CPU or not _makes(facts, own):
        return candidate
    if facts.somebody_elses:
        do = worded(
            "rewritten.fewer-passes",
            "Let {who} write {file} fewer than {passes:count} times, if it has an option for that: `man {who}`",
            who=facts.run.who,
            file=found.path,
            passes=found.passes,
        )
        remedy = Remedy(do, risk="it may be what the passes are for")
    else:
        do = worded(
            "rewritten.once",
            "Change it in memory and write {file} once, instead of all of it {passes:count} times",
            file=found.path,
            passes=found.passes,
        )
        remedy = Remedy(do, risk="a crash loses the changes since", for_authors=True)
    others = candidate.remedies or cause.remedies
    if candidate.remedy is not None:
        others = (candidate.remedy, *others)
    saved = Saving(found.part, "if it is written once")
    by_remedy = {**candidate.by_remedy, remedy: saved}
    return replace(candidate, remedy=None, remedies=(remedy, *others), by_remedy=by_remedy)


def _makes(facts: Facts, own: frozenset[str]) -> bool:
    """Whether what it computes, if that is claimed, is little enough to be what it writes."""
    computing_s = sum(facts.budget.line(cls).thread_s or 0.0 for cls in classes.CPU)
    return own.isdisjoint(_OF_CPU) or computing_s * 1e9 <= MAKING_NS * (
        facts.calls.writes.done_bytes or 0.0
    )
