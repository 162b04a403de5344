"""The answer of a verdict: one sentence on what takes the time, and what a fix could save."""

from iowhy.sentences import Sentence, changed, worded
from iowhy.units import three_digits
from iowhy.whys import classes
from iowhy.whys.budget import Budget
from iowhy.whys.chain import capital, duration, percent
from iowhy.whys.confidence import rows_not_read
from iowhy.whys.facts import Facts
from iowhy.whys.finding import OF_TIME, THE_PART, Finding
from iowhy.whys.remedy import Fix
from iowhy.whys.stated_fact import TELLING, Statement
from iowhy.whys.thresholds import LEADS, LISTED
from iowhy.whys.typed import Commands

#: A run below this has no shares: to start a program, load its libraries and end it takes some
#: milliseconds, and half of a reading of the counters, which come every 100 ms, is missed.
SHORTEST_NS = 50_000_000
#: A block of less is a handful of calls: one wait more or less changes what it is made of.
SHORTEST_BLOCK_NS = 5_000_000
#: A job of many processes takes longer to start and end; older logs count it in whole seconds.
SHORTEST_JOB_S = 1.0
#: What a fix saves is said from this share on: who replaces a disk that fails does it for something else.
SAID = 0.01

THE_TIME = "the time"
_NS = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1.0}
#: What is done in the time of a class, after "spent 69 % of its time".
_DOING = {
    classes.USER: "computing",
    classes.KERNEL: "computing in the kernel",
    classes.RUNNABLE: "waiting for a CPU",
    classes.THROTTLED: "paused as it writes",
    classes.IDLE: "waiting for something other than storage",
    classes.UNEXPLAINED: "waiting for a reason that is not known",
}
_DOING = {name: _DOING.get(name, name) for name in classes.ALL}

#: Below it a finding is a guess, and said as one.
INDICATIVE = 0.5


def too_short(facts: Facts) -> bool:
    """Whether a run is mostly its own start and end, of which a block within a program has neither."""
    run = facts.run
    if facts.job is not None:
        return facts.job.run_s <= SHORTEST_JOB_S
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


def headline(
    facts: Facts,
    made: Commands,
    findings: tuple[Finding, ...],
    stated: tuple[Statement, ...],
    unclaimed: tuple[str, float],
) -> str:
    """What is slow, and how much. `unclaimed` is the class of waits of which most belongs to no cause, and how much."""
    said = _said(facts, made, findings, stated, unclaimed)
    return changed(said, f"{said} {capital(rows_not_read(facts))}.") if facts.run.skipped else said


def _said(
    facts: Facts,
    made: Commands,
    findings: tuple[Finding, ...],
    stated: tuple[Statement, ...],
    unclaimed: tuple[str, float],
) -> str:
    budget = facts.budget
    if too_short(facts):
        return _too_short(facts, made)
    if findings and findings[0].healthy:
        took = facts.shares_of_ns
        long = (
            ""
            if took is None or facts.run.pasted
            else "{who} was watched for {took:ns}, "
            if budget.basis == "machine" or facts.run.mode == "machine"
            else "{who} took {took:ns}, "
        )
        return worded(
            "nothing-to-fix",
            "Nothing to fix in I/O: " + long + "{mostly}.",
            who=facts.run.who,
            took=took,
            mostly=findings[0].summary,
        )
    fact = _fact(facts, findings, stated, unclaimed)
    if fact is not None:
        return fact
    if not budget.known and not findings:
        return worded(
            "unknown",
            "Unknown: nothing here shows where the time went. Record it: `{command}`",
            command=made.record_again(),
        )
    if not budget.known or (findings and findings[0].comes_first):
        return _lead(facts, findings[0])
    undecided = undecided_class(facts, findings, unclaimed)
    return (
        _lead(facts, findings[0])
        if undecided is None
        else _no_single_cause(facts, undecided, findings)
    )


def undecided_class(
    facts: Facts, findings: tuple[Finding, ...], unclaimed: tuple[str, float]
) -> str | None:
    """The class of time that is most of it and has no cause; None where a finding explains enough."""
    budget = facts.budget
    first = findings[0] if findings else None
    cls, rest = unclaimed
    settled = first is not None and (
        first.healthy or first.comes_first or (first.moment and rest < LEADS)
    )
    if too_short(facts) or not budget.known or settled:
        return None
    if first is not None and first.ended >= LEADS * facts.worked_share:
        # It may be known what is waited for, and be more than what the finding can give.
        return None if rest <= first.ended else cls
    return max((one for one in classes.ALL if one != classes.RECORDER), key=budget.elapsed)


def _fact(
    facts: Facts,
    findings: tuple[Finding, ...],
    stated: tuple[Statement, ...],
    unclaimed: tuple[str, float],
) -> str | None:
    """What a text states, where nothing explains most of the time: the gravest of it."""
    if not stated:
        return None
    fact = capital_subject(changed(stated[0].link.statement, f"{stated[0].link.statement}."))
    first = findings[0] if findings else None
    own = first is not None and first.share_of not in OF_TIME and not first.comes_first
    if first is not None and own and first.headline is not None:
        return capital_subject(first.headline)
    if first is not None and (first.share_of not in OF_TIME or first.comes_first):
        return fact if first.share_of not in OF_TIME and stated[0].grave >= TELLING else None
    if not facts.budget.known:
        return None if first is not None else fact
    if first is not None and first.moment and unclaimed[1] < LEADS and stated[0].grave < TELLING:
        return None
    leads = first is not None and first.ended >= LEADS and unclaimed[1] <= first.ended
    return fact if not leads and stated[0].grave >= TELLING else None


