"""Of the time budget, what waits for filesystems that a process or a server serves."""

from collections.abc import Sequence

from iowhy.whys import classes
from iowhy.whys.facts import Facts
from iowhy.whys.facts.served import Served
from iowhy.whys.finding import Claim


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
