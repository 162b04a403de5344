"""The verdict: which causes a recording shows, which time is whose, and the answer in a sentence."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings import Recording
from iowhy.recordings.row_counts import Mismatch, in_words
from iowhy.relations.narrowed import Narrowed
from iowhy.sentences import Sentence, changed, worded
from iowhy.units import percent
from iowhy.whys import answer, classes, program
from iowhy.whys.budget import Budget
from iowhy.whys.cause import Cause
from iowhy.whys.causes import causes
from iowhy.whys.confidence import confidence, part_shown
from iowhy.whys.decided_there import decided_there, started_there
from iowhy.whys.facts import Facts, facts_of, gpus
from iowhy.whys.failures import failures
from iowhy.whys.finding import THE_PART, WITHOUT_RECORDER, Candidate, Claim, Finding, Link, Saving
from iowhy.whys.in_which_statement import in_which_statement, with_objects, with_statement
from iowhy.whys.in_whose_code import in_whose_code
from iowhy.whys.language import in_its_language
from iowhy.whys.layers_below import layers_below
from iowhy.whys.phases import PhaseDone, phases
from iowhy.whys.program import Program
from iowhy.whys.remedy import Fix, Remedy, worth_first
from iowhy.whys.rivals import TIME, rivals_need
from iowhy.whys.settle import computing_left, settle
from iowhy.whys.shared_remedies import together
from iowhy.whys.statements import statements
from iowhy.whys.suspects import Doubt, doubt
from iowhy.whys.thresholds import LEADS, LISTED, TOO_MANY
from iowhy.whys.typed import Commands, commands
from iowhy.whys.wake_ups import with_wake_ups
from iowhy.whys.written_once import written_once

#: How many findings are shown first.
SHOWN = 3


class Verdict(Struct, frozen=True):
    """What is slow in one sentence, what that rests on, and what is not known. Findings: largest gain first."""

    headline: str
    findings: tuple[Finding, ...]
    budget: Budget
    unknowns: tuple[str, ...]
    #: What other tools' texts state, the gravest first.
    statements: tuple[Link, ...]
    notes: tuple[str, ...]
    elapsed_s: float | None
    lost: dict[str, int]
    #: What can be typed about it.
    commands: Commands
    #: How the command ended, where that is known: it may have failed before it did its work.
    exit_status: int | None = None
    signal: int | None = None
    #: What of its calls failed as storage refused them or could not do them, a sentence each.
    failures: tuple[Sentence, ...] = ()
    #: It is mostly start and end: no cause was looked for.
    too_short: bool = False
    #: Suspects, what evidence is missing, and the command that would decide, if no cause explains most of the time or one is a guess.
    doubt: Doubt | None = None
    #: Tables that hold other rows than the manifest counts.
    mismatches: tuple[Mismatch, ...] = ()
    #: What was done when, if the run has several phases.
    phases: tuple[PhaseDone, ...] = ()

    @property
    def shares_of_s(self) -> float | None:
        """The seconds that shares of findings are of: fewer than elapsed, where the recorder took much of those."""
        return None if self.elapsed_s is None else self.elapsed_s * (1.0 - self.budget.left_out)

    @property
    def answer(self) -> str:
        """What is slow and what to do, for who has one line."""
        first = self.findings[0] if self.findings else None
        if first is None or not first.fixes or first.healthy or self.too_short:
            return self.headline
        worth = " ".join(filter(None, self.worth(first, 0, brief=True)))
        return (
            f"{self.headline} {first.fixes[0].label} ({first.cause}): {first.fixes[0].do}. {worth}"
        )

    def saved(self, fix: Fix) -> str:
        """What a fix could save at best, in words; nothing if it is not known to."""
        of = next((one for one in self.findings if fix in one.fixes), None)
        if of is not None and self.budget.lower_bound and frozenset(of.classes) <= classes.STORAGE:
            return ""
        share_of = answer.THE_TIME if of is None else of.share_of
        return answer.saved(self.shares_of_s, self.budget.basis, self.commands.mode, fix, share_of)

    def worth(
        self, finding: Finding, number: int, *, brief: bool = False, conditions: bool = True
    ) -> tuple[str, str]:
        """What the fix of that number could save, what that takes, and what it risks; nothing of it that the first fix says, too."""
        fix, first = finding.fixes[number], finding.fixes[0]
        again = (
            number > 0 and fix.gain == first.gain and (brief or fix.condition == first.condition)
        )
        saved = "" if again else self.saved(fix)
        condition = fix.condition.partition(";")[0] if brief else fix.condition
        condition = condition if conditions else ""
        said = f"{saved} ({condition})." if saved and condition else f"{saved}." if saved else ""
        risk = fix.risk or "none, it only looks"
        return said, f"Risk: {risk}."

    @property
    def shown(self) -> tuple[Finding, ...]:
        """The few findings to show first."""
        return self.findings[:SHOWN]


def judge(recording: Recording, *, narrowed: Narrowed | None = None) -> Verdict:
    """Judge a recording, or a part of it. Raises Problem when a table cannot be read or holds impossible values."""
    with facts_of(recording, narrowed=narrowed) as facts:
        return verdict_of(facts)


def verdict_of(facts: Facts) -> Verdict:
    """As `judge`, of facts that are open."""
    budget, made = facts.budget, commands(facts)
    found: list[tuple[Cause, Candidate]] = []
    in_place_of_others: list[tuple[Cause, Candidate]] = []
    for cause in _looked_for(facts):
        candidate = cause.find(facts)
        if candidate is not None:
            candidate = with_wake_ups(facts, candidate)
            (found if cause.only_if is None else in_place_of_others).append((cause, candidate))
    known = program.at_work(facts) if found else ()
    shares, parts, left = settle(budget.pieces, found)
    needed = rivals_need(facts, found, parts, left)
    spare = computing_left(budget.pieces, found, shares, left)
    findings = [
        _finding(
            facts, made, known, cause, candidate, share, need, _beaten(cause, found, shares), more
        )
        for (cause, candidate), share, need, more in zip(found, shares, needed, spare, strict=True)
        if share >= LISTED or candidate.comes_first or candidate.moment
    ]
    findings = _ordered(together(findings), {c.name: candidate.behind for c, candidate in found})
    findings = [
        *(
            _finding(facts, made, known, cause, candidate, 0.0, TIME, ())
            for cause, candidate in in_place_of_others
            if cause.only_if is not None and cause.only_if(facts, tuple(findings))
        ),
        *findings,
    ]
    unclaimed = answer.most_unclaimed(budget, left)
    undecided = answer.undecided_class(facts, tuple(findings), unclaimed)
    unknowns = list(budget.unknowns)
    stated = statements(facts)
    if not facts.run.pasted:
        unknowns += _missing(facts.run.missing)
    return Verdict(
        headline=answer.headline(facts, made, tuple(findings), stated, unclaimed),
        findings=tuple(findings),
        budget=budget,
        unknowns=tuple(made.filled(one) for one in unknowns),
        statements=tuple(one.link for one in stated),
        notes=(
            *gpus.said(facts.relations, every=facts.run.mode == "machine"),
            *_not_whole(facts),
            *budget.notes,
            *(made.filled(one) for one in _failing(facts)),
            *facts.manifest.notes,
        ),
        elapsed_s=facts.run.seconds,
        lost=facts.run.lost,
        commands=made,
        exit_status=facts.manifest.command.exit_status,
        signal=facts.manifest.command.signal,
        failures=failures(facts),
        too_short=answer.too_short(facts),
        doubt=None if answer.too_short(facts) else doubt(facts, made, tuple(findings), undecided),
        mismatches=facts.run.mismatches,
        phases=() if answer.too_short(facts) else phases(facts, findings),
    )


def _looked_for(facts: Facts) -> tuple[Cause, ...]:
    """A run that is mostly its own start and end has no cause worth the time of looking for one; nor has a table of which much could not be read."""
    partly_read = facts.run.skipped_share >= TOO_MANY
    return () if partly_read or answer.too_short(facts) else causes()


def _failing(facts: Facts) -> list[str]:
    """Calls on data of which most fail and that take time all the same: what they are for is not done, or done in another way."""
    moving = classes.DATA_READS | classes.DATA_WRITES | classes.SYNC_CALLS
    least_ns = LISTED * (facts.run.elapsed_ns or 0)
    if facts.run.pasted or not least_ns:
        return []
    return [
        worded(
            "calls-fail",
            "{failed:count} of {calls:count} calls of {call} fail, and they take {took:ns} (`iowhy report syscalls`)",
            failed=group.errors,
            calls=group.calls,
            call=name,
            took=group.total_ns,
        )
        for name, group in facts.calls.by_name.items()
        if name in moving and 2 * group.errors >= group.calls and group.total_ns >= least_ns
    ]


def _not_whole(facts: Facts) -> tuple[str, ...]:
    wrong = facts.run.mismatches
    counted = (in_words(wrong, facts.recording.path),) if wrong else ()
    return (*counted, *(one.words for one in facts.shorts))


def _missing(missing: dict[str, str]) -> list[str]:
    """The sensors that did not run, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for name, why in sorted(missing.items()):
        by_reason.setdefault(why, []).append(name)
    return [
        worded("sensors-missing", "{sensors}: {why}", sensors=", ".join(names), why=why)
        for why, names in by_reason.items()
    ]


