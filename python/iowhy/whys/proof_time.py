"""How long it takes to prove a finding: what `iowhy experiment` may take unasked, and the bound that a longer one is given."""

import math

USUAL_S = 60.0
"""What an experiment may take unasked."""

LEAST_BLOCKS = 3
"""With fewer there is no interval."""

RUNS_BEFORE = 2
"""One that is not measured, and one that is profiled."""

_ROOM = 1.25


def seconds_needed(run_s: float, levels: int = 1, blocks: int = LEAST_BLOCKS) -> float:
    """What the fewest runs take, of so many levels and of the command alone."""
    return run_s * (RUNS_BEFORE + blocks * (1 + levels))


def bound(seconds: float) -> str:
    """A bound as it is typed, with room."""
    return f"{max(1, math.ceil(seconds * _ROOM / 60))}m"
