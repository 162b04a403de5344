"""Disks that stall, are at a ceiling, or are slower than in their own week: series of intervals made by hand."""

from pathlib import Path

import pytest

from iowhy.agent import conditions
from iowhy.agent.counted import Disk, Interval, Latency
from iowhy.agent.devices import HOUR_S, Devices
from iowhy.agent.triggers import Watch
from tests.agent.made import VDA, S, interval, latency

MS = 10**6


def bucket(ns: int) -> int:
    """The end of the bucket that a time is in: four to a power of two."""
    power = ns.bit_length() - 1
    step = 1 << (power - 2)
    return (ns // step + 1) * step


def requests(count: int, each_ns: int, *slow: int, op: str = "read", size: int = 4096) -> Latency:
    """So many requests that took about so long, and some slow ones."""
    times: dict[int, int] = {bucket(each_ns): count}
    for one in slow:
        times[bucket(one)] = times.get(bucket(one), 0) + 1
    number = count + len(slow)
    return latency(
        "request",
        op,
        count=number,
        sum_ns=count * each_ns + sum(slow),
        bytes=number * size,
        up_to_ns=sorted(times),
        counts=[times[at] for at in sorted(times)],
    )


def did(row: Latency | None, busy: float = 1.0) -> Interval:
    """Ten seconds of a disk."""
    count = 0 if row is None else row.count
    disk = Disk(VDA, count, 0, 0 if row is None else row.bytes, 0, busy)
    return interval(*(() if row is None else (row,)), disks=(disk,))


class Clock:
    def __init__(self) -> None:
        self.s = 1_700_000_000.0

    def __call__(self) -> float:
        return self.s


def fired(condition: str, series: list[Interval], devices: Devices | None = None) -> list[str]:
    watch = Watch({"it": conditions.read(condition)}, devices)
    return [found.why for one in series for found in watch.look(one)]


QUIET = [did(requests(200, MS), 0.02)] * 5


def test_a_disk_that_answers_nobody_is_stalled() -> None:
    assert len(fired("any device stalled > 15 s", [*QUIET, did(None), did(None), did(None)])) == 2
    assert len(fired("device vda stalled > 15 s", [did(None)] * 2)) == 1
    # A disk at rest has no requests; of one whose use is not known nothing is.
    assert not fired("device vda stalled > 15 s", [did(None, 0.0)] * 5)
    assert not fired("device sda stalled > 1 s", [did(None)] * 5)


def test_a_stall_within_an_interval_is_what_outlasts_all_other_requests() -> None:
    (why,) = fired("device vda stalled > 2 s", [*QUIET, did(requests(500, MS, 3 * S))])
    assert "vda" in why
    # A deep queue is no stall: there each takes long.
    assert not fired("device vda stalled > 2 s", [did(requests(100, 200 * MS, 3 * S))])


def capped(number: int, each_ns: int = 21 * MS) -> Interval:
    return did(requests(number, each_ns))


def test_a_rate_that_stands_still_while_requests_queue_is_a_ceiling() -> None:
    # 3,000 requests/s with 63 in flight; a millisecond at low load.
    at_it = [capped(30_000 + 100 * nth) for nth in range(6)]
    found = fired("device vda capped for 20 s", [*QUIET, *at_it])
    assert len(found) == 3 and "3,0" in found[0] and "1 ms" in found[0]
    # The rate goes up and down; a queue of one; not known how quick it is; as quick as at low load; not busy all the time.
    assert not fired("any device capped", [*QUIET, *map(capped, (30_000, 20_000, 30_000, 15_000))])
    assert not fired("any device capped", [*QUIET, *[did(requests(10_000, MS))] * 6])
    assert not fired("any device capped", at_it)
    assert not fired("any device capped", [*QUIET, *[capped(30_000, 3 * MS)] * 6])
    assert not fired("any device capped", [*QUIET, *[did(requests(30_000, 21 * MS), 0.5)] * 6])


def a_week(devices: Devices, clock: Clock, day_ns: int = MS, night_ns: int = MS) -> None:
    """Intervals of ten seconds for the first half of an hour, of two days."""
    for hour in range(48):
        for _ in range(40):
            devices.look(did(requests(100, night_ns if hour % 24 < 6 else day_ns)))
        clock.s += HOUR_S


def test_slower_than_its_own_week() -> None:
    clock = Clock()
    devices = Devices(clock=clock)
    slow = "any device slower than its week > 3 times"
    assert not fired(slow, [did(requests(100, 50 * MS))] * 3, devices)  # nothing is known yet
    devices = Devices(clock=clock)
    a_week(devices, clock)
    assert len(fired(slow, [did(requests(100, 8 * MS))] * 2, devices)) == 2
    assert not fired(slow, [did(requests(100, 2 * MS))] * 2, devices)
    # One in fifty is slow: the 99th percentile says it.
    assert fired(slow, [did(requests(98, MS, 40 * MS, 40 * MS))], devices)
    # Larger requests, and writes, are others.
    assert not fired(slow, [did(requests(100, 8 * MS, size=1 << 20))], devices)
    assert not fired(slow, [did(requests(100, 8 * MS, op="write"))], devices)
    assert not fired(slow, [did(requests(5, 80 * MS))], devices)


def test_an_hour_is_held_against_the_same_hour() -> None:
    clock = Clock()
    devices = Devices(clock=clock)
    a_week(devices, clock, night_ns=20 * MS)
    slow, night = "any device slower than its week > 3 times", did(requests(100, 20 * MS))
    assert fired(slow, [night], devices)  # by day
    clock.s += 5 * 24 * HOUR_S  # the same hour of the next week: a night
    assert not fired(slow, [night], devices)


def test_what_is_usual_is_kept_and_damage_is_nothing_known(tmp_path: Path) -> None:
    clock = Clock()
    devices = Devices(tmp_path, clock)
    a_week(devices, clock)
    devices.keep()
    slow = "any device slower than its week > 3 times"
    assert fired(slow, [did(requests(100, 8 * MS))], Devices(tmp_path, clock))
    (file,) = tmp_path.iterdir()
    assert file.stat().st_size < 20_000
    file.write_text('{"vda": 3}')
    assert not fired(slow, [did(requests(100, 8 * MS))], Devices(tmp_path, clock))


@pytest.mark.parametrize(
    "text",
    ["device vda capped > 3", "any device stalled", "device slower than its week > 3 times",
     "any device slower than its week > 0.5 times", "any device stalled > 3 times"],
)  # fmt: skip
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(conditions.Unreadable):
        conditions.read(text)
