"""Who decides on a finding's syncs: the author of a program, its user, or a script that starts it again and again."""

from msgspec.structs import replace

from iowhy.whys.cause import Cause
from iowhy.whys.facts import Facts
from iowhy.whys.facts.installed import cpu_of_starts, syncing_starts
from iowhy.whys.facts.short_lived import SHORT_NS
from iowhy.whys.finding import Candidate, Saving
from iowhy.whys.for_users import one_start, without_syncs
from iowhy.whys.program import Program
from iowhy.whys.remedy import Remedy

#: Of all CPU time, that of the starts from which they are what is computed.
STARTS = 0.5


def decided_there(
    facts: Facts, known: tuple[Program, ...], cause: Cause, candidate: Candidate
) -> tuple[tuple[Program, ...], Candidate]:
    """Syncs that somebody else's program decides on: its user sets nothing in a library that it calls, and can leave out all
    of them where the program is not known. Those that come with each start of it a script makes fewer.
    """
    starts = syncing_starts(facts.relations) if facts.run.mode == "run" else None
    if starts is not None:
        first = one_start(starts)
        saved = Saving(1 - 1 / starts.processes, f"if one {starts.program} does it all")
        candidate = _with_first(candidate, cause, first, saved)
    if facts.run.mode != "run" or not facts.syncs_decided_there:
        return known, candidate
    known = tuple(one for one in known if not one.by_library)
    written = facts.written_filesystem
    if known or (written and written.mounted_sync) or facts.calls.syncs_by_ring:
        return known, candidate
    first = without_syncs(facts)
    made = _with_first(candidate, cause, first, Saving(1.0, "if nothing is synced"))
    after = tuple(one for one in made.remedies if one == first or not one.for_authors)
    if starts is not None:
        after = (after[1], first, *after[2:])
    return known, replace(made, remedies=after)


def started_there(facts: Facts, cause: Cause, candidate: Candidate) -> Candidate:
    """Computing, if it is that of such a program's starts: each computes so little that starting is what it computes for."""
    starts = syncing_starts(facts.relations) if facts.run.mode == "run" else None
    if starts is None:
        return candidate
    each, share = cpu_of_starts(facts.relations, starts)
    if each > SHORT_NS or share < STARTS:
        return candidate
    saved = Saving(share * (1 - 1 / starts.processes), f"if one {starts.program} does it all")
    return _with_first(candidate, cause, one_start(starts), saved)


def _with_first(candidate: Candidate, cause: Cause, first: Remedy, saved: Saving) -> Candidate:
    """A candidate with another remedy before its own."""
    others = candidate.remedies or cause.remedies
    if candidate.remedy is not None:
        others = (candidate.remedy, *others)
    by_remedy = {**candidate.by_remedy, first: saved}
    return replace(candidate, remedy=None, remedies=(first, *others), by_remedy=by_remedy)