def _ordered(findings: list[Finding], behind: dict[str, tuple[str, ...]]) -> list[Finding]:
    """Largest gain first, then the largest share. Which cause explains what points to another was settled with the time.

    A finding whose remedy only helps after another's is behind that, where that one can lead.
    """
    ordered = sorted(findings, key=lambda f: (-f.gain, -f.share, f.cause))
    for late in [one for one in ordered if behind.get(one.cause)]:
        first = [f for f in ordered if f.cause in behind[late.cause] and f.share >= LEADS]
        if first and ordered.index(late) < ordered.index(first[-1]):
            ordered.remove(late)
            said = worded(
                "comes-first",
                "{cause} comes first: this fix saves nothing before that one",
                cause=first[-1].cause,
            )
            moved = replace(late, against=(*late.against, said), behind=first[-1].cause)
            ordered.insert(ordered.index(first[-1]) + 1, moved)
    return sorted(ordered, key=lambda one: not one.comes_first)


def _beaten(
    cause: Cause, found: list[tuple[Cause, Candidate]], shares: list[float]
) -> tuple[str, ...]:
    """Causes to which the evidence points too, but whose time this one explains."""
    return tuple(
        other.name
        for (other, _), share in zip(found, shares, strict=True)
        if share < LISTED and other.name in cause.beats
    )


