"""A frozen filesystem takes no writes until it is thawed."""

from iowhy.invocation import quoted
from iowhy.sentences import worded
from iowhy.whys import classes, next_command, saving, thresholds
from iowhy.whys.cause import Cause, Threshold
from iowhy.whys.chain import chain_of, duration, link, percent, plural
from iowhy.whys.facts import Facts
from iowhy.whys.facts.frozen import REASON, Frozen, freezers, frozen
from iowhy.whys.finding import Candidate, Claim, Link
from iowhy.whys.remedy import Remedy

LOCKS = frozenset({classes.LOCK})


def find(facts: Facts) -> Candidate | None:
    """Calls that write wait where a freeze holds all writers."""
    share = dict(facts.budget.heaviest_reasons(LOCKS)).get(REASON, 0.0)
    if share < thresholds.LISTED:
        return None
    found = frozen(facts.relations)
    if found is None:
        return None
    who = freezers(facts.relations)
    return Candidate(
        claims=(Claim(LOCKS, reasons=frozenset({REASON})),),
        chain=_chain(found, share, who),
        summary=worded(
            "filesystem-frozen.frozen",
            f"waiting to write to {{where}}, which {'is' if found.until_ns is None else 'was'} frozen"
            + (", probably by {who}" if who else ""),
            where=_where(found),
            who=who[0] if who else None,
        ),
        who=found.comm or "",
        saving=saving.all_of_it("if it is not frozen"),
        remedies=(_find(who), _thaw(found.mount, again=found.until_ns is not None)),
        needs=("waits", "stacks"),
        confidence=0.9,
    )


def _where(found: Frozen) -> str:
    return "the filesystem" if found.mount is None else f"the filesystem at {found.mount}"


def _chain(found: Frozen, share: float, who: list[str]) -> tuple[Link, ...]:
    """How long, since when and until when, and who."""
    call = found.call or "page faults"
    until = (
        "to the end of the recording"
        if found.until_ns is None
        else f"until {duration(found.until_ns)}"
    )
    return chain_of(
        link(
            f"{percent(share)} of the time is spent waiting in {call} for a frozen filesystem",
            share,
            "share",
            "waits",
            "filesystem-frozen.share",
        ),
        link(
            f"frozen from {duration(max(0, found.since_ns))} after the start at the latest, {until}: "
            f"{plural(found.waits, 'wait')} by {plural(found.threads, 'thread')}",
            found.waits,
            "waits",
            "waits",
            "filesystem-frozen.waits",
        ),
        link(
            f"{', '.join(who)} ran then",
            len(who),
            "processes",
            "processes",
            "filesystem-frozen.by-whom",
        )
        if who
        else None,
    )


def _find(who: list[str]) -> Remedy:
    if who:
        return Remedy(
            worded(
                "filesystem-frozen.move-job",
                "Move the job that ran {who} to a time when nothing writes",
                who=who[0],
            ),
            risk="its backup or snapshot is taken later",
        )
    return Remedy(
        worded(
            "filesystem-frozen.find-freezer",
            "Find the backup or snapshot that froze it: `journalctl -b | grep -iE 'freeze|snapshot'`",
        ),
        looks=True,
    )


def _thaw(mount: str | None = None, *, again: bool = False) -> Remedy:
    typed = "" if mount is None else f": `fsfreeze --unfreeze {quoted(mount)}`"
    return Remedy(
        worded(
            "filesystem-frozen.thaw",
            ("If it is frozen again, thaw it" if again else "Thaw it") + "{typed}",
            typed=typed,
        ),
        risk="a backup or snapshot that is being taken may need a repair",
    )


CAUSE = Cause(
    name="filesystem-frozen",
    title="A frozen filesystem",
    meaning=(
        "A freeze (fsfreeze, a snapshot of LVM or of a virtual machine) holds everybody who writes to a filesystem, "
        "creates or removes a name on it, until it is thawed. Reads go on."
    ),
    measured=(
        "Uninterruptible waits whose kernel stack shows that a writer may not enter the filesystem (sb_start_write), by "
        "call; the first and the last of them; processes that freeze filesystems, if they were recorded or did I/O."
    ),
    thresholds=(
        Threshold(
            "waiting for it", thresholds.LISTED, "share",
            "a finding must explain as much to be listed",
        ),
    ),
    fooled_by=(
        "a filesystem that is being remounted read-only holds writers in the same way, for a moment",
        "who froze it before the recording began, without any I/O since, is not seen",
    ),
    remedies=(
        Remedy(worded("filesystem-frozen.freeze-later", "Freeze it when nothing writes"), risk="the backup or snapshot is taken later"),
        _thaw(),
    ),
    find=find,
    explains=classes.named("lock"),
    unseen_without=("waits",),
    settled_by=next_command.CALLS,
    beats=("lock-contended",),
)  # fmt: skip
