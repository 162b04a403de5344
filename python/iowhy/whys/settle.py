"""Which cause gets which time, so that none is claimed twice."""

from iowhy.whys import classes
from iowhy.whys.budget import Piece
from iowhy.whys.cause import Cause
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.thresholds import LISTED

_COMPUTING = frozenset({*classes.CPU, classes.RUNNABLE})


def settle(
    pieces: tuple[Piece, ...], found: list[tuple[Cause, Candidate]]
) -> tuple[list[float], list[list[float]], list[float]]:
    """Each candidate's share of the elapsed time, so that no time is claimed twice, its part of each piece, and what is left of each.

    Candidates take their claims one after the other: first those that no other one present
    beats, among them the one that claims most. What is taken is gone. Before all others come those that claim what a device takes
    longer than if it were well: the rest is what the fix of any other cause is about. After all others come those that say no more than
    whom the wait is for.
    """
    left = [piece.elapsed for piece in pieces]
    wanted = [_wanted(pieces, candidate.claims) for _, candidate in found]
    shares = [0.0] * len(found)
    parts = [[0.0] * len(pieces) for _ in found]
    waiting = set(range(len(found)))

    def worth(index: int) -> float:
        candidate = found[index][1]
        if candidate.fixed_share is not None:
            return candidate.fixed_share
        return sum(_taken(left, *wanted[index]))

    while waiting:
        beaten = {
            other
            for index in waiting
            for other in waiting
            if found[other][0].name in found[index][0].beats and worth(index) >= LISTED
        }
        excess = {index for index in waiting if found[index][1].excess}
        rest = {index for index in waiting if not found[index][1].last} or waiting
        # Two causes that beat each other would wait for ever: then size decides.
        free = (excess - beaten) or excess or (rest - beaten) or rest
        first = max(free, key=lambda index: (worth(index), -index))
        waiting.remove(first)
        candidate = found[first][1]
        if candidate.fixed_share is not None:
            # What another one explains of the same is not its own.
            name = found[first][0].name
            others = (
                share
                for share, (cause, one) in zip(shares, found, strict=True)
                if name in cause.beats and one.share_of == candidate.share_of
            )
            shares[first] = max(0.0, candidate.fixed_share - max(others, default=0.0))
            continue
        taken = _taken(left, *wanted[first])
        shares[first] = sum(taken)
        if shares[first] >= LISTED:
            parts[first] = taken
            left = [have - took for have, took in zip(left, taken, strict=True)]
    return shares, parts, left


def computing_left(
    pieces: tuple[Piece, ...],
    found: list[tuple[Cause, Candidate]],
    shares: list[float],
    left: list[float],
) -> list[float]:
    """What a setting that leaves computing out ends as well: CPU time that nothing explains, for the largest of those that are about computing."""
    spare = [0.0] * len(found)
    of_cpu = [
        index
        for index, (_, candidate) in enumerate(found)
        if shares[index] >= LISTED
        and candidate.claims
        and all(one.classes <= _COMPUTING for one in candidate.claims)
    ]
    if of_cpu:
        largest = max(of_cpu, key=lambda index: (shares[index], -index))
        spare[largest] = sum(
            have for piece, have in zip(pieces, left, strict=True) if piece.cls in _COMPUTING
        )
    return spare


def _taken(left: list[float], wanted: list[float], following: list[float]) -> list[float]:
    taken = [min(have, want) for have, want in zip(left, wanted, strict=True)]
    # What follows goes as far as there is left of what it goes with.
    part = sum(taken) / sum(wanted) if any(wanted) else 0.0
    return [
        min(have, max(took, part * want))
        for have, took, want in zip(left, taken, following, strict=True)
    ]


def _wanted(
    pieces: tuple[Piece, ...], claims: tuple[Claim, ...]
) -> tuple[list[float], list[float]]:
    """What claims ask of each piece alone, and what those that follow; those that ask for the same piece not twice."""
    return _most(pieces, claims, follows=False), _most(pieces, claims, follows=True)


def _most(pieces: tuple[Piece, ...], claims: tuple[Claim, ...], *, follows: bool) -> list[float]:
    asking = [claim for claim in claims if claim.follows == follows]
    return [
        max(
            (
                piece.elapsed * max(0.0, min(1.0, claim.fraction))
                for claim in asking
                if matches(claim, piece)
            ),
            default=0.0,
        )
        for piece in pieces
    ]


def matches(claim: Claim, piece: Piece) -> bool:
    """Whether a claim is about this piece of the budget."""
    return (
        piece.cls in claim.classes
        and (claim.calls is None or piece.call in claim.calls)
        and (claim.reasons is None or piece.reason in claim.reasons)
        and (claim.modes is None or piece.mode in claim.modes)
    )
