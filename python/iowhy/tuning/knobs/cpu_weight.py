"""The weight of the command on the CPUs, against others."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, Kept, Knob, Value
from iowhy.tuning.knobs.io_priority import unit_drop_in
from iowhy.whys import classes

#: Of a group that nobody has set, and ten times as much; cpu.weight is 100 by default, and the older cpu.shares 1024.
_USUAL, _MORE = 100, 1000
_FILES = {1: ("cpu.shares", str(_MORE * 1024 // _USUAL)), 2: ("cpu.weight", str(_MORE))}


class CpuWeight(Knob, frozen=True):
    """In a control group that counts ten times as much as others do.

    Not by nice, which is heeded within a group: Linux divides CPUs among groups first, by default one for each session (autogroup).
    """

    name: str = "cpu-weight"
    about_others: bool = True

    def refusal(self, setting: Setting) -> str | None:  # noqa: ARG002
        """Why no group can be made."""
        found = groups.find("cpu")
        return found if isinstance(found, str) else None

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:  # noqa: ARG002
        """One."""
        worth = clues.share(classes.RUNNABLE) if clues.known else 0.1
        return [Value(str(_USUAL), str(_MORE), worth)]

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """The command in such a group."""
        with setting.undo.scope():
            group = groups.make("cpu", "cpu", setting.undo)
            group.write(*_FILES[group.version])
            yield Effect(in_child=(enter_group(group.procs),), after=lambda _: group.held())

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A drop-in."""
        return unit_drop_in(
            self.name, f"CPUWeight={then}", f"systemd-run --scope -p CPUWeight={then}"
        )


KNOB = CpuWeight()
