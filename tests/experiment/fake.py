"""An executor whose truth is known: effects, noise and drift are what the test says."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from iowhy.experiments.condition import Condition, LevelFailed, Trial
from iowhy.experiments.lever import Level
from iowhy.experiments.load import Others

HALF = Level("50 %", "0.5", 0.5)
MOST = Level("70 %", "0.7", 0.7)
TAKEN = Level("30 % taken", "0.3", 0.7)
OFF = Level("off", "off", None)


def steady(_second: float) -> float:
    return 1.0


@dataclass
class Fake:
    """Each trial takes `base` seconds times the condition's factor, noise and drift."""

    random: np.random.Generator
    noise: float = 0.0
    slower: Mapping[str, float] = field(default_factory=dict)
    drift: Callable[[float], float] = steady
    base: float = 1.0
    now: float = 0.0
    order: list[str] = field(default_factory=list)
    others: Callable[[int], Others | None] = field(default=lambda _: None)
    failing: tuple[str, ...] = ()

    def run(self, condition: Condition) -> Trial:
        if condition.name in self.failing:
            raise LevelFailed("command-failed", why="killed")
        noise = float(np.exp(self.noise * self.random.standard_normal()))
        value = self.base * self.slower.get(condition.name, 1.0) * noise * self.drift(self.now)
        middle = self.now + value / 2
        self.now += value
        self.order.append(condition.name)
        return Trial(condition, value, middle, value, others=self.others(len(self.order)))
