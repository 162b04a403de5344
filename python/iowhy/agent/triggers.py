"""When a full recording is started: which conditions hold, how long its last one is ago, how many it had this hour.

What has been started is written down before it starts, so that a trigger counts once whatever becomes of the agent.
Times are of a clock that goes on while the machine sleeps and that nobody can set (CLOCK_BOOTTIME).
"""

import json
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec import Struct, field
from msgspec.structs import replace

from iowhy.agent.conditions import Condition, Seen, Subject
from iowhy.agent.counted import Interval
from iowhy.agent.devices import Devices

HOUR_NS = 3600 * 10**9
#: Limits of less are shares and numbers.
SHORTEST_LIMIT_NS = 100
STATE = ".state.json"
BOOT = Path("/proc/sys/kernel/random/boot_id")


def boot_ns() -> int:
    """Nanoseconds since the machine was booted."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Fired(Struct, frozen=True):
    """A trigger whose condition holds. `why` says it in words; `of` is the service or disk that it holds of, `condition` None where it was
    asked for by hand."""

    name: str
    why: str
    of: str = ""
    condition: Condition | None = None


class Event(Struct, frozen=True):
    """What fired: what it is about, of which service or device (None: of all), above which time. `before_ns`: what of the
    recording is before the trigger; `held_ns` is how long it held by then."""

    subject: Subject
    service: str | None = None
    device: str | None = None
    limit_ns: int | None = None
    before_ns: int = 0
    held_ns: int = 0

    @classmethod
    def of(cls, fired: Fired, every_ns: int, before_s: float = 0) -> "Event | None":
        """Of a trigger that fired; None: it was asked for by hand."""
        condition = fired.condition
        if condition is None:
            return None
        subject, scope = condition.subject, condition.scope
        timed = (
            subject.kind != "machine"
            and condition.limit >= SHORTEST_LIMIT_NS
            and subject.device is None
        )
        device, service = scope.device or subject.device, scope.service
        if subject.kind == "request":
            device = device or fired.of
        elif timed and fired.of != "the machine":
            service = service or fired.of
        return cls(
            subject,
            service,
            device,
            round(condition.limit) if timed and fired.of != "the machine" else None,
            round(before_s * 1e9),
            max(condition.for_ns, every_ns),
        )

    def as_json(self) -> str:
        """For the program."""
        return msgspec.json.encode(self).decode()

    @classmethod
    def read(cls, text: str) -> "Event | None":
        """What `as_json` gave, or `null`."""
        found = json.loads(text)
        return None if found is None else cls(**found | {"subject": Subject(**found["subject"])})


class Watch:
    """Which conditions have held for as long as they must, each of one service or disk."""

    def __init__(self, triggers: Mapping[str, Condition], devices: Devices | None = None) -> None:
        """`devices` is what is usual for each disk."""
        self.triggers = triggers
        self.devices = devices or Devices()
        self._held_ns: dict[tuple[str, str], int] = {}

    def change(self, triggers: Mapping[str, Condition]) -> None:
        """Others from here on; a condition that is the same goes on holding."""
        same = {name for name, one in triggers.items() if self._said(name) == one.said}
        self._held_ns = {key: held for key, held in self._held_ns.items() if key[0] in same}
        self.triggers = triggers

    def _said(self, name: str) -> str | None:
        return self.triggers[name].said if name in self.triggers else None

    def look(self, interval: Interval) -> Iterator[Fired]:
        """Those that hold at the end of this interval: each at the first, and at all after it; the worst of a trigger first."""
        interval = replace(interval, known=self.devices.look(interval))
        before, self._held_ns = self._held_ns, {}
        for name, condition in self.triggers.items():
            for seen in condition.above(interval):
                held = before.get((name, seen.of), 0) + interval.interval_ns
                self._held_ns[name, seen.of] = held
                # Intervals are a little longer or shorter than they are meant to be.
                if held + interval.interval_ns // 20 >= condition.for_ns:
                    yield Fired(name, said(condition, seen), seen.of, condition)


def said(condition: Condition, seen: Seen) -> str:
    """`fsync p99 > 50 ms for 10 s: 62.9 ms of db`."""
    from iowhy.units import duration

    if seen.words:
        value = seen.words
    elif "threads in D" in condition.text:
        value = f"{seen.value:.0f}"
    elif condition.limit < 1:
        value = f"{seen.value * 100:.0f} %"
    else:
        value = f"at least {duration(round(seen.value))}"
    return f"{condition.said}: {value} of {seen.of}"


class Started(Struct, frozen=True):
    """One recording: of which trigger, of which service or disk, and when."""

    name: str
    of: str
    at_ns: int


class State(Struct):
    """What has been started: counts by trigger, and the last ones. `boot` says whose clock that is."""

    boot: str = ""
    started: dict[str, int] = field(default_factory=dict)
    lately: list[Started] = field(default_factory=list)
    #: When the last of a trigger ended.
    ended_ns: dict[str, int] = field(default_factory=dict)


class Budget:
    """Whether another recording may be started; what has been is kept in `folder`. Each trigger has its own hour and cool-down, and one
    service at most half of a trigger's hour: who is always loud takes nothing from the others."""

    def __init__(self, folder: Path, cool_down_ns: int, per_hour: int) -> None:
        self.path = folder / STATE
        self.cool_down_ns, self.per_hour = cool_down_ns, per_hour
        self.state = self._read()
        boot = BOOT.read_text().strip() if BOOT.exists() else ""
        if self.state.boot != boot:
            self.state = State(boot, self.state.started)

    def refusal(self, fired: Fired, now_ns: int) -> str | None:
        """Why none may be started now: `cool_down` or `budget`; None: it may."""
        of_trigger = [one for one in self.state.lately if one.name == fired.name]
        ends = [self.state.ended_ns.get(fired.name, 0), *(one.at_ns for one in of_trigger)]
        if max(ends) and now_ns - max(ends) < self.cool_down_ns:
            return "cool_down"
        condition = fired.condition
        most = self.per_hour if condition is None else condition.per_hour or self.per_hour
        # Of what is limited to one service, or asked for by hand, there is only one.
        only = condition is None or condition.scope.service is not None
        of_one = most if only else (most + 1) // 2
        in_hour = [one for one in of_trigger if now_ns - one.at_ns < HOUR_NS]
        of_service = [one for one in in_hour if one.of == fired.of]
        return "budget" if len(in_hour) >= most or len(of_service) >= of_one else None

    def fairest(self, fired: Iterable[Fired]) -> list[Fired]:
        """In the order in which they are asked for: who had the fewest recordings lately is first."""
        had = Counter((one.name, one.of) for one in self.state.lately)
        return sorted(fired, key=lambda one: had[one.name, one.of])

    def start(self, fired: Fired, now_ns: int) -> None:
        """Notes that one is started. Raises OSError where that cannot be written: then none may be."""
        name, kept_ns = fired.name, max(HOUR_NS, self.cool_down_ns)
        started = self.state.started | {name: self.state.started.get(name, 0) + 1}
        lately = [one for one in self.state.lately if now_ns - one.at_ns < kept_ns]
        lately.append(Started(name, fired.of, now_ns))
        state = State(self.state.boot, started, lately, self.state.ended_ns)
        self._write(state)
        self.state = state

    def end(self, fired: Fired, now_ns: int) -> None:
        """Notes that it has ended."""
        self.state.ended_ns[fired.name] = now_ns

    def _read(self) -> State:
        """A damaged file counts as no state."""
        try:
            found = json.loads(self.path.read_text("utf-8"))
            started = {str(name): int(count) for name, count in found["started"].items()}
            lately = [
                Started(str(name), str(of), int(at)) for name, of, at in found.get("lately", [])
            ]
            return State(str(found["boot"]), started, lately)
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return State()

    def _write(self, state: State) -> None:
        lately = [(one.name, one.of, one.at_ns) for one in state.lately]
        text = json.dumps({"boot": state.boot, "started": state.started, "lately": lately})
        new = self.path.with_name(self.path.name + ".tmp")
        with new.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        new.replace(self.path)