def _finding(
    facts: Facts,
    made: Commands,
    known: tuple[Program, ...],
    cause: Cause,
    candidate: Candidate,
    share: float,
    rivals: tuple[str, ...],
    also: tuple[str, ...],
    spare: float = 0.0,
) -> Finding:
    value, lowered = confidence(facts, candidate, rivals)
    # What has been done is not there to be done in a trial.
    done = bool(known) and all(one.once for one in known)
    provable = candidate.provable and not done
    lever = (candidate.experiment or cause.experiment) if provable else None
    claims = tuple(claim for claim in candidate.claims if not claim.follows)
    code = in_whose_code(facts, claims)
    known = (*known, *program.in_code(code))
    of_syncs = bool(claims) and all(claim.classes == {classes.SYNC} for claim in claims)
    if of_syncs:
        known, candidate = decided_there(facts, known, cause, candidate)
    elif claims and all(one.classes <= {*classes.CPU, classes.RUNNABLE} for one in claims):
        candidate = started_there(facts, cause, candidate)
    candidate = written_once(facts, cause, candidate)
    advice = in_its_language(facts, code, _advice(facts, known, cause, candidate, claims))
    fixes = tuple(_fix(facts, made, candidate, share, spare, one) for one in advice)
    # What ends more syncs gives more data up: there the safest stays first.
    fixes = fixes if of_syncs else worth_first(fixes)
    found = Finding(
        cause=cause.name,
        title=cause.title,
        share=min(1.0, share),
        gain=fixes[0].gain if fixes else _bound(share, candidate.saving),
        gain_condition=fixes[0].condition if fixes else candidate.saving.condition,
        confidence=value,
        lowered_by=lowered,
        chain=(*candidate.chain, *layers_below(facts, claims), *code),
        against=candidate.against,
        also_fits=also,
        fixes=fixes,
        experiment=lever,
        summary=candidate.summary,
        proof=made.prove(lever, unsafe=cause.unsafe_proof, cache=cause.proof_cache),
        healthy=cause.only_if is not None,
        share_of=_share_of(facts, candidate),
        classes=tuple(sorted({name for claim in claims for name in claim.classes})),
        comes_first=candidate.comes_first,
        headline=candidate.headline,
        moment=candidate.moment,
        who=candidate.who,
    )
    return with_statement(found, in_which_statement(facts, claims))


