"""One run of the command, and the condition under which it ran."""

from collections.abc import Mapping
from typing import Protocol

from msgspec import Struct, field

from iowhy.errors import Worded
from iowhy.experiments.lever import Level
from iowhy.experiments.load import Others


class Condition(Struct, frozen=True):
    """One level of one lever, or the baseline (``lever`` is None)."""

    lever: str | None = None
    level: Level | None = None

    @property
    def name(self) -> str:
        """For tables and messages."""
        if self.lever is None or self.level is None:
            return "baseline"
        return f"{self.lever} {self.level.label}"


BASELINE = Condition()


class Trial(Struct, frozen=True):
    """One run of the command.

    ``measure`` is what the experiment is about (seconds, or the metric); ``middle_s`` the middle of the
    run on any steady clock. ``factor`` is the share of the resource that was really left.
    """

    condition: Condition
    measure: float
    middle_s: float
    wall_s: float
    user_s: float | None = None
    system_s: float | None = None
    device_bytes: int | None = None
    peak_rss_bytes: int | None = None
    status: int | None = 0
    factor: float | None = None
    reached: Mapping[str, float] = field(default_factory=dict)
    others: Others | None = None
    block: int = 0
    disturbed: bool = False


class LevelFailed(Worded):
    """The command could not be measured under a level: it failed, was killed or took too long."""


class Executor(Protocol):
    """Runs one trial. Raises LevelFailed when a level makes the command fail."""

    def run(self, condition: Condition) -> Trial:
        """Runs the command once under a condition."""
