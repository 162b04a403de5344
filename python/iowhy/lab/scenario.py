"""What a module in `iowhy.lab.scenarios` provides, and the registry of them.

A module there holds `SCENARIO`, or `SCENARIOS` for two that share their preparation, and is found by being there.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.lab.stage import Stage


class Plan(Struct, frozen=True):
    """What to record once the stage is prepared.

    Just before, `cold` drops what is cached of the scratch filesystems; if it is False all that is in them is read, and
    with None they stay as they were prepared. `printed` reads figures from what the command printed; without it the last line is read as JSON if it is an object.
    """

    argv: tuple[str, ...]
    cwd: Path | None = None
    env: Mapping[str, str] | None = None
    cold: bool | None = None
    printed: Callable[[str], dict[str, Any]] | None = None


class Variant(Struct, frozen=True):
    """One form of a scenario: what is prepared and run, and which causes are right for it.

    `causes` are names of causes; the first is the best answer, any other is right too. `elsewhere` are those
    that are right too on some devices, where something else is the limit. `also` are true of it as well, after one of those.
    `remedy` are ids of the remedies that it follows, of a fix.
    """

    name: str
    text: str
    prepare: Callable[[Stage], Plan]
    causes: tuple[str, ...]
    elsewhere: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: tuple[str, ...] = ()
    remedy: tuple[str, ...] = ()

    def right_on(self, device: str) -> tuple[str, ...]:
        """The causes that are right on a kind of device, the best answer first."""
        return (*self.causes, *self.elsewhere.get(device, ()))


#: What limits a program on a device that answers as fast as it can ask.
CPU = ("cpu-serial", "cpu-saturated", "cpu-delayed")
#: What is right where the disk is no limit any more.
FINE = ("healthy", "not-io", *CPU)
#: What is right of a program that computes.
COMPUTES = ("cpu-serial", "cpu-saturated", "not-io", "healthy")


class Figure(Struct, frozen=True):
    """A figure that the published case states and that a trial measures too.

    `broken` and `fixed` are as published, None where the case gives none; `here` takes the figures of a
    trial (:attr:`iowhy.lab.trial.Trial.printed`) and gives the one here, None when it has none.
    """

    name: str
    unit: str
    broken: float | None
    fixed: float | None
    here: Callable[[Mapping[str, Any]], float | None]


def said(figures: Mapping[str, Any], id_: str) -> float | None:
    """The number of the first link of a finding's chain with this id."""
    for link in figures.get("links", ()):
        if link.statement.id == id_:
            value: float | None = link.value
            return value
    return None


def per_disk(figures: Mapping[str, Any], counter: str) -> float | None:
    """A counter of the trial's first emulated disk (the statistics of iowhy-disk), e.g. `flushes`."""
    for statistics in figures.get("disks", ()):
        if counter in statistics:
            return float(statistics[counter])
    return None


class Scenario(Struct, frozen=True):
    """A case or a control.

    The first variant is the broken one (for a control: the only one, perhaps), the second the fixed
    one; later ones are fixes too, if they say which remedy they follow. `chain` are ids of links that the chain of the finding must contain. `devices` and
    `filesystems` are what it makes sense on, the usual one first.
    """

    name: str
    title: str
    variants: tuple[Variant, ...]
    devices: tuple[str, ...]
    filesystems: tuple[str, ...] = ("ext4", "xfs", "btrfs")
    case: int | None = None
    chain: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    #: Whether the fix is the finding's first remedy, so that it saves what the finding says can be gained.
    share_is_gain: bool = True
    #: Ids of the remedies that the second variant follows.
    remedy: tuple[str, ...] = ()
    #: Programs that are installed where it can run.
    tools: tuple[str, ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def broken(self) -> Variant:
        """The variant that has the cause."""
        return self.variants[0]

    @property
    def fixed(self) -> Variant | None:
        """The variant without it."""
        return self.variants[1] if len(self.variants) > 1 else None

    def fix_for(self, remedies: Sequence[str]) -> Variant | None:
        """The fix that follows the first of a finding's remedies; the second variant if there is none."""
        if remedies:
            for one in self.variants[1:]:
                if remedies[0] in self.followed(one):
                    return one
        return self.fixed

    def followed(self, fix: Variant) -> tuple[str, ...]:
        """Ids of the remedies that a fix follows."""
        return self.remedy if fix is self.fixed else fix.remedy

    def variant(self, name: str) -> Variant:
        """A variant by name. Raises Problem that lists them."""
        for found in self.variants:
            if found.name == name:
                return found
        names = ", ".join(variant.name for variant in self.variants)
        raise Problem("variant-unknown", name=name, scenario=self.name, names=names)
