"""What levers know about the experiment that they act in."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct, field

from iowhy.experiments.device import Best, Device, device_of, measure_best
from iowhy.undo import Undo


class Profile(Struct, frozen=True):
    """What the command used in a run before the experiment, without any lever.

    ``peak_memory_bytes`` counts its page cache too, ``peak_heap_bytes`` does not; both are None where no
    control group measured them.
    """

    wall_s: float
    cpu_s: float
    peak_memory_bytes: int | None = None
    peak_heap_bytes: int | None = None

    @property
    def cpus(self) -> float:
        """CPUs that it used at once, on average, at least 1: a waiting command still runs on one."""
        return max(1.0, self.cpu_s / self.wall_s if self.wall_s > 0 else 1.0)


class Setting(Struct):
    """The command's surroundings: ``directory`` is what levers copy, move or warm.

    It runs there too, or in ``runs_in``. ``files``: those that it is known to use, which then are the ones that are warmed or dropped.
    """

    argv: Sequence[str]
    directory: Path
    undo: Undo
    profile: Profile
    allow_unsafe: bool = False
    base_cache: str = "as-is"
    files: Sequence[Path] = ()
    runs_in: Path | None = None
    notes: list[str] = field(default_factory=list)
    note_progress: Callable[[str], None] = field(default=lambda _: None)
    _best: Best | None = None

    def note(self, text: str) -> None:
        """Something that the reader of the answer must know; said once."""
        if text not in self.notes:
            self.notes.append(text)

    @property
    def device(self) -> Device | None:
        """The disk under the work directory."""
        return device_of(self.directory)

    def best(self) -> Best:
        """What the device can do, measured once per experiment."""
        if self._best is None:
            self.note_progress("measuring the device's best")
            self._best = measure_best(self.directory, self.undo)
        return self._best
