"""What a trigger waits for, as people type it: `fsync p99 > 50 ms for 10 s`.

    CALL pN > TIME                       one service's system calls of that name
    request [OPERATION] pN > TIME        requests of one disk
    wait pN > TIME                       one service's uninterruptible waits for I/O
    (cpu|io|memory) pressure (some|full) > SHARE
    device NAME utilisation > SHARE
    device NAME stalled > TIME           requests, and no answer for so long
    device NAME capped                   a rate that stands still while requests queue
    device NAME slower than its week > N times
    threads in D > NUMBER

and, after each, `for TIME`: as long as it must hold without a break. `any device` is each disk. What is not known does not hold. Calls, waits and requests can be
limited to those of a service or on a device (`Scope`).
"""

import re
from collections.abc import Callable, Iterator
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from iowhy.agent.counted import Interval, Known, Latency, percentile_ns
from iowhy.quantities import duration_ns
from iowhy.tables import call_numbers

EXAMPLES = (
    "fsync p99 > 50 ms for 10 s",
    "request write p99 > 20 ms",
    "io pressure some > 20 %",
    "wait p99 > 100 ms for 30 s",
    "threads in D > 8",
    "any device stalled > 2 s",
    "device vda capped for 30 s",
    "any device slower than its week > 3 times for 5 m",
)
#: Syncs that filesystems tell of without every call being traced.
SYNCS = ("fsync", "fdatasync")
OPERATIONS = ("read", "write", "flush", "discard", "zone", "other")
#: Sensors of the agent (agent/src/choice.rs).
CALLS, WAITS, REQUESTS = "agent_calls", "agent_waits", "agent_requests"
SYNC_SENSORS = ("agent_syncs_ext4", "agent_syncs_xfs", "agent_syncs_btrfs")


class Unreadable(ValueError):
    """What is wrong with a condition; the message has no full stop and names no file."""


class Seen(Struct, frozen=True):
    """One value of an interval: in ns, as a share or a number, and what it is of; `words` say it, if the number does not."""

    value: float
    of: str
    words: str = ""


class Scope(Struct, frozen=True):
    """What a trigger is limited to: `service` is a container's or service's name, `device` a disk's, or where it is mounted. None: all."""

    service: str | None = None
    device: str | None = None

    def has(self, interval: Interval, row: Latency) -> bool:
        """Whether these times are in it."""
        if self.service is not None and not {row.service, row.path} & self.names:
            return False
        return self.device is None or self._is_on(interval, row.dev)

    @property
    def names(self) -> set[str]:
        """What the service may be called: systemd's have an ending that nobody types."""
        return set() if self.service is None else {self.service, f"{self.service}.service"}

    def _is_on(self, interval: Interval, dev: int | None) -> bool:
        """A filesystem on a part of the disk is on the disk."""
        if dev is None:
            return False
        part = re.compile(re.escape(str(self.device)) + r"(p?[0-9]+)?")
        mounted = interval.mounts.get(dev) == self.device
        return mounted or part.fullmatch(device_name(interval, dev)) is not None


EVERYTHING = Scope()


class Subject(Struct, frozen=True):
    """What a condition is about, for who looks for the same in a recording: `kind` is call, sync, io_wait, request, or machine;
    `name` of the call or of the request's operation; `device` of a disk that it names itself."""

    kind: str
    name: str | None = None
    device: str | None = None


