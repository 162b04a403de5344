"""What a module in `iowhy.experiments.levers` provides, and the registry of them.

A module there holds `LEVER` and is found by being there: adding one touches nothing else but its
test and its paragraph of documentation.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.experiments.in_child import InChild

if TYPE_CHECKING:
    from iowhy.experiments.setting import Setting


class CannotAct(Problem):
    """A lever cannot act at the levels asked for; the others still can."""


class Level(Struct, frozen=True):
    """How far a lever is effect.

    ``label`` names it in tables, ``key`` is what the lever itself reads, and ``factor`` is the share of
    the resource that is left (0.5: half of it); None where the resource has no amount, as with a
    relieving lever. ``phrase`` is how the answer's sentence names it; ``takes`` is for a level without
    an amount that takes something away (a cold cache) from one that gives.
    """

    label: str
    key: str
    factor: float | None
    phrase: str = ""
    takes: bool = False

    def said(self, resource: str, factor: float | None) -> str:
        """The level in a sentence, with the factor that was reached."""
        if self.phrase or factor is None:
            return self.phrase or self.label
        if abs(factor - 0.5) < 0.015:
            return f"halving {resource}"
        return f"taking {(1 - factor) * 100:.0f} % of {resource} away"


class Effect(Struct):
    """What one trial under a lever is run with.

    ``in_child`` is done in the measured command alone, ``everywhere`` in --prepare and --conclude too
    (a copy of the work directory must be seen by all of them). ``files_at`` is where the copied files
    are for everybody else; ``cache`` overrides the cache state, ``argv`` the command.
    ``after`` is called with the command's wall time in seconds when it has ended and says what was
    reached, by name; the name ``factor`` replaces the level's. It raises Problem when the lever was
    not held for the whole trial.
    """

    in_child: tuple[InChild, ...] = ()
    everywhere: tuple[InChild, ...] = ()
    directory: Path | None = None
    files_at: Path | None = None
    cache: str | None = None
    environment: tuple[tuple[str, str], ...] = ()
    argv: tuple[str, ...] | None = None
    after: Callable[[float], Mapping[str, float]] = field(default=lambda _: {})
    own_disk_bytes: Callable[[], int] = field(default=lambda: 0)


class Lever(Struct, frozen=True):
    """Changes one resource of the command for one trial, and always puts it back.

    ``relieves`` distinguishes a lever that gives from one that takes; ``unsafe`` one that needs
    --allow-unsafe; ``explicit`` one that is never taken unless named. ``resource`` is the word used
    in the answer, ``bound`` the one before "-bound". ``cost`` orders levers, cheapest first.
    ``only`` is the level of one that has no other, ``predicted_by`` the id of the same change in `iowhy what-if`.
    """

    name: str = ""
    resource: str = ""
    bound: str = ""
    needs: str = ""
    relieves: bool = False
    unsafe: bool = False
    explicit: bool = False
    cost: int = 3
    only: Level | None = None
    predicted_by: str = ""

    def refusal(self, setting: "Setting") -> str | None:  # noqa: ARG002
        """Why it cannot act here; None when it can. Changes nothing."""
        return None

    def levels(self, setting: "Setting", asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Its levels: those asked for, checked, or its own.

        Raises Problem for a senseless one, CannotAct where the machine does not let it.
        """
        assert self.only is not None
        return (self.only,)

    def apply(self, level: Level, setting: "Setting") -> AbstractContextManager[Effect]:
        """Acts for the time of one trial; every change goes through ``setting.undo``."""
        raise NotImplementedError


def percent(value: float) -> str:
    """A share as a label: 50 %."""
    return f"{value * 100:.3g} %"
