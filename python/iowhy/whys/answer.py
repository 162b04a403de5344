"""The answer of a verdict: one sentence on what takes the time, and what to do."""

import re

from iowhy.whys import classes
from iowhy.whys.budget import Budget
from iowhy.whys.chain import capital, duration, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import OF_TIME, THE_PART, Finding
from iowhy.whys.program import programs
from iowhy.whys.thresholds import LEADS
from iowhy.whys.typed import Commands

#: A run below this has no shares: to start a program, load its libraries and end it takes some
#: milliseconds, and half of a reading of the counters, which come every 100 ms, is missed.
SHORTEST_NS = 50_000_000
#: A block of less is a handful of calls: one wait more or less changes what it is made of.
SHORTEST_BLOCK_NS = 5_000_000

#: Below it a finding is a guess, and said as one.
INDICATIVE = 0.5


def too_short(facts: Facts) -> bool:
    """Whether a run is mostly its own start and end, of which a block within a program has neither."""
    run = facts.run
    shortest = SHORTEST_BLOCK_NS if run.mode == "block" else SHORTEST_NS
    if run.pasted or run.elapsed_ns is None:
        return False
    return run.elapsed_ns * (1.0 - facts.budget.left_out) < shortest


def most_unclaimed(budget: Budget, left: list[float]) -> tuple[str, float]:
    """The class of waits, of those with a known reason, of which most belongs to no cause."""
    sums = dict.fromkeys(sorted(classes.WAITING - {classes.UNEXPLAINED}), 0.0)
    for piece, rest in zip(budget.pieces, left, strict=True):
        if piece.cls in sums:
            sums[piece.cls] += rest
    return max(sums.items(), key=lambda item: item[1])


def answer(
    facts: Facts, made: Commands, findings: tuple[Finding, ...], unclaimed: tuple[str, float]
) -> str:
    """The sentence. `unclaimed` is the class of waits of which most belongs to no cause, and how much."""
    budget = facts.budget
    of = _whole(facts)
    if too_short(facts) and facts.run.part_of_ns is not None:
        return f"Too short to judge: {of} is mostly start and end."
    if too_short(facts) and _failed(facts):
        # Doing that a hundred times would say no more.
        return f"Too short to judge: {of} is mostly start and end."
    if too_short(facts):
        longer = (
            f"repeat it within one run: `{made.repeat(100)}`"
            if facts.run.mode == "run"
            else "repeat it within the block"
            if facts.run.mode == "block"
            else f"record longer: `{made.record_again()}`"
        )
        return f"Too short to judge: {of} is mostly start and end. To judge it, {longer}."
    if findings and findings[0].healthy:
        return f"Healthy: {findings[0].summary}."
    if not budget.known and not findings:
        return (
            f"Unknown: nothing here tells where the time went. Record it: `{made.record_again()}`"
        )
    told = [cls for cls in classes.ALL if cls != classes.RECORDER]
    largest = max(told, key=budget.elapsed) if budget.known else None
    if largest is None:
        return _lead(findings[0], of)
    cls, rest = unclaimed
    if findings and findings[0].never_ends:
        return _lead(findings[0], of)
    if findings and findings[0].ended >= LEADS:
        if rest <= findings[0].ended:
            return _lead(findings[0], of)
        # It is known what is waited for, and it is more than what the finding can give.
        largest = cls
    if largest == classes.UNEXPLAINED:
        reasons = budget.heaviest_reasons(frozenset({classes.UNEXPLAINED}))
        why = f" ({reasons[0][0]})" if reasons else ""
        text = f"Unexplained: {percent(budget.elapsed(largest))} of {of} has no known reason{why}"
    else:
        text = (
            f"No single cause: the largest class is {largest} with "
            f"{percent(budget.elapsed(largest))} of {of}"
        )
    if findings:
        first = findings[0]
        said = f": {_to_do(first)}" if first.remedies else ""
        text += (
            f"; {first.cause} explains {percent(first.share)}, "
            + ("and" if first.gain_with else "of which")
            + f" at most {_gained(first)}{said}"
        )
    return f"{text}."


def _failed(facts: Facts) -> bool:
    command = facts.manifest.command
    return bool(command.exit_status) or command.signal is not None


def _whole(facts: Facts) -> str:
    """What the shares are of, in words: a duration where that is known."""
    if facts.shares_of_ns is None or facts.budget.basis != "threads":
        return "the time"
    # It was there for a part of what was recorded.
    part_of_ns = facts.run.part_of_ns
    within = "" if part_of_ns is None else f" (of {duration(part_of_ns)} recorded)"
    if facts.budget.left_out:
        return f"the {duration(facts.shares_of_ns)}{within} that it takes without the recorder"
    return f"{duration(facts.shares_of_ns)}{within}"


def _to_do(finding: Finding) -> str:
    """Its first remedy; what that risks, and where it is documented, stands with the finding."""
    return re.split(r"; risk: | \(https?:", finding.remedies[0])[0] if finding.remedies else ""


def _lead(finding: Finding, of: str) -> str:
    remedy = _to_do(finding)
    if finding.share_of in OF_TIME:
        of = THE_PART if finding.share_of == THE_PART else of
        words = f"{finding.cause}: {percent(finding.share)} of {of} {finding.summary}"
    else:
        words = (
            f"{finding.cause}: {percent(finding.share)} of {finding.share_of}: {finding.summary}"
        )
    if finding.confidence < INDICATIVE:
        words = f"Perhaps {words}"
        remedy = f"If so, {remedy}" if remedy else ""
    if not remedy:
        return f"{words}."
    # The name of a program, which stands before what it can be told, is as it is written.
    if remedy.partition(": ")[0] not in {one.name for one in programs()}:
        remedy = capital(remedy)
    return f"{words}; at most {_gained(finding)}. {remedy}."


def _gained(finding: Finding) -> str:
    said = f"{percent(finding.gain)} can be gained"
    return f"{said}, {finding.with_others}" if finding.gain_with else said
