"""The verdict: which causes a recording shows, which time is whose, and the answer in a sentence."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import duckdb

from iowhy.errors import Problem
from iowhy.recording import Recording
from iowhy.whys import classes, evidence
from iowhy.whys.budget import Budget
from iowhy.whys.cause import Cause, causes
from iowhy.whys.chain import duration, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim, Finding
from iowhy.whys.signs import LISTED

if TYPE_CHECKING:
    from iowhy.whys.budget import Piece

#: Below this share of every finding the run is healthy: to remove the cause would gain less than
#: the noise between two runs.
HEALTHY = 0.10
#: From this share on a finding leads the answer, even if more of the time has no known reason: it
#: is a quarter of the time that can be had. Waits for something known, but without a cause, are said
#: first when they are more.
LEADS = 0.25
#: Shares that differ by less are equal: two runs of one command differ by as much.
EQUAL = 0.1
#: How many findings are shown first.
SHOWN = 3
#: A run below this has no shares: to start a program, load its libraries and end it takes some
#: milliseconds, and half of a reading of the counters, which come every 100 ms, is missed.
SHORTEST_NS = 50_000_000


@dataclass(frozen=True)
class Verdict:
    """The answer, what it rests on, and what is not known. Findings: largest share first."""

    answer: str
    findings: tuple[Finding, ...]
    budget: Budget
    unknowns: tuple[str, ...]
    notes: tuple[str, ...]
    elapsed_s: float | None
    lost: dict[str, int]
    #: How the command ended, where that is known: it may have failed before it did its work.
    exit_status: int | None = None
    signal: int | None = None

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The few findings to show first."""
        return self.findings[:SHOWN]


def judge(recording: Recording) -> Verdict:
    """Judge a recording. Raises Problem when a table cannot be read or holds impossible values."""
    try:
        with Facts(recording) as facts:
            return _judge(facts)
    except duckdb.Error as error:
        raise Problem(
            f"{recording.path}: {str(error).splitlines()[0]}; "
            f"`iowhy check {recording.path}` tells what is wrong with it"
        ) from None


def _judge(facts: Facts) -> Verdict:
    budget = facts.budget
    found: list[tuple[Cause, Candidate]] = []
    healthy: tuple[Cause, Candidate] | None = None
    for cause in causes():
        candidate = cause.find(facts)
        if candidate is None:
            continue
        if cause.name == "healthy":
            healthy = (cause, candidate)
        else:
            found.append((cause, candidate))
    shares, left = _settle(budget.pieces, found)
    findings = [
        _finding(facts, cause, candidate, share, _lost_to(cause, found, shares))
        for (cause, candidate), share in zip(found, shares, strict=True)
        if share >= LISTED
    ]
    findings = _ordered(findings, {c.name: candidate.behind for c, candidate in found})
    if _too_short(facts):
        findings = []
    elif healthy is not None and budget.known and (not findings or findings[0].share < HEALTHY):
        # A run that waits a lot without a known cause is not healthy: nobody knows what it is.
        waits = budget.elapsed(*classes.WAITING) - sum(f.share for f in findings)
        if waits + budget.modes("unknown") < LEADS:
            findings.insert(0, _finding(facts, *healthy, 0.0, ()))
    unknowns = list(budget.unknowns)
    if not facts.run.pasted:
        unknowns += _missing(facts.run.missing)
    answer = _answer(facts, tuple(findings), _unclaimed(budget, left))
    return Verdict(
        answer=answer,
        findings=tuple(findings),
        budget=budget,
        unknowns=tuple(unknowns),
        notes=(*budget.notes, *facts.manifest.notes),
        elapsed_s=facts.run.seconds,
        lost=facts.run.lost,
        exit_status=facts.manifest.command.exit_status,
        signal=facts.manifest.command.signal,
    )


def _missing(missing: dict[str, str]) -> list[str]:
    """The sensors that did not run, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in sorted(missing.items()):
        by_reason.setdefault(why, []).append(name)
    return [f"{', '.join(names)}: {why}" for why, names in by_reason.items()]


def _too_short(facts: Facts) -> bool:
    run = facts.run
    return not run.pasted and run.elapsed_ns is not None and run.elapsed_ns < SHORTEST_NS


def _ordered(findings: list[Finding], behind: dict[str, tuple[str, ...]]) -> list[Finding]:
    """Largest share first; among equals, the cause that explains the other one's signs.

    A finding whose remedy only helps after another's stands behind that, where that one can lead.
    """
    beats = {cause.name: cause.beats for cause in causes()}
    ordered = sorted(findings, key=lambda f: (-f.share, f.cause))
    for at in range(len(ordered) - 1, 0, -1):
        before, after = ordered[at - 1], ordered[at]
        if before.share - after.share <= EQUAL and before.cause in beats[after.cause]:
            ordered[at - 1], ordered[at] = after, before
    for late in [one for one in ordered if behind.get(one.cause)]:
        first = [f for f in ordered if f.cause in behind[late.cause] and f.share >= LEADS]
        if first and ordered.index(late) < ordered.index(first[-1]):
            ordered.remove(late)
            ordered.insert(ordered.index(first[-1]) + 1, late)
    return ordered


def settle(pieces: tuple["Piece", ...], found: list[tuple[Cause, Candidate]]) -> list[float]:
    """Each candidate's share of the elapsed time, so that no time is claimed twice.

    Candidates take their claims one after the other: first those that no other one present
    beats, among them the one that claims most. What is taken is gone.
    """
    return _settle(pieces, found)[0]


def _settle(
    pieces: tuple["Piece", ...], found: list[tuple[Cause, Candidate]]
) -> tuple[list[float], list[float]]:
    """The candidates' shares, and what is left of each piece."""
    left = [piece.elapsed for piece in pieces]
    shares = [0.0] * len(found)
    waiting = set(range(len(found)))

    def worth(index: int) -> float:
        candidate = found[index][1]
        if candidate.fixed_share is not None:
            return candidate.fixed_share
        return sum(_takes(pieces, left, candidate.claims))

    while waiting:
        beaten = {
            other
            for index in waiting
            for other in waiting
            if found[other][0].name in found[index][0].beats and worth(index) >= LISTED
        }
        # Two causes that beat each other would wait for ever: then size decides.
        free = (waiting - beaten) or waiting
        chosen = max(free, key=lambda index: (worth(index), -index))
        waiting.remove(chosen)
        candidate = found[chosen][1]
        if candidate.fixed_share is not None:
            shares[chosen] = candidate.fixed_share
            continue
        taken = _takes(pieces, left, candidate.claims)
        shares[chosen] = sum(taken)
        if shares[chosen] >= LISTED:
            left = [have - took for have, took in zip(left, taken, strict=True)]
    return shares, left


