"""A check: one thing on which recording depends, and what can be done about it."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import cache
from typing import Literal

from iowhy.data_class import dataclass
from iowhy.doctor.machine import Machine

State = Literal["works", "limits", "stops"]


@dataclass(frozen=True)
class Condition:
    """How one thing stands: it works, it limits what is seen, or it stops all eBPF programs.

    `found` is what is so here, as a clause; `remedy` what to do, a sentence, empty where nothing can be done
    or need be.
    """

    state: State
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class Check:
    """`order`: of several that stop, the one with the lowest is told first, as its remedy comes first.

    `look` gives None where the thing plays no part here. `otherwise`: it says no more than that nothing
    works, and is told only where no other check says why.
    """

    subject: str
    order: int
    look: Callable[[Machine], Condition | None]
    otherwise: bool = False


@cache
def checks() -> tuple[Check, ...]:
    """Every check, in order."""
    package = importlib.import_module("iowhy.doctor.checks")
    modules = (
        importlib.import_module(f"{package.__name__}.{info.name}")
        for info in pkgutil.iter_modules(package.__path__)
    )
    return tuple(sorted((module.CHECK for module in modules), key=lambda check: check.order))