class Condition(Struct, frozen=True):
    """`text` as it was typed. `observe` gives what an interval says of it, nothing if not known; it holds where
    any of that is above `limit`, for `for_ns` on end. `unseen` gives in words what it cannot see of this machine, None where it
    sees all. `calls`: only where all calls are traced. `scope`: of which service, on which device; `per_hour`: recordings that it may start,
    if that is not as the agent's file has it for all."""

    text: str
    observe: Callable[[Interval], Iterator[Seen]]
    limit: float
    for_ns: int
    unseen: Callable[[Interval], str | None]
    subject: Subject
    calls: bool = False
    scope: Scope = EVERYTHING
    per_hour: int | None = None

    def above(self, interval: Interval) -> list[Seen]:
        """The values of the interval that are above the limit, of each service or disk, the highest first."""
        if self.scope != EVERYTHING:
            rows = [row for row in interval.latencies if self.scope.has(interval, row)]
            interval = replace(interval, latencies=rows)
        values = [seen for seen in self.observe(interval) if seen.value > self.limit]
        return sorted(values, key=lambda seen: -seen.value)

    @property
    def said(self) -> str:
        """As it was typed, with what it is limited to."""
        words = [self.text]
        if self.scope.service is not None:
            words.append(f"of {self.scope.service}")
        if self.scope.device is not None:
            words.append(f"on {self.scope.device}")
        return " ".join(words)


_FORM = re.compile(r"(?P<what>.+?)\s*>\s*(?P<limit>\S.*?)(?:\s+for\s+(?P<for>\S.*))?\Z")
_PERCENTILE = re.compile(
    r"(?P<name>[a-z_][a-z0-9_]*)(?:\s+(?P<op>[a-z]+))?\s+p(?P<percent>[0-9]+(?:\.[0-9]+)?)\Z"
)
_PRESSURE = re.compile(r"(cpu|io|memory)\s+pressure\s+(some|full)\Z")
_DEVICE = re.compile(r"device\s+(\S+)\s+utilisation\Z")
_WHICH = r"(?:any\s+device|device\s+(\S+))"
_STATE = re.compile(_WHICH + r"\s+(stalled|slower\s+than\s+its\s+week)\Z")
_CAPPED = re.compile(_WHICH + r"\s+capped(?:\s+for\s+(\S.*))?\Z")
_TIMES = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*times\Z")
_THREADS = re.compile(r"threads\s+in\s+D\Z")
_SHARE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*%\Z")


def read(text: str) -> Condition:
    """The condition that a line says. Raises Unreadable."""
    if capped := _CAPPED.match(text.strip()):
        for_ns = _time(capped[2]) if capped[2] else 0
        return _of_device(text, capped[1], _at_ceiling, 0.5, for_ns)
    form = _FORM.match(text.strip())
    if form is None:
        raise Unreadable(f"no condition; one is `{EXAMPLES[0]}`")
    what, limit = form["what"], form["limit"]
    for_ns = _time(form["for"]) if form["for"] else 0
    if found := _PERCENTILE.match(what):
        observe, sensors = _latency(found["name"], found["op"], float(found["percent"]))
        unseen, calls = partial(_not_run, sensors), sensors == (CALLS,)
        about = _subject(found["name"], found["op"])
        return Condition(text, observe, _time(limit), for_ns, unseen, about, calls)
    if found := _PRESSURE.match(what):
        of = found[1], found[2]
        unseen = partial(_no_pressure, *of)
        return Condition(text, _pressure(*of), _share(limit), for_ns, unseen, Subject("machine"))
    if found := _DEVICE.match(what):
        unseen, about = partial(_no_disk, found[1]), Subject("request", None, found[1])
        return Condition(text, _utilisation(found[1]), _share(limit), for_ns, unseen, about)
    if found := _STATE.match(what):
        if found[2] == "stalled":
            return _of_device(text, found[1], _silent, _time(limit), for_ns)
        return _of_device(text, found[1], _slower, _times(limit), for_ns)
    if _THREADS.match(what):
        if not limit.isdecimal():
            raise Unreadable(f"{limit}: give a number of threads")
        unseen = partial(_not_run, (WAITS,))
        return Condition(text, _waiting, float(limit), for_ns, unseen, Subject("io_wait"))
    raise Unreadable(f"{what}: nothing that can be watched; examples: {'; '.join(EXAMPLES)}")