def _unclaimed(budget: Budget, left: list[float]) -> tuple[str, float]:
    """The class of waits, of those with a known reason, of which most belongs to no cause."""
    sums = dict.fromkeys(sorted(classes.WAITING - {classes.UNEXPLAINED}), 0.0)
    for piece, rest in zip(budget.pieces, left, strict=True):
        if piece.cls in sums:
            sums[piece.cls] += rest
    return max(sums.items(), key=lambda item: item[1])


def _takes(
    pieces: tuple["Piece", ...], left: list[float], claims: tuple[Claim, ...]
) -> list[float]:
    taken = [0.0] * len(pieces)
    for claim in claims:
        for at, piece in enumerate(pieces):
            if matches(claim, piece):
                want = piece.elapsed * max(0.0, min(1.0, claim.fraction))
                taken[at] = min(left[at], max(taken[at], want))
    return taken


def matches(claim: Claim, piece: "Piece") -> bool:
    """Whether a claim is about this piece of the budget."""
    return (
        piece.cls in claim.classes
        and (claim.calls is None or piece.call in claim.calls)
        and (claim.reasons is None or piece.reason in claim.reasons)
        and (claim.modes is None or piece.mode in claim.modes)
    )


def _lost_to(
    cause: Cause, found: list[tuple[Cause, Candidate]], shares: list[float]
) -> tuple[str, ...]:
    """Causes whose signs are there too, but whose time this one explains."""
    return tuple(
        f"{other.name} shows its signs too; this cause explains them"
        for (other, _), share in zip(found, shares, strict=True)
        if share < LISTED and other.name in cause.beats
    )


def _finding(
    facts: Facts, cause: Cause, candidate: Candidate, share: float, also: tuple[str, ...]
) -> Finding:
    value, lowered = evidence.confidence(facts, candidate)
    remedies = candidate.remedies or cause.remedies
    if candidate.remedy is not None:
        remedies = (candidate.remedy, *(r for r in remedies if r != candidate.remedy))
    return Finding(
        cause=cause.name,
        title=cause.title,
        share=min(1.0, share),
        confidence=value,
        lowered_by=lowered,
        chain=candidate.chain,
        against=(*candidate.against, *also),
        remedies=remedies,
        experiment=cause.experiment,
        summary=candidate.summary,
    )


def _answer(facts: Facts, findings: tuple[Finding, ...], unclaimed: tuple[str, float]) -> str:
    budget = facts.budget
    of = "the time" if facts.run.elapsed_ns is None else duration(facts.run.elapsed_ns)
    if budget.basis != "threads":
        of = "the time"
    if _too_short(facts):
        longer = (
            "repeat it within one run, sudo iowhy run -- sh -c 'for i in $(seq 100); do CMD; done'"
            if facts.run.mode == "run"
            else "record longer (--duration 10s)"
        )
        return f"Too short to judge: {of} is mostly start and end. To judge it, {longer}."
    if findings and findings[0].cause == "healthy":
        return f"Healthy: {findings[0].summary}."
    if not budget.known and not findings:
        return (
            "Unknown: nothing here tells where the time went. "
            "Record the command itself: sudo iowhy run -- CMD"
        )
    largest = max(budget.lines, key=lambda line: line.elapsed_share) if budget.known else None
    if largest is None:
        return _lead(findings[0], of)
    cls, rest = unclaimed
    if findings and findings[0].share >= LEADS:
        if rest <= findings[0].share:
            return _lead(findings[0], of)
        # It is known what is waited for, and it is more than what the finding can give.
        largest = budget.line(cls)
    if largest.cls == classes.UNEXPLAINED:
        reasons = budget.heaviest_reasons(frozenset({classes.UNEXPLAINED}))
        why = f" ({reasons[0][0]})" if reasons else ""
        text = f"Unexplained: {percent(largest.elapsed_share)} of {of} has no known reason{why}"
    else:
        text = (
            f"No single cause: the largest class is {largest.cls} with "
            f"{percent(largest.elapsed_share)} of {of}"
        )
    if findings:
        first = findings[0]
        text += f"; {first.cause} explains {percent(first.share)}: {first.remedies[0]}"
    return f"{text}."


def _lead(finding: Finding, of: str) -> str:
    remedy = finding.remedies[0] if finding.remedies else ""
    words = f"{finding.cause}: {percent(finding.share)} of {of} {finding.summary}."
    if remedy:
        words += f" {remedy[0].upper()}{remedy[1:]}."
    return words
