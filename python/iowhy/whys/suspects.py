"""If no cause explains most of the time: suspects, what speaks for and against each, and the command that would decide."""

from msgspec import Struct

from iowhy.invocation import as_root
from iowhy.sentences import Sentence, worded
from iowhy.whys import classes, evidence
from iowhy.whys.causes import causes
from iowhy.whys.chain import duration, percent, plural, size
from iowhy.whys.facts import Facts
from iowhy.whys.facts.calls import Group
from iowhy.whys.facts.holders import held_share
from iowhy.whys.finding import Finding
from iowhy.whys.thresholds import TOO_MANY
from iowhy.whys.typed import Commands

#: How many are named.
MOST = 2
#: Less sure than that is a guess (docs/verdict.md).
SURE = 0.6
_EVEN = 0.5
_SOME = 0.05
_OTHERS = "what is between the calls and {}: a limit, a lock, the kernel's own threads"


class Suspect(Struct, frozen=True):
    """One candidate, with what speaks for and what against it; "" for nothing."""

    could_be: str
    speaks_for: str = ""
    against: str = ""

    @property
    def sentence(self) -> str:
        """All of it."""
        said = [f"for it: {self.speaks_for}"] if self.speaks_for else []
        said += [f"against it: {self.against}"] if self.against else []
        return f"{self.could_be} ({'; '.join(said)})" if said else self.could_be


class Doubt(Struct, frozen=True):
    """Suspects, the best first, and the command that would distinguish them: it brings the evidence that is missing, if any is. "" where
    the next step is said elsewhere.
    """

    suspects: tuple[Suspect, ...]
    decided_by: str
    #: Tables and sensors that are not whole.
    lacks: tuple[str, ...] = ()

    @property
    def missing(self) -> Sentence | None:
        """What is missing, in words."""
        if not self.lacks:
            return None
        return worded("lacks", "{tables} (in part or whole)", tables=", ".join(self.lacks))


def doubt(
    facts: Facts, made: Commands, findings: tuple[Finding, ...], cls: str | None
) -> Doubt | None:
    """About the time of a class that no cause explains, or a first finding that is a guess as its evidence is not whole. Of other tools'
    texts the next step is known, and said with them.
    """
    first = findings[0] if findings else None
    guess = first is not None and first.confidence < SURE
    if facts.run.pasted:
        partly = facts.run.skipped_share >= TOO_MANY  # what was not read may be what matters
        suspects = () if cls is None or partly else _suspected(facts, findings, cls)[0]
        return Doubt(suspects, "") if suspects else None
    if cls is None and not guess:
        return None
    suspects, command = ((), "") if cls is None else _suspected(facts, findings, cls)
    lacks = _lacking(facts, first if guess else None)
    if lacks:
        command = f"`{_brings(facts, made, lacks)}`"
    return Doubt(suspects, made.filled(command), lacks) if suspects or lacks else None


def _lacking(facts: Facts, first: Finding | None) -> tuple[str, ...]:
    """Tables and sensors that are not whole: those that make a finding a guess, or that any cause is seen by."""
    if first is not None:
        values = (one.values for one in first.lowered_by if isinstance(one, Sentence))
        named = (one.get("table") or one.get("sensor") for one in values)
        return tuple(dict.fromkeys(str(one) for one in named if one))
    run = facts.run
    seen_by = {sensor for cause in causes() for sensor in cause.unseen_without}
    missing = [name for name in sorted(seen_by) if name in run.missing]
    differ = *(one.table for one in run.mismatches), *(one.table for one in facts.shorts)
    return tuple(dict.fromkeys((*missing, *differ, *(name for name, n in run.lost.items() if n))))


def _brings(facts: Facts, made: Commands, lacks: tuple[str, ...]) -> str:
    """The command that brings what is missing: what this machine refused, its doctor says."""
    refused = facts.manifest.source == "live" and all(name in facts.run.missing for name in lacks)
    return "iowhy doctor" if refused else made.record_again()


def _suspected(
    facts: Facts, findings: tuple[Finding, ...], cls: str
) -> tuple[tuple[Suspect, ...], str]:
    by_class, command = _of_class(facts, cls)
    listed = [
        Suspect(
            one.cause,
            one.chain[0].statement if one.chain else one.summary,
            one.against[0] if one.against else f"it explains {percent(one.share)} of the time",
        )
        for one in findings[:1]
        if cls in one.classes
    ]
    return (*listed, *by_class)[:MOST], command


def _again() -> str:
    return f"`{as_root()} run -a --duration 10s` while it runs again"


def _of_class(facts: Facts, cls: str) -> tuple[list[Suspect], str]:
    """What could take the time of a class, the likelier first, and the command."""
    if facts.run.pasted:
        return _of_text(facts, cls), ""
    if cls in classes.STORAGE or cls == classes.THROTTLED:
        return _of_storage(facts), _again()
    if cls == classes.LOCK:
        return _of_lock(facts), _again()
    if cls in classes.CPU:
        return _of_cpu(facts), "`iowhy report callers`"
    if cls == classes.UNEXPLAINED:
        return _of_unknown(facts), _again()
    waits = facts.budget.heaviest_reasons(frozenset({cls}))
    reasons = [f"{percent(share)} of the time is {reason}" for reason, share in waits[:MOST]]
    return [Suspect(one) for one in reasons], "`iowhy report waits`"


