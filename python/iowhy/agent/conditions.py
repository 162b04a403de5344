"""What a trigger waits for, as people type it: `fsync p99 > 50 ms for 10 s`.

    CALL pN > TIME                       one service's system calls of that name
    request [OPERATION] pN > TIME        requests of one disk
    wait pN > TIME                       one service's uninterruptible waits for I/O
    (cpu|io|memory) pressure (some|full) > SHARE
    device NAME utilisation > SHARE
    threads in D > NUMBER

and, after each, `for TIME`: as long as it must hold without a break. What is not known does not hold.
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from iowhy.agent.counted import Interval, Latency, percentile_ns
from iowhy.data_class import dataclass
from iowhy.quantities import duration_ns
from iowhy.tables import call_numbers

EXAMPLES = (
    "fsync p99 > 50 ms for 10 s",
    "request write p99 > 20 ms",
    "io pressure some > 20 %",
    "device vda utilisation > 95 % for 30 s",
    "threads in D > 8",
)
#: Syncs that filesystems tell of without every call being traced.
SYNCS = ("fsync", "fdatasync")
OPERATIONS = ("read", "write", "flush", "discard", "zone", "other")
#: Sensors of the agent (agent/src/choice.rs).
CALLS, WAITS, REQUESTS = "agent_calls", "agent_waits", "agent_requests"
SYNC_SENSORS = ("agent_syncs_ext4", "agent_syncs_xfs", "agent_syncs_btrfs")


class Unreadable(ValueError):
    """What is wrong with a condition; the message has no full stop and names no file."""


@dataclass(frozen=True)
class Seen:
    """One value of an interval: in ns, as a share or a number, and what it is of."""

    value: float
    of: str


@dataclass(frozen=True)
class Condition:
    """`text` as it was typed. `observe` gives what an interval says of it, nothing where that is not known; it holds where
    any of that is above `limit`, for `for_ns` on end. `unseen` gives in words what it cannot see of this machine, None where it
    sees all. `calls`: only where all calls are traced."""

    text: str
    observe: Callable[[Interval], Iterator[Seen]]
    limit: float
    for_ns: int
    unseen: Callable[[Interval], str | None]
    calls: bool = False

    def above(self, interval: Interval) -> Seen | None:
        """The highest value of the interval, if it is above the limit."""
        values = [seen for seen in self.observe(interval) if seen.value > self.limit]
        return max(values, key=lambda seen: seen.value, default=None)


_FORM = re.compile(r"(?P<what>.+?)\s*>\s*(?P<limit>\S.*?)(?:\s+for\s+(?P<for>\S.*))?\Z")
_PERCENTILE = re.compile(
    r"(?P<name>[a-z_][a-z0-9_]*)(?:\s+(?P<op>[a-z]+))?\s+p(?P<percent>[0-9]+(?:\.[0-9]+)?)\Z"
)
_PRESSURE = re.compile(r"(cpu|io|memory)\s+pressure\s+(some|full)\Z")
_DEVICE = re.compile(r"device\s+(\S+)\s+utilisation\Z")
_THREADS = re.compile(r"threads\s+in\s+D\Z")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\Z")


def read(text: str) -> Condition:
    """The condition that a line says. Raises Unreadable."""
    form = _FORM.match(text.strip())
    if form is None:
        raise Unreadable(f"no condition; one is `{EXAMPLES[0]}`")
    what, limit = form["what"], form["limit"]
    for_ns = _time(form["for"]) if form["for"] else 0
    if found := _PERCENTILE.match(what):
        observe, sensors = _latency(found["name"], found["op"], float(found["percent"]))
        unseen, calls = partial(_not_run, sensors), sensors == (CALLS,)
        return Condition(text, observe, _time(limit), for_ns, unseen, calls)
    if found := _PRESSURE.match(what):
        of = found[1], found[2]
        return Condition(text, _pressure(*of), _share(limit), for_ns, partial(_no_pressure, *of))
    if found := _DEVICE.match(what):
        unseen = partial(_no_disk, found[1])
        return Condition(text, _utilisation(found[1]), _share(limit), for_ns, unseen)
    if _THREADS.match(what):
        if not limit.isdecimal():
            raise Unreadable(f"{limit}: give a number of threads")
        return Condition(text, _waiting, float(limit), for_ns, partial(_not_run, (WAITS,)))
    raise Unreadable(f"{what}: nothing that can be watched; examples: {'; '.join(EXAMPLES)}")


def _time(text: str) -> int:
    found = duration_ns(text)
    if not found:
        raise Unreadable(f"{text}: give a time such as 50 ms or 10 s")
    return found


def _share(text: str) -> float:
    found = _SHARE.match(text)
    if found is None or float(found[1]) >= 100:
        raise Unreadable(f"{text}: give a percentage below 100, such as 20 %")
    return float(found[1]) / 100


def _latency(
    name: str, operation: str | None, percent: float
) -> tuple[Callable[[Interval], Iterator[Seen]], tuple[str, ...]]:
    """What to look at, and the sensors that tell of it, each of a part."""
    if not 0 < percent < 100:
        raise Unreadable(f"p{percent:g}: a percentile lies between 0 and 100")
    if name == "request":
        if operation not in (None, *OPERATIONS):
            raise Unreadable(f"request {operation}: operations are {', '.join(OPERATIONS)}")
        return _percentiles(
            lambda row: row.measure == "request" and operation in (None, row.name), percent, _disk
        ), (REQUESTS,)
    if operation is not None:
        raise Unreadable(f"{name} {operation}: only requests have operations")
    if name == "wait":
        return _percentiles(lambda row: row.measure == "io_wait", percent, _service), (WAITS,)
    known = {call for machine in ("x86_64", "aarch64") for call in call_numbers(machine).values()}
    if name not in known:
        raise Unreadable(f"{name}: no system call of that name, nor `request` or `wait`")
    if name in SYNCS:
        return _syncs(name, percent), SYNC_SENSORS
    return _percentiles(
        lambda row: row.measure == "call" and row.name == name, percent, _service
    ), (CALLS,)


def _syncs(name: str, percent: float) -> Callable[[Interval], Iterator[Seen]]:
    """Of the calls where they are traced, else as the filesystems tell: never both, which would count twice."""
    calls, syncs = (
        _percentiles(
            lambda row, m=measure: row.measure == m and row.name == name, percent, _service
        )
        for measure in ("call", "sync")
    )

    def observe(interval: Interval) -> Iterator[Seen]:
        traced = any(row.measure == "call" for row in interval.latencies)
        return calls(interval) if traced else syncs(interval)

    return observe


def _percentiles(
    wanted: Callable[..., bool], percent: float, of: Callable[[Interval, Latency], tuple[str, str]]
) -> Callable[[Interval], Iterator[Seen]]:
    """`of`: what tells whose it is from others, and what that is called."""

    def observe(interval: Interval) -> Iterator[Seen]:
        groups: dict[tuple[str, str], list[Latency]] = {}
        for row in interval.latencies:
            if wanted(row):
                groups.setdefault(of(interval, row), []).append(row)
        for (_, name), rows in groups.items():
            value = percentile_ns(rows, percent)
            if value is not None:
                yield Seen(value, name)

    return observe


def _service(_interval: Interval, row: Latency) -> tuple[str, str]:
    """A container is its id, whatever others are called."""
    name = row.service or row.path or "a control group that is gone"
    return row.id or row.path or "", name


def _disk(interval: Interval, row: Latency) -> tuple[str, str]:
    name = device_name(interval, row.dev)
    return name, name


def device_name(interval: Interval, dev: int | None) -> str:
    """The name of a disk, else its number as lsblk has it."""
    if dev is None:
        return "no device"
    return interval.devices.get(dev) or f"{dev >> 20}:{dev & 0xFFFFF}"


def _pressure(resource: str, kind: str) -> Callable[[Interval], Iterator[Seen]]:
    def observe(interval: Interval) -> Iterator[Seen]:
        value = interval.pressure.get(resource, {}).get(kind)
        if value is not None:
            yield Seen(value, "the machine")

    return observe


def _utilisation(name: str) -> Callable[[Interval], Iterator[Seen]]:
    def observe(interval: Interval) -> Iterator[Seen]:
        for disk in interval.disks:
            if disk.utilisation is not None and device_name(interval, disk.dev) == name:
                yield Seen(disk.utilisation, name)

    return observe


def _waiting(interval: Interval) -> Iterator[Seen]:
    if interval.waiting is not None:
        yield Seen(interval.waiting, "the machine")


def _not_run(sensors: tuple[str, ...], interval: Interval) -> str | None:
    """Which of the sensors that tell of it do not run; calls that are traced tell of syncs on every filesystem."""
    missing = [name for name in sensors if name in interval.lacking]
    if not missing or (sensors == SYNC_SENSORS and CALLS not in interval.lacking):
        return None
    part = "some of what it is about is" if len(missing) < len(sensors) else "what it is about is"
    return f"{part} not seen here: {'; '.join(f'{name}: {interval.lacking[name]}' for name in missing)}"


def _no_pressure(resource: str, kind: str, interval: Interval) -> str | None:
    if kind in interval.pressure.get(resource, {}):
        return None
    why = interval.lacking.get("pressure_samples", "this kernel does not tell it")
    return f"{resource} pressure {kind} is not known here: {why}"


def _no_disk(name: str, interval: Interval) -> str | None:
    disks = sorted({device_name(interval, disk.dev) for disk in interval.disks})
    if name in disks:
        return None
    return f"there is no disk {name} here: {', '.join(disks) or 'none at all'}"
