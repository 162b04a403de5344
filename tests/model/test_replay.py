"""The engine: a run executed again is itself, and known changes have known answers."""

import numpy as np
import pytest
from msgspec import structs

from iowhy.model.changes import _devices
from iowhy.model.device_kind import Device
from iowhy.model.elapsed import Waits, elapsed
from iowhy.model.medium import FLUSH, WRITE, AsRecorded, Request, medium_of
from iowhy.model.recorded import Recorded
from iowhy.model.replay import Rule, plan, replay, ways

from .runs import DEV, Step, run

FLASH = Device(
    name="flash", access_us=((0, 100),), read_mb_per_s=1000, write_mb_per_s=1000, write_us=20, flush_us=1000, parallel=2
)  # fmt: skip
DISK = Device(
    name="disk", access_us=((0, 50), (1 << 20, 5000), (1 << 30, 10_000)), read_mb_per_s=100, write_mb_per_s=100,
    write_us=50, flush_us=100, cache_mib=16, cache_mb_per_s=1000, drain_us=8000,
)  # fmt: skip
#: 4 KiB at 1000 MB/s.
MOVED = 4.096


def after_us(made: Recorded, rule: Rule, **factors: float) -> float:
    now = replay(plan(made), made, rule)
    return elapsed(made, Waits(made).ratios(now.waits_ns), **factors).ns / 1e3


def on(device: Device, made: Recorded) -> Rule:
    return Rule(media={DEV: medium_of(device, ways(made, DEV, 16 << 20))})


def alone(times: int, wait_us: float = 500, compute_us: float = 100) -> list[Step]:
    return [Step(compute_us, wait_us, place=at * (1 << 24)) for at in range(times)]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_run_executed_again_is_itself(threads: int) -> None:
    made = run(*(alone(40, wait_us=300 + 70 * one) for one in range(threads)))
    now = replay(plan(made), made, Rule())
    assert now.waits_ns == pytest.approx(made.waits["dur_ns"])
    assert after_us(made, Rule()) == pytest.approx(made.elapsed_ns / 1e3)


def test_one_thread_waits_for_each_request_of_another_device() -> None:
    made = run(alone(50))
    assert after_us(made, on(FLASH, made)) == pytest.approx(50 * (100 + 100 + MOVED), rel=0.01)


def test_requests_that_come_at_once_share_the_channels() -> None:
    # Four threads that only read: two channels of 100 µs and one bus serve two at a time.
    made = run(*(alone(50, wait_us=2000, compute_us=0) for _ in range(4)))
    two_at_a_time = 4 * 50 / 2 * 100
    assert after_us(made, on(FLASH, made)) == pytest.approx(two_at_a_time, rel=0.1)


def test_what_is_waited_for_less_is_not_claimed_twice() -> None:
    # A device that takes no time leaves the computing, however many wait for it.
    made = run(alone(50), alone(50, compute_us=300))
    nothing = Rule(media={DEV: AsRecorded((0.0, 0.0, 0.0))})
    assert after_us(made, nothing) == pytest.approx(50 * 300, rel=0.05)


def test_an_arm_takes_its_way_and_the_next_place_none() -> None:
    far, near = alone(30), [Step(100, 500, place=at * 4096) for at in range(30)]
    assert after_us(run(far), on(DISK, run(far))) > 30 * 5000
    assert after_us(run(near), on(DISK, run(near))) < 30 * (100 + 50 + 100)


def test_a_flush_waits_for_what_a_cache_has_to_carry_out() -> None:
    steps = [Step(100, 3000, kind=2, bytes=0) for _ in range(20)]
    clean = run(steps)
    assert after_us(clean, on(DISK, clean)) == pytest.approx(20 * (100 + 100), rel=0.02)
    medium = medium_of(DISK, [0.0, 0.0])
    accepted = medium.submit(0.0, Request(0, WRITE, 0, 4096, 0.0))
    done = medium.submit(accepted or 0.0, Request(1, FLUSH, 0, 0, 0.0))
    assert accepted == pytest.approx((50 + MOVED) * 1e3)
    # Most of a turn until its place comes by, 41 µs for its bytes, 100 for the flush.
    assert done is not None and done == pytest.approx((8000 + 41 + 100) * 1e3, rel=0.02)


def test_a_cache_that_is_full_takes_writes_at_the_rate_of_the_medium() -> None:
    medium = medium_of(DISK, [0.0] * 64)
    now = 0.0
    for number in range(64):
        now = medium.submit(now, Request(number, WRITE, number << 20, 1 << 20, 0.0)) or 0.0
    # 64 MiB at 100 MB/s, of which 16 are still in the cache.
    assert now == pytest.approx(48 * (1 << 20) * 10, rel=0.05)


def test_threads_that_wait_at_once_do_not_wait_one_after_the_other() -> None:
    # Each is the one that waits in its half of the time; on a slow device both wait all the time.
    made = run(alone(40, wait_us=100, compute_us=900), alone(40, wait_us=900, compute_us=100))
    made = structs.replace(made, slices=tuple(
        structs.replace(one, waiting_worth_ns=one.waiting_worth_ns * (1 + (one.tid == 100)))
        for one in made.slices))  # fmt: skip
    same, slow = replay(plan(made), made, Rule()), replay(plan(made), made, on(DISK, made))
    ratios = Waits(made).ratios(slow.waits_ns)
    by_points = made.elapsed_ns + slow.end_ns - same.end_ns
    assert elapsed(made, ratios).ns > by_points
    assert elapsed(made, ratios, most_ns=by_points).ns == pytest.approx(by_points)


def test_a_device_that_answers_before_anybody_waits_says_nothing_of_slower_ones() -> None:
    made = run(alone(40))
    waits = {**made.waits, "begin_ns": made.waits["begin_ns"] + 1e12}
    assert _devices(made, [FLASH]) and not _devices(structs.replace(made, waits=waits), [FLASH])


def test_waits_that_are_not_there_take_no_time() -> None:
    made = run([Step(100, 900, kind=2, bytes=0) for _ in range(20)])
    gone = np.full(20, True)
    assert after_us(made, Rule(no_waits=gone, no_requests=gone)) == pytest.approx(
        20 * 100, rel=0.02
    )
    half = np.arange(20) % 2 == 0
    assert after_us(made, Rule(no_waits=half, no_requests=half)) == pytest.approx(
        20 * 100 + 10 * 900, rel=0.02
    )


@pytest.mark.parametrize("device", [FLASH, DISK])
def test_a_faster_device_saves_no_more_than_the_waits(device: Device) -> None:
    made = run(alone(40, wait_us=9000, compute_us=1000), alone(40, wait_us=9000))
    waits = sum(one.waiting_worth_ns for one in made.slices) / 1e3
    assert after_us(made, on(device, made)) >= made.elapsed_ns / 1e3 - waits - 1e-6


def test_cpus_are_a_limit() -> None:
    made = run(*(alone(20, compute_us=1000, wait_us=4000) for _ in range(4)), cpus=1)
    nothing = Rule(media={DEV: AsRecorded((0.0, 0.0, 0.0))})
    assert after_us(made, nothing) == pytest.approx(4 * 20 * 1000, rel=0.01)
    assert after_us(made, nothing, more_cpus=2.0) == pytest.approx(2 * 20 * 1000, rel=0.01)
