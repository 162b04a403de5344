"""What changed at each layer between two recordings, ordered by what it explains of the difference."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from iowhy.recording import Recording
from iowhy.relations import Relations
from iowhy.whys import classes
from iowhy.whys.verdict import Verdict


@dataclass(frozen=True)
class Part:
    """A class of the time budget in both recordings, in seconds of elapsed time.

    The differences of all parts add up to the difference of the elapsed times; ``explains`` is this
    one's share of it (above 1 when others went the other way), None when the times do not differ.
    """

    name: str
    before_s: float
    after_s: float
    explains: float | None

    @property
    def difference_s(self) -> float:
        """After minus before."""
        return self.after_s - self.before_s


@dataclass(frozen=True)
class Measure:
    """One number of a layer, by SQL over a recording's relations; unknown without its sensor.

    ``classes`` are those of the budget that it can account for, the first one foremost.
    """

    name: str
    unit: str
    sensor: str
    classes: tuple[str, ...]
    sql: str


@dataclass(frozen=True)
class Changed:
    """A measure on both sides; None is unknown."""

    measure: Measure
    before: float | None
    after: float | None
    weight: float

    @property
    def ratio(self) -> float | None:
        """After over before; None when one is unknown or 0."""
        if not self.before or not self.after:
            return None
        return self.after / self.before


_STORAGE = (classes.WRITE, classes.SYNC, classes.READ)

MEASURES: tuple[Measure, ...] = (
    Measure(
        "CPU time",
        "s",
        "thread_time",
        (classes.USER, classes.KERNEL),
        "SELECT sum(cpu_ns) / 1e9 FROM thread_totals",
    ),
    Measure(
        "time ready and waiting for a CPU",
        "s",
        "thread_time",
        (classes.RUNNABLE,),
        "SELECT sum(runnable_ns) / 1e9 FROM thread_totals",
    ),
    Measure(
        "sync calls",
        "",
        "syscalls",
        (classes.SYNC,),
        "SELECT count(*) FROM sync_calls",
    ),
    Measure(
        "mean sync call",
        "ms",
        "syscalls",
        (classes.SYNC,),
        "SELECT avg(dur_ns) / 1e6 FROM sync_calls",
    ),
    Measure(
        "device flushes",
        "",
        "block_requests",
        (classes.SYNC,),
        "SELECT count(*) FROM device_flushes WHERE of_command AND counted",
    ),
    Measure(
        "journal commits",
        "",
        "journal_jbd2",
        (classes.SYNC,),
        "SELECT coalesce(sum(commits), 0) FROM journal_totals WHERE own AND kind = 'jbd2'",
    ),
    Measure(
        "written to the device",
        "MB",
        "block_requests",
        (classes.WRITE, classes.SYNC),
        "SELECT coalesce(sum(bytes), 0) / 1e6 FROM command_requests WHERE op = 'write'",
    ),
    Measure(
        "write requests",
        "",
        "block_requests",
        (classes.WRITE, classes.SYNC),
        "SELECT count(*) FROM command_requests WHERE op = 'write'",
    ),
    Measure(
        "mean write request",
        "KiB",
        "block_requests",
        (classes.WRITE, classes.SYNC),
        "SELECT avg(bytes) / 1024 FROM command_requests WHERE op = 'write'",
    ),
    Measure(
        "read from the device",
        "MB",
        "block_requests",
        (classes.READ,),
        "SELECT coalesce(sum(bytes), 0) / 1e6 FROM command_requests WHERE op = 'read'",
    ),
    Measure(
        "read requests",
        "",
        "block_requests",
        (classes.READ,),
        "SELECT count(*) FROM command_requests WHERE op = 'read'",
    ),
    Measure(
        "mean read request",
        "KiB",
        "block_requests",
        (classes.READ,),
        "SELECT avg(bytes) / 1024 FROM command_requests WHERE op = 'read'",
    ),
    Measure(
        "requests not next to the one before",
        "%",
        "block_requests",
        _STORAGE,
        """
        SELECT 100.0 * count(*) FILTER (WHERE jump_bytes <> 0) / nullif(count(jump_bytes), 0)
        FROM command_requests
        """,
    ),
    Measure(
        "median time of a request",
        "ms",
        "block_requests",
        _STORAGE,
        "SELECT median(complete_ns - queue_ns) / 1e6 FROM command_requests",
    ),
    Measure(
        "pages found in the cache",
        "%",
        "lookups",
        (classes.READ,),
        "SELECT 100.0 * sum(hit_pages) / nullif(sum(hit_of_pages), 0) FROM file_cache",
    ),
    Measure(
        "pages read again after eviction",
        "",
        "page_cache",
        (classes.READ,),
        "SELECT sum(refault_pages) FROM file_cache",
    ),
    Measure(
        "paused by the dirty limits",
        "s",
        "dirty_throttle",
        (classes.THROTTLED,),
        "SELECT coalesce(sum(pause_ns), 0) / 1e9 FROM dirty_pauses",
    ),
    Measure(
        "extents of the most fragmented file",
        "",
        "extents",
        (classes.SYNC, classes.WRITE, classes.READ),
        "SELECT max(extents) FROM file_layout WHERE latest AND bytes > 0",
    ),
)


#: Of the time, a difference that is none: what a program takes to start and to end differs by as much.
_NO_DIFFERENCE = 0.02


def parts(before: Verdict, after: Verdict) -> tuple[Part, ...]:
    """The budget's classes, largest part of the difference first; () when a budget is not known."""
    if not before.budget.known or not after.budget.known:
        return ()
    if before.elapsed_s is None or after.elapsed_s is None:
        return ()
    total = after.elapsed_s - before.elapsed_s
    longest = max(after.elapsed_s, before.elapsed_s)
    found = []
    for line in before.budget.lines:
        other = after.budget.line(line.cls)
        if line.elapsed_ns is None or other.elapsed_ns is None:
            return ()
        first, second = line.elapsed_ns / 1e9, other.elapsed_ns / 1e9
        if first == 0 and second == 0:
            continue
        # Where the whole takes as long as before, there is no difference to explain.
        explains = (second - first) / total if abs(total) > _NO_DIFFERENCE * longest else None
        found.append(Part(line.cls, first, second, explains))
    return tuple(sorted(found, key=lambda part: -abs(part.difference_s)))


