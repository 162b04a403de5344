"""What a module in `iowhy.whys.causes` provides, and the registry of them.

A module there holds `CAUSE`, a Cause, and is found by being there: adding one touches nothing else
but its test and its generated page of documentation.
"""

from collections.abc import Callable

from msgspec import Struct

from iowhy.recordings.manifest import Manifest
from iowhy.whys.facts import Facts
from iowhy.whys.finding import Candidate, Finding
from iowhy.whys.next_command import NextCommand
from iowhy.whys.remedy import Remedy


class Threshold(Struct, frozen=True):
    """A number that decides, with the reason for its value."""

    name: str
    value: float
    unit: str
    reason: str


class Clue(Struct, frozen=True):
    """A sensor without which a cause is not seen in some recordings: in those of which the rest says that it `could_be` there."""

    sensor: str
    could_be: Callable[[Facts], bool] = lambda _: True


class Cause(Struct, frozen=True):
    """One reason for slowness: all that is known of it. No module outside iowhy.whys.causes names one.

    `remedies` are in order of cost, cheapest first. `experiment` is the lever that would prove it, and
    `unsafe_proof` that this lever gives up durability, `proof_cache` the state of the cache (`--cache`) in which
    alone it shows anything, if that is not the lever's own. `find` looks for it in a recording's facts, None
    when it is not there or cannot be known. `beats` are causes to which the same evidence points and
    which this one explains: where both claim the same time, it gets it. `settled_by` are commands of
    usual tools that would show it where only other tools' texts are at hand. `only_if` makes a cause that
    replaces others: it is asked with the findings of those, and claims no time.
    `trouble` is what it is to settings that may help (`iowhy.tuning`), which know no cause by its name.
    `explains_errors` are errors of calls that it says enough of: they are not said again.
    `unseen_without` are sensors: where one of them did not run, that it was not found does not say that it was not there.
    `clues` are those without which it may be missed, among them those of `unseen_without` that do not always matter.
    `explains` are the classes of the budget that it can claim: what it might take had it been seen (`iowhy.whys.rivals`).
    """

    name: str
    title: str
    meaning: str
    measured: str
    thresholds: tuple[Threshold, ...]
    fooled_by: tuple[str, ...]
    remedies: tuple[Remedy, ...]
    find: Callable[[Facts], Candidate | None]
    experiment: str | None = None
    beats: tuple[str, ...] = ()
    settled_by: tuple[NextCommand, ...] = ()
    unsafe_proof: bool = False
    proof_cache: str | None = None
    trouble: str | None = None
    explains_errors: tuple[str, ...] = ()
    unseen_without: tuple[str, ...] = ()
    clues: tuple[Clue, ...] = ()
    explains: frozenset[str] = frozenset()
    only_if: Callable[[Facts, tuple[Finding, ...]], bool] | None = None

    @property
    def proof(self) -> str | None:
        """The command that would prove it, of a command CMD; None where no lever does."""
        if self.experiment is None:
            return None
        allow = " --allow-unsafe" if self.unsafe_proof else ""
        cache = f" --cache {self.proof_cache}" if self.proof_cache else ""
        return f"iowhy experiment {self.experiment}{allow}{cache} -- CMD"

    def why_unseen(self, manifest: Manifest) -> str | None:
        """Why it may be there though it was not found in a recording; None where it would have been.

        Other tools' texts have no sensors: what they do not show is said with the verdict.
        """
        if manifest.source == "diagnose":
            return None
        missing = [name for name in self.unseen_without if not manifest.ran(name)]
        if not missing:
            return None
        why = next((one.why for one in manifest.sensors if one.name in missing and one.why), None)
        return f"{' and '.join(missing)} did not run{f': {why}' if why else ''}"
