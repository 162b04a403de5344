"""Waiting for a CPU belongs to what made it necessary: a wait that has ended, or computing; whatever ends that ends it as well."""

from collections.abc import Iterable

from msgspec.structs import replace

from iowhy.whys import classes
from iowhy.whys.budget import Piece
from iowhy.whys.chain import link, percent
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Claim
from iowhy.whys.settle import matches
from iowhy.whys.thresholds import LISTED

_WAITS = classes.WAITING | {classes.THROTTLED}


def with_wake_ups(facts: Facts, candidate: Candidate) -> Candidate:
    """A candidate that claims waits, or CPU time in the kernel, with what then waited for a CPU.

    What its calls waited after their waits is known, but not of page faults; all the rest is divided as the CPU time.
    """
    ready, claims = facts.budget.line(classes.RUNNABLE), candidate.claims
    claimed = frozenset().union(*(claim.classes for claim in claims))
    if not ready.thread_ns or claimed & {classes.RUNNABLE, classes.USER}:
        return candidate
    pieces = facts.budget.pieces
    part, rest = 0.0, 1.0
    for one in facts.wake_ups:
        of_call = one.runnable_ns / ready.thread_ns
        waits = [piece for piece in pieces if piece.call == one.name and piece.cls in _WAITS]
        part += of_call * _claimed(waits, claims)
        rest -= of_call
    computing = [piece for piece in pieces if piece.cls in classes.CPU]
    part += max(0.0, rest) * _claimed(computing, claims)
    if part <= 0:
        return candidate
    share = min(1.0, part) * ready.elapsed_share
    claim = Claim(frozenset({classes.RUNNABLE}), fraction=min(1.0, part), follows=True)
    said = link(
        f"after these waits it waits for a CPU, {percent(share)} of the time",
        share,
        "share",
        "syscalls",
        "wake-ups.share",
    )
    chain = (*candidate.chain[:1], said, *candidate.chain[1:])
    return replace(
        candidate,
        claims=(*claims, claim),
        chain=chain if share >= LISTED else candidate.chain,
    )


def _claimed(pieces: Iterable[Piece], claims: Iterable[Claim]) -> float:
    """Of the time of some pieces, the part that is claimed."""
    whole = mine = 0.0
    for piece in pieces:
        whole += piece.elapsed
        mine += piece.elapsed * max(
            (min(1.0, claim.fraction) for claim in claims if matches(claim, piece)), default=0.0
        )
    return mine / whole if whole else 0.0
