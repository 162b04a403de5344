"""What was done, next to how long it took: of runs of a fixed duration only the rate says which is faster.

`pgbench -T 30` and `fio --runtime=30` take 30 s whatever they do in it, and so does what is attached to for
30 s. Work and time are two things there.
"""

from statistics import median

from msgspec import Struct

from iowhy.comparisons.sides import Side
from iowhy.relations import Relations
from iowhy.whys import classes

#: Times that differ by less are the same time: a program ends some milliseconds after its duration is over.
SAME_TIME = 0.03
#: Work that differs by less is the same work: two runs of one command differ by as much.
SAME_WORK = 0.1

_DATA = classes.quoted(classes.DATA_READS | classes.DATA_WRITES)
#: What both sides did, by the sensor that counts it; the first that both have says how fast they were.
_AMOUNTS = (
    ("bytes moved by calls", "bytes", "syscalls", f"SELECT sum(done_bytes) FROM calls_by_file WHERE name IN {_DATA}"),
    ("calls that move data", "calls", "syscalls", f"SELECT sum(calls) FROM calls_by_file WHERE name IN {_DATA}"),
    ("bytes moved by the device", "bytes", "block_requests", "SELECT sum(bytes) FROM command_data_requests"),
)  # fmt: skip


class Rate(Struct, frozen=True):
    """How much of something was done in a second, before and after."""

    name: str
    unit: str
    before_per_s: float
    after_per_s: float

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after_per_s / self.before_per_s


class _Amount(Struct, frozen=True):
    value: float | None


def rates(
    before: Side, after: Side, asked_before: Relations, asked_after: Relations
) -> tuple[Rate, ...]:
    """Of runs of a fixed duration what they did in a second, the one that says most first; () of others.

    Of a side with several recordings it is the typical one's, of which is asked.
    """
    if not before.seconds or not after.seconds:
        return ()
    first, second = median(before.seconds), median(after.seconds)
    watched = all(
        side.typical.manifest.command.mode in ("attach", "machine") for side in (before, after)
    )
    if not watched and abs(second - first) > SAME_TIME * max(first, second):
        return ()
    done = [_amounts(asked) for asked in (asked_before, asked_after)]
    found = tuple(
        Rate(name, unit, one / _seconds(before), other / _seconds(after))
        for (name, unit, _, _), one, other in zip(_AMOUNTS, *done, strict=True)
        if one and other
    )
    if watched:
        return found
    # In the same time, of everything more or of everything less: the time was given, not the work. A fix that
    # makes fewer calls for the same bytes is none of that.
    others = [one for one in found if abs(one.ratio - 1) > SAME_WORK]
    same_way = len({one.ratio > 1 for one in others}) == 1
    return found if found and len(others) == len(found) and same_way else ()


def agree(found: tuple[Rate, ...]) -> bool:
    """Whether all rates went the same way, or stayed: else they cannot say which side is faster."""
    return len({one.ratio > 1 for one in found if abs(one.ratio - 1) > SAME_WORK}) <= 1


def _seconds(side: Side) -> float:
    command = side.typical.manifest.command
    assert command.start_ns is not None and command.end_ns is not None
    return (command.end_ns - command.start_ns) / 1e9


def _amounts(relations: Relations) -> list[float | None]:
    with relations.recording.damage_named():
        return [
            relations.one(_Amount, f"SELECT CAST(({sql}) AS DOUBLE) AS value").value
            if relations.recording.ran(sensor)
            else None
            for _, _, sensor, sql in _AMOUNTS
        ]
