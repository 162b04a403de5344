"""A check: one thing on which recording depends, and what can be done about it."""

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

from iowhy.doctor.machine import Machine

State = Literal["works", "limits", "stops"]


class Condition(Struct, frozen=True):
    """How one thing is: it works, it limits what is seen, or it stops all eBPF programs.

    `found` is what is so here, as a clause; `remedy` what to do, a sentence, empty where nothing can be done
    or need be.
    """

    state: State
    found: str
    remedy: str = ""


class Check(Struct, frozen=True):
    """`order`: of several that stop, the one with the lowest is named first, as its remedy comes first.

    `look` gives None where the thing plays no part here. `otherwise`: it says no more than that nothing
    works, and is named only where no other check says why.
    """

    subject: str
    order: int
    look: Callable[[Machine], Condition | None]
    otherwise: bool = False