def changed(
    before: Recording, after: Recording, found: Sequence[Part], least: float = 0.1
) -> tuple[Changed, ...]:
    """Measures that differ by more than ``least``, first those of the parts that differ most."""
    weights = {part.name: abs(part.difference_s) for part in found}
    first, second = _measured(before), _measured(after)
    out = []
    for measure in MEASURES:
        one, other = first[measure.name], second[measure.name]
        if one is None or other is None or one == other:
            continue
        far = abs(other - one) / max(abs(one), abs(other))
        if far < least:
            continue
        weight = max((weights.get(name, 0.0) for name in measure.classes), default=0.0)
        out.append(Changed(measure, one, other, weight * _distance(one, other)))
    return tuple(sorted(out, key=lambda one: -one.weight))


def _distance(one: float, other: float) -> float:
    """How far apart two numbers are, between 0 and 1: a factor of 10 is near 1."""
    if one <= 0 or other <= 0:
        return 1.0
    return 1 - math.exp(-abs(math.log(other / one)))


@dataclass(frozen=True)
class _Value:
    value: float | None


def _measured(recording: Recording) -> dict[str, float | None]:
    values: dict[str, float | None] = {}
    with recording.damage_named(), Relations.of(recording) as relations:
        for measure in MEASURES:
            if not recording.ran(measure.sensor):
                values[measure.name] = None
                continue
            found = relations.one(_Value, f"SELECT ({measure.sql}) AS value")
            values[measure.name] = found.value
    return values