def _of_device(
    text: str, name: str | None, says: Callable[[Known], Seen | None], limit: float, for_ns: int
) -> Condition:
    """Of a disk of that name; None: of any."""

    def observe(interval: Interval) -> Iterator[Seen]:
        for dev, known in interval.known.items():
            seen = says(known)
            disk = device_name(interval, dev)
            if seen is not None and name in (None, disk):
                yield replace(seen, of=disk)

    def unseen(interval: Interval) -> str | None:
        missing = None if name is None else _no_disk(name, interval)
        return missing or _not_run((REQUESTS,), interval)

    return Condition(
        text,
        observe,
        limit,
        for_ns,
        unseen,
        Subject("request", None, name),
    )


def _silent(known: Known) -> Seen | None:
    return Seen(known.silent_ns, "") if known.silent_ns else None


def _at_ceiling(known: Known) -> Seen | None:
    return None if known.ceiling is None else Seen(1.0, "", known.ceiling)


def _slower(known: Known) -> Seen | None:
    if known.slower is None:
        return None
    return Seen(known.slower, "", f"{known.slower:.1f} times")


def limited(condition: Condition, scope: Scope, per_hour: int | None) -> Condition:
    """The same of a service or device alone. Raises Unreadable if it is of the whole machine, which has neither."""
    of_rows = _PERCENTILE.match(_what(condition.text))
    if scope != EVERYTHING and of_rows is None:
        raise Unreadable(
            f"{_what(condition.text)} is of the whole machine: only calls, waits and requests can be limited to a service or device"
        )
    return replace(condition, scope=scope, per_hour=per_hour)


def _what(text: str) -> str:
    form = _FORM.match(text.strip())
    return text if form is None else form["what"]


def _subject(name: str, operation: str | None) -> Subject:
    if name == "request":
        return Subject("request", operation)
    if name == "wait":
        return Subject("io_wait")
    return Subject("sync" if name in SYNCS else "call", name)


def _time(text: str) -> int:
    found = duration_ns(text)
    if not found:
        raise Unreadable(f"{text}: give a time such as 50 ms or 10 s")
    return found


def _times(text: str) -> float:
    found = _TIMES.match(text)
    if found is None or float(found[1]) <= 1:
        raise Unreadable(f"{text}: give a number above 1, such as 3 times")
    return float(found[1])


def _share(text: str) -> float:
    found = _SHARE.match(text)
    if found is None or float(found[1]) >= 100:
        raise Unreadable(f"{text}: give a percentage below 100, such as 20 %")
    return float(found[1]) / 100


def _latency(
    name: str, operation: str | None, percent: float
) -> tuple[Callable[[Interval], Iterator[Seen]], tuple[str, ...]]:
    """What to look at, and the sensors that show it, each of a part."""
    if not 0 < percent < 100:
        raise Unreadable(f"p{percent:g}: a percentile is between 0 and 100")
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
    """Of the calls if they are traced, else as the filesystems say: never both, which would count twice."""
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
    """`of`: what distinguishes it from others, and what that is called."""

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
    """Which of the sensors that show it do not run; calls that are traced show syncs on every filesystem."""
    missing = [name for name in sensors if name in interval.lacking]
    if not missing or (sensors == SYNC_SENSORS and CALLS not in interval.lacking):
        return None
    part = "some of what it is about is" if len(missing) < len(sensors) else "what it is about is"
    return f"{part} not seen here: {'; '.join(f'{name}: {interval.lacking[name]}' for name in missing)}"


def _no_pressure(resource: str, kind: str, interval: Interval) -> str | None:
    if kind in interval.pressure.get(resource, {}):
        return None
    why = interval.lacking.get("pressure_samples", "this kernel does not say it")
    return f"{resource} pressure {kind} is not known here: {why}"


def _no_disk(name: str, interval: Interval) -> str | None:
    disks = sorted({device_name(interval, disk.dev) for disk in interval.disks})
    if name in disks:
        return None
    return f"there is no disk {name} here: {', '.join(disks) or 'none at all'}"