def _fix(
    facts: Facts, made: Commands, candidate: Candidate, share: float, spare: float, one: Remedy
) -> Fix:
    saving = _saving(candidate, one)
    share += spare if one.of == "computing" and saving.part else 0.0
    return Fix(
        do=with_objects(facts.relations, made.filled(one.named)),
        gain=_bound(share, saving) * one.part,
        condition=saving.condition
        if one.part == 1.0
        else f"{percent(one.part)} of the time in {one.of}",
        risk=made.filled(one.risk),
        link=one.link,
        looks=one.looks,
    )


def _advice(
    facts: Facts,
    known: tuple[Program, ...],
    cause: Cause,
    candidate: Candidate,
    claims: tuple[Claim, ...],
) -> tuple[Remedy, ...]:
    """What to do: settings of the programs at work, then what helps any, without what these cannot do."""
    remedies = candidate.remedies or cause.remedies
    if candidate.remedy is not None:
        remedies = (candidate.remedy, *(r for r in remedies if r != candidate.remedy))
    of_syncs = bool(claims) and all(one.classes == {classes.SYNC} for one in claims)
    of_reads = bool(claims) and all(one.classes == {classes.READ} for one in claims)
    of_cpu = bool(claims) and all(one.classes <= {*classes.CPU, classes.RUNNABLE} for one in claims)
    # Whoever runs somebody else's program can still divide its work.
    finished = (bool(known) and all(one.finished for one in known)) or (
        facts.somebody_elses and not of_cpu
    )
    finished = finished or (of_reads and facts.run.mode == "run" and facts.reads_decided_there)
    told = program.remedies(
        facts, known, cause.name, of_syncs=of_syncs, of_reads=of_reads, of_cpu=of_cpu, claims=claims
    )
    return (
        *(
            _after_first(candidate, one)
            for one in told
            if not one.orders or _saving(candidate, one).part
        ),
        *(
            one
            for one in remedies
            if not (known and one.for_layouts) and not (finished and one.for_authors)
        ),
    )


def _after_first(candidate: Candidate, one: Remedy) -> Remedy:
    """A program's setting, after what must be done first for it to help."""
    if candidate.first is None or one.less:
        return one
    return replace(one, do=changed(one.do, f"{candidate.first} {one.named}"), program=None)


def _saving(candidate: Candidate, remedy: Remedy) -> Saving:
    """What one remedy can save: a finding's other remedies may need something else, and save something else."""
    if remedy.of == "calls":
        return Saving(1.0, "without these calls")
    if remedy.of == "computing":
        return Saving(1.0, "if all that it reads again fits into its buffers")
    kinds = (
        (remedy.orders, candidate.by_order),
        (remedy.less, candidate.by_less),
        (remedy.at_once, candidate.by_depth),
        (remedy.program is not None, candidate.by_setting),
    )
    special = next((saving for is_so, saving in kinds if is_so), None)
    return special or candidate.by_remedy.get(remedy, candidate.saving)


def _bound(share: float, saving: Saving) -> float:
    """What can be saved at most, of the whole that a finding's share is of."""
    return min(1.0, share) * max(0.0, min(1.0, saving.part))


def _share_of(facts: Facts, candidate: Candidate) -> str:
    """What a finding's share is a part of: evidence of a part bounds what is said of the time."""
    if candidate.fixed_share is not None:
        return candidate.share_of
    if part_shown(facts, candidate) is not None:
        return THE_PART
    return WITHOUT_RECORDER if facts.budget.left_out else "the time"
