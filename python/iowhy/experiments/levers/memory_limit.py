"""Less memory, page cache included: a control group's limit."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.condition import LevelFailed
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import CannotAct, Effect, Level, Lever, percent
from iowhy.experiments.setting import Setting
from iowhy.quantities import positive_size_bytes, share

# A command that cannot hold its own heap is killed or swaps, which tells nothing about its cache.
_ROOM_FOR_HEAP = 1.25
# A level is below what the command holds without a limit, so that it fills what it is allowed.
_HELD = 0.5


class MemoryLimit(Lever, frozen=True):
    """A level of 0.5 allows half of the most that the command and its page cache held without a limit."""

    name: str = "memory-limit"
    resource: str = "memory"
    bound: str = "memory"
    needs: str = "root, or a delegated control group with the memory controller"
    cost: int = 2

    def refusal(self, setting: Setting) -> str | None:
        """Needs the controller, a command that holds more than its heap, and an empty cache."""
        if setting.base_cache not in ("cold", "cold-machine"):
            return "pages cached before the run would not count against the limit: add --cache cold"
        found = groups.find("memory")
        if isinstance(found, str):
            return found
        peak = setting.profile.peak_memory_bytes
        if peak is None:
            return "the kernel did not say how much memory the command held"
        if peak * 0.9 < self._least(setting):
            return "the command holds hardly any memory beyond its own heap"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:
        """Shares of the peak or sizes (`512MiB`), none too small for the heap."""
        peak = float(setting.profile.peak_memory_bytes or 1)
        least = self._least(setting) / peak
        values = [self._share(text, peak) for text in asked] or [0.75, 0.5]
        kept = sorted({round(min(max(value, least), 0.99), 3) for value in values}, reverse=True)
        return tuple(Level(percent(value), str(value), value) for value in kept)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """One group per trial: pages stay charged to the group that read them first."""
        peak = setting.profile.peak_memory_bytes or 0
        value = int(peak * float(level.key)) // 4096 * 4096
        with setting.undo.scope():
            group = groups.make("memory", "memory", setting.undo)
            group.write("memory.max" if group.version == 2 else "memory.limit_in_bytes", str(value))

            def after(_wall_s: float) -> Mapping[str, float]:
                group.held()
                _must_have_held_it(group, value)
                return {}

            yield Effect(in_child=(enter_group(group.procs),), after=after)

    def _share(self, text: str, peak_bytes: float) -> float:
        if not text[-1:].isalpha():
            return share(self.name, text)
        value = positive_size_bytes(f"{self.name}:", text)
        if value >= peak_bytes:
            raise CannotAct(
                "memory-limit-too-high", name=self.name, text=text, peak_bytes=peak_bytes
            )
        return value / peak_bytes

    def _least(self, setting: Setting) -> float:
        return (setting.profile.peak_heap_bytes or 0) * _ROOM_FOR_HEAP + (4 << 20)


def _must_have_held_it(group: groups.Group, limit_bytes: int) -> None:
    """LevelFailed where the command went into its own group: it would hold more than the limit, and this one stayed empty."""
    knob = "memory.peak" if group.version == 2 else "memory.max_usage_in_bytes"
    most = group.read(knob)
    if most is not None and int(most) < limit_bytes * _HELD:
        raise LevelFailed("limit-not-reached", most=int(most), limit_bytes=limit_bytes)


LEVER = MemoryLimit()
