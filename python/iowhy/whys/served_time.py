"""Of the time budget, what waits for filesystems that a process or a server serves."""

from collections.abc import Callable, Sequence

from iowhy.whys import classes
from iowhy.whys.cause import Clue
from iowhy.whys.chain import count, duration, link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Served
from iowhy.whys.finding import Claim, Link


def claims(found: Sequence[Served]) -> tuple[Claim, ...]:
    """Of each call and reason the part that waits for such a filesystem."""
    return tuple(
        Claim(
            classes.STORAGE,
            calls=frozenset({one.call}),
            reasons=frozenset({one.reason}),
            fraction=one.part,
        )
        for one in found
    )


def share_of(facts: Facts, found: Sequence[Served]) -> float:
    """Of the elapsed time, in the pieces that the claims are about."""
    return sum(
        one.part * piece.elapsed
        for one in found
        for piece in facts.budget.pieces
        if piece.cls in classes.STORAGE and piece.call == one.call and piece.reason == one.reason
    )


def _mostly(found: Sequence[Served]) -> str:
    """The calls that together have half of the time, the longest first."""
    by_call: dict[str, float] = {}
    for one in found:
        name = one.call or "page faults"
        by_call[name] = by_call.get(name, 0.0) + one.total_ns
    left, named = sum(by_call.values()) / 2, []
    for name in sorted(by_call, key=lambda name: (-by_call[name], name)):
        if left <= 0:
            break
        named.append(name)
        left -= by_call[name]
    return " and ".join(filter(None, (", ".join(named[:-1]), named[-1])))


def unanswered(most: Served, where: str) -> Link | None:
    """It is not a slow answer that is waited for: the recorder has asked, and got none."""
    if most.unanswered_ns is None:
        return None
    return link(
        f"{where} did not answer the recorder either, within {duration(most.unanswered_ns)}",
        most.unanswered_ns,
        "ns",
        "files",
    )


def waits(found: Sequence[Served], share: float, where: str) -> tuple[Link, Link]:
    """How much of the time is waited for such files, and in which calls most of that."""
    number, total_ns = sum(one.waits for one in found), sum(one.total_ns for one in found)
    most = found[0]
    return (
        link(f"{percent(share)} of the time waits for files on {where}", share, "share", "budget"),
        link(
            f"{count(number)} waits, {duration(total_ns / number)} each, most of that time in {_mostly(found)}",
            number,
            "waits",
            "syscalls" if most.reason is None else "waits",
        ),
    )


def clues(is_there: Callable[[Facts], bool]) -> tuple[Clue, ...]:
    """What shows that sleep is for such a filesystem: the calls, and which files they are on; nothing if none is mounted."""

    def could_be(facts: Facts) -> bool:
        return not facts.relations.has("filesystems") or is_there(facts)

    return Clue("files", could_be), Clue("syscalls", could_be)
