"""Which levers can act here and now."""

import inspect
import os
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.experiments.levers import levers
from iowhy.experiments.setting import Profile, Setting
from iowhy.undo import Undo


class Availability(Struct, frozen=True):
    """A lever: what it does, what it needs, the levels it takes by default, or why it cannot act (`refusal`)."""

    name: str
    relieves: bool
    explicit: bool
    does: str
    needs: str
    levels: tuple[str, ...]
    refusal: str | None


def availability(directory: Path) -> list[Availability]:
    """All levers, those that take before those that give, cheapest first.

    What depends on the command (how much memory it holds) or on options is taken as if it allowed the lever.
    """
    # Nothing is applied, so nothing is ever written to this journal.
    setting = Setting((), directory, Undo(Path(os.devnull), -1), Profile(1.0, 1.0, 1 << 40, 0))
    found = []
    for lever in sorted(levers().values(), key=lambda one: (one.relieves, one.cost, one.name)):
        setting.base_cache = "as-is" if lever.name == "cache-cold" else "cold"
        setting.allow_unsafe = lever.unsafe
        levels: tuple[str, ...] = ()
        try:
            why = lever.refusal(setting)
            if why is None:
                levels = tuple(one.label for one in lever.levels(setting, ()))
        except Problem as problem:
            why = str(problem)
        text = inspect.getdoc(inspect.getmodule(type(lever))) or ""
        found.append(
            Availability(
                name=lever.name,
                relieves=lever.relieves,
                explicit=lever.explicit,
                does=text.partition("\n")[0],
                needs=lever.needs,
                levels=levels,
                refusal=why,
            )
        )
    return found