def _too_short(facts: Facts, made: Commands) -> Sentence:
    run = facts.run
    longer = (
        ""
        if run.part_of_ns is not None or _failed(facts)
        else " A log of a longer job would show more."
        if facts.job is not None
        else " To judge it, repeat it within one run: `{repeat}`."
        if run.mode == "run"
        else " To judge it, repeat it within the block."
        if run.mode == "block"
        else " To judge it, record longer: `{again}`."
    )
    return worded(
        "too-short",
        "Too short to judge: {took:ns}"
        + ("" if run.part_of_ns is None else " (of {recorded:ns} recorded)")
        + " is mostly start and end."
        + longer,
        took=facts.shares_of_ns,
        recorded=run.part_of_ns,
        repeat=made.repeat(100),
        again=made.record_again(),
    )


def _failed(facts: Facts) -> bool:
    command = facts.manifest.command
    return bool(command.exit_status) or command.signal is not None


def _no_single_cause(facts: Facts, largest: str, findings: tuple[Finding, ...]) -> Sentence:
    share, basis = facts.budget.elapsed(largest), facts.budget.basis
    reasons = facts.budget.heaviest_reasons(frozenset({largest}))
    known = largest == classes.UNEXPLAINED and reasons
    doing = (
        "{spent} {reason}"
        if known and basis == "job"
        else "{spent} outside of calls of I/O"
        if largest == classes.USER and basis == "job"
        else "the CPUs are idle {share:share} of the time"
        if largest == classes.IDLE and basis == "machine"
        else "{spent} {doing} ({reason})"
        if known
        else "{spent} {doing}"
    )
    return worded(
        "no-single-cause",
        "No single cause: "
        + doing
        + ("; {cause} explains {explained:share}" if findings else "")
        + ".",
        spent=_spent(facts, share, THE_TIME),
        doing=_DOING[largest],
        share=share,
        reason=reasons[0][0] if reasons else None,
        cause=findings[0].cause if findings else None,
        explained=findings[0].share if findings else None,
    )


def _lead(facts: Facts, finding: Finding) -> str:
    """The sentence about a finding that explains most."""
    if finding.headline is not None and finding.share < LISTED:
        return capital_subject(finding.headline)
    perhaps = "Perhaps: " if finding.confidence < INDICATIVE else ""
    if finding.share_of in OF_TIME:
        said = worded(
            "spent-doing",
            perhaps + "{spent} {doing}.",
            spent=_spent(facts, finding.share, finding.share_of, finding.who),
            doing=finding.summary,
        )
    else:
        said = worded(
            "doing",
            perhaps + "{doing}: {share:share} of {share_of}.",
            doing=capital(finding.summary),
            share=finding.share,
            share_of=finding.share_of,
        )
    return capital_subject(said)


def capital_subject(text: str) -> str:
    """Names of programs keep their letters; an article begins a sentence."""
    return (
        capital(text)
        if text.startswith(("the ", "a ", "no ", "container ", "pod ", "control "))
        else text
    )


def _spent(facts: Facts, share: float, of: str, who: str = "") -> Sentence:
    """`sqlite3 spent 69 % of its time (0.97 of 1.4 s)`."""
    whole, basis, part = facts.shares_of_ns, facts.budget.basis, facts.run.part_of_ns
    if basis == "machine" and not facts.run.pasted:
        words = "The machine spent {share:share} of the time"
    elif whole is None or (basis != "job" and (basis != "threads" or facts.run.pasted)):
        words = "{share:share} of {of} went into"
    elif basis == "job":
        words = "the job spent {share:share} of its time ({part})"
    elif facts.budget.left_out:
        words = "{who} spent {share:share} of its time ({part}, without the recorder)"
    else:
        within = "" if part is None else ", of {recorded:ns} recorded"
        words = "{who} spent {share:share} of its time ({part}" + within + ")"
    return worded(
        "spent",
        words,
        who=who or facts.run.who,
        share=share,
        of=THE_PART if of == THE_PART else THE_TIME,
        part=None if whole is None else part_of(share * whole, whole),
        spent_ns=None if whole is None else share * whole,
        of_ns=whole,
        recorded=part,
    )


def part_of(part_ns: float, whole_ns: float) -> str:
    """`0.97 of 1.4 s`: both in the unit of the whole."""
    whole = duration(whole_ns)
    amount, unit = whole.rsplit(" ", 1)
    if unit not in _NS or not amount.replace(".", "").isdecimal():
        return f"{duration(part_ns)} of {whole}"
    return f"{three_digits(part_ns / _NS[unit])} of {whole}"


def saved(
    verdict_s: float | None, basis: str, mode: str, fix: Fix, share_of: str = THE_TIME
) -> str:
    """What a fix could save at best: `1.4 s → 0.43 s at best`. `verdict_s`: the time that shares are of."""
    if fix.looks or fix.gain < SAID:
        return ""
    if verdict_s is None or basis != "threads" or mode not in ("run", "block"):
        of = THE_TIME if share_of in OF_TIME else share_of
        return f"could save up to {percent(fix.gain)} of {of}"
    before = verdict_s * 1e9
    return f"{duration(before)} → {duration(before * (1.0 - fix.gain))} at best"
