"""What a module in `iowhy.whys.causes` provides, and the registry of them.

A module there holds `CAUSE`, a Cause, and is found by being there: adding one touches nothing else
but its test and its generated page of documentation.
"""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from iowhy.whys.finding import Candidate

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


@dataclass(frozen=True)
class Threshold:
    """A number that decides, with the reason for its value."""

    name: str
    value: float
    unit: str
    reason: str


@dataclass(frozen=True)
class Cause:
    """One reason for slowness: what it means, how it shows, what to do about it.

    `remedies` are in order of cost, cheapest first. `experiment` is the lever that would prove it.
    `beats` are causes whose signs this one explains: where both claim the same time, it gets it.
    `find` looks for it in a recording's facts, None when it is not there or cannot be known.
    """

    name: str
    title: str
    meaning: str
    measured: str
    thresholds: tuple[Threshold, ...]
    fooled_by: tuple[str, ...]
    remedies: tuple[str, ...]
    experiment: str | None
    find: Callable[["Facts"], Candidate | None]
    beats: tuple[str, ...] = ()


@cache
def causes() -> tuple[Cause, ...]:
    """Every cause, by name."""
    package = importlib.import_module("iowhy.whys.causes")
    found = []
    for info in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"iowhy.whys.causes.{info.name}")
        cause = getattr(module, "CAUSE", None)
        if isinstance(cause, Cause):
            found.append(cause)
    return tuple(sorted(found, key=lambda cause: cause.name))