def _of_unknown(facts: Facts) -> list[Suspect]:
    """What the kernel does in the call that waits, or the device that others work on for it."""
    calls = facts.budget.heaviest_calls(frozenset({classes.UNEXPLAINED}))
    work = Suspect("what the kernel does outside of calls")
    if calls and calls[0][0]:
        share = percent(calls[0][1])
        work = Suspect(f"what the kernel does in {calls[0][0]}", f"{share} of the time is there")
    top = facts.devices.top
    if top is None or top.busy_share is None:
        return [work]
    seen = f"{top.name} is busy in {percent(top.busy_share)} of the run"
    if top.busy_share >= _EVEN:
        return [Suspect(f"{top.name}, on which the kernel works for it", seen), work]
    return [work, Suspect(top.name, "", seen)]


def _of_text(facts: Facts, cls: str) -> list[Suspect]:
    """Of what another tool printed: what its numbers leave open."""
    if cls == classes.IDLE:
        share = percent(facts.budget.elapsed(cls))
        rests = Suspect("a machine with little to do", f"its CPUs are idle {share} of the time")
        top = max(facts.devices.all, key=lambda one: one.busy_share or 0.0, default=None)
        busy = None if top is None else top.busy_share
        if top is not None and busy is not None and busy >= _EVEN:
            seen = f"{top.name} is {percent(busy)} busy"
            return [Suspect("a program that waits", seen), rests]
        seen = (
            "the text has no device"
            if busy is None
            else f"no device is busier than {percent(busy)}"
        )
        return [rests, Suspect("one program that waits", "", seen)]
    if cls in classes.CPU:
        return _of_cpu(facts)
    if cls not in classes.STORAGE:
        return []
    if evidence.busy_while_waiting(facts) is not None:
        return _of_storage(facts)
    named = facts.budget.heaviest_calls(frozenset({cls}))
    group = facts.calls.by_name.get(named[0][0], Group()) if named else Group()
    slow = f"{plural(group.calls, 'call')} of {duration(group.mean_ns)}" if group.mean_ns else ""
    known = group.bytes is not None and group.calls > 0
    sized = known or any(n.metric.endswith("_bytes_per_s") for n in facts.measured.numbers)
    much = f"{size((group.bytes or 0) / group.calls)} in each" if known else ""
    work = (
        "what each sync has to write"
        if cls == classes.SYNC
        else "how much is asked for, or where it is"
    )
    return [
        Suspect("the device, which is slow or busy", slow, "the text has no device"),
        Suspect(work, much, "" if sized else "the text has no sizes"),
    ]


def _of_storage(facts: Facts) -> list[Suspect]:
    """The device, or what keeps its requests from it."""
    name = facts.requests.device or "its device"
    busy = evidence.busy_while_waiting(facts)
    if busy is None:
        return [
            Suspect(_OTHERS.format(name), speaks_for="it has no request there"),
            Suspect(name, against="it has no request there"),
        ]
    at_work, idle = (
        f"{name} is busy in {percent(busy)} of the waiting",
        f"{name} is idle in {percent(1 - busy)} of the waiting",
    )
    # What is next to nothing speaks for nobody.
    at_work, idle = at_work if busy >= _SOME else "", idle if busy <= 1 - _SOME else ""
    # What speaks for one speaks against the other: it is said once.
    device = Suspect(name, at_work, "" if at_work else idle)
    other = Suspect(_OTHERS.format(name), idle, "" if idle else at_work)
    return [device, other] if busy >= _EVEN else [other, device]


def _of_lock(facts: Facts) -> list[Suspect]:
    """One of its threads, or a holder that is not in the recording."""
    reasons = frozenset(r for r, _ in facts.budget.heaviest_reasons(frozenset({classes.LOCK})))
    held = held_share(facts.relations, reasons) or 0.0
    own = Suspect(
        "one of its threads, which holds the lock",
        f"one may hold it in {percent(held)} of the waiting",
    )
    outside = Suspect(
        "a holder outside the recording",
        f"no thread of it can hold it in {percent(1 - held)} of the waiting",
    )
    return [own, outside] if held >= _EVEN else [outside, own]


def _of_cpu(facts: Facts) -> list[Suspect]:
    """The program's own code, or the kernel's for its calls."""
    user, kernel = facts.budget.elapsed(classes.USER), facts.budget.elapsed(classes.KERNEL)
    own = Suspect("the program's own code", f"{percent(user)} of the time")
    calls = Suspect("the kernel's code for its calls", f"{percent(kernel)} of the time")
    return [own, calls] if user >= kernel else [calls, own]
