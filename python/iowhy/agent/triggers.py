"""When a full recording is started: which conditions hold, how long the last one is ago, how many there were this hour.

What has been started is written down before it starts, so that a trigger counts once whatever becomes of the agent.
Times are of a clock that goes on while the machine sleeps and that nobody can set (CLOCK_BOOTTIME).
"""

import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from msgspec import Struct, field

from iowhy.agent.conditions import Condition, Seen
from iowhy.agent.counted import Interval

HOUR_NS = 3600 * 10**9
STATE = ".state.json"
BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot_ns() -> int:
    """Nanoseconds since the machine was booted."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Fired(Struct, frozen=True):
    """A trigger whose condition holds. `why` says it in words."""

    name: str
    why: str


class Watch:
    """Which conditions have held for as long as they must."""

    def __init__(self, triggers: Mapping[str, Condition]) -> None:
        self.triggers = triggers
        self._held_ns: dict[str, int] = {}

    def change(self, triggers: Mapping[str, Condition]) -> None:
        """Others from here on; a condition that is the same goes on holding."""
        same = {name for name, one in triggers.items() if self._text(name) == one.text}
        self._held_ns = {name: held for name, held in self._held_ns.items() if name in same}
        self.triggers = triggers

    def _text(self, name: str) -> str | None:
        return self.triggers[name].text if name in self.triggers else None

    def look(self, interval: Interval) -> Iterator[Fired]:
        """Those that hold at the end of this interval: each at the first, and at all after it."""
        for name, condition in self.triggers.items():
            seen = condition.above(interval)
            if seen is None:
                self._held_ns.pop(name, None)
                continue
            held = self._held_ns.get(name, 0) + interval.interval_ns
            self._held_ns[name] = held
            # Intervals are a little longer or shorter than they are meant to be.
            if held + interval.interval_ns // 20 >= condition.for_ns:
                yield Fired(name, said(condition, seen))


def said(condition: Condition, seen: Seen) -> str:
    """`fsync p99 > 50 ms for 10 s: 62.9 ms of db`."""
    from iowhy.units import duration

    if "threads in D" in condition.text:
        value = f"{seen.value:.0f}"
    elif condition.limit < 1:
        value = f"{seen.value * 100:.0f} %"
    else:
        value = f"at least {duration(round(seen.value))}"
    return f"{condition.text}: {value} of {seen.of}"


class State(Struct):
    """What has been started: counts by trigger, and when the last ones were. `boot` tells whose clock that is."""

    boot: str = ""
    started: dict[str, int] = field(default_factory=dict)
    started_ns: list[int] = field(default_factory=list)
    ended_ns: int | None = None


class Budget:
    """Whether another recording may be started; what has been is kept in `folder`."""

    def __init__(self, folder: Path, cool_down_ns: int, per_hour: int) -> None:
        self.path = folder / STATE
        self.cool_down_ns, self.per_hour = cool_down_ns, per_hour
        self.state = self._read()
        boot = BOOT.read_text().strip() if BOOT.exists() else ""
        if self.state.boot != boot:
            self.state = State(boot, self.state.started)

    def refusal(self, now_ns: int) -> str | None:
        """Why none may be started now: `cool_down` or `budget`; None: it may."""
        last = max([*self.state.started_ns, self.state.ended_ns or 0], default=0)
        if last and now_ns - last < self.cool_down_ns:
            return "cool_down"
        lately = [at for at in self.state.started_ns if now_ns - at < HOUR_NS]
        return "budget" if len(lately) >= self.per_hour else None

    def start(self, name: str, now_ns: int) -> None:
        """Notes that one is started. Raises OSError where that cannot be written: then none may be."""
        lately = [at for at in self.state.started_ns if now_ns - at < HOUR_NS]
        started = self.state.started | {name: self.state.started.get(name, 0) + 1}
        state = State(self.state.boot, started, [*lately, now_ns], self.state.ended_ns)
        self._write(state)
        self.state = state

    def end(self, now_ns: int) -> None:
        """Notes that it has ended."""
        self.state.ended_ns = now_ns

    def _read(self) -> State:
        """What is no state of ours (a damaged file) is none."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            started = {str(name): int(count) for name, count in found["started"].items()}
            times = [int(at) for at in found["started_ns"]]
            return State(str(found["boot"]), started, times, None)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return State()

    def _write(self, state: State) -> None:
        text = json.dumps(
            {"boot": state.boot, "started": state.started, "started_ns": state.started_ns}
        )
        new = self.path.with_name(self.path.name + ".tmp")
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
