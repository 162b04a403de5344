"""No memory limit: the command runs outside the control group that limits it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.condition import LevelFailed
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting

#: What limits memory: a number of bytes, or `max` (cgroup-v2.rst); version 1 has a very large number for none.
_KNOBS = {1: ("memory.limit_in_bytes",), 2: ("memory.max", "memory.high")}
_NONE = 1 << 60
#: Of the limit that was around it: who uses less in our group does its work in another one.
_USED = 0.5


class MemoryUnlimited(Lever, frozen=True):
    """The command enters a group at the top of the hierarchy, which has no limits, for its trials.

    Under version 2 that takes the group's other limits away too. What is above a container's own top stays.
    """

    name: str = "memory-unlimited"
    resource: str = "memory without a limit"
    bound: str = "memory"
    needs: str = "root, and a control group around the command that limits its memory"
    relieves: bool = True
    predicted_by: str = "fits"
    cost: int = 2
    only: Level | None = Level("no limit", "none", None, "taking the memory limit away")

    def refusal(self, setting: Setting) -> str | None:
        """Needs a limit around us that is not the top's own, the rights to leave its group, and an empty cache."""
        found = groups.find_top("memory")
        if isinstance(found, str):
            return found
        if _limit() is None:
            return groups.no_limit("memory")
        if setting.base_cache not in ("cold", "cold-machine"):
            return "pages that a trial without the limit leaves in memory would serve the others: add --cache cold"
        return None

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """One group for each trial: pages stay charged to the group that read them first."""
        limit = _limit()
        with setting.undo.scope():
            group = groups.make_at_top("memory", "unlimited", setting.undo)

            def after(_wall_s: float) -> Mapping[str, float]:
                most = group.read(
                    "memory.peak" if group.version == 2 else "memory.max_usage_in_bytes"
                )
                if limit is not None and most is not None and int(most) < limit * _USED:
                    raise LevelFailed("used-memory-outside-the-limit", most=int(most), limit=limit)
                return {}

            yield Effect(in_child=(enter_group(group.procs),), after=after)


def _limit() -> int | None:
    """The least limit of the groups around us, in bytes, below the top: what the top itself is given cannot be left."""
    found = groups.find_top("memory")
    if isinstance(found, str):
        return None
    texts = groups.around("memory", _KNOBS[found.version], top=False)
    values = [int(text) for text in map(str.strip, texts) if text.isdigit()]
    return min((value for value in values if value < _NONE), default=None)


LEVER = MemoryUnlimited()
