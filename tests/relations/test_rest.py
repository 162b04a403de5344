"""A machine at rest is read less often: what is said of all the time is the same, however often it was read then."""

import itertools
from collections.abc import Iterator

import pytest

from iowhy.relations import Relations
from tests.reports.conftest import MS, T0, Make, Tables, spent

S = 1_000 * MS
#: Threads of a machine at rest do a little now and then.
LITTLE = MS
REST_MS = (100, 500, 2_000)


def readings(rest_ms: int, rest_s: int, busy_s: int) -> Iterator[int]:
    """When it was read: at first it rests, then it is busy and read ten times a second."""
    yield from range(0, rest_s * S, rest_ms * MS)
    yield from range(rest_s * S, (rest_s + busy_s) * S + 1, 100 * MS)


def machine(rest_ms: int, rest_s: int, busy_s: int) -> Tables:
    """Two CPUs, a disk and threads, idle and then busy; the counters of each moment are the same however often it is read."""
    tables: dict[str, list[dict[str, object]]] = {
        name: [] for name in ("cpu_samples", "vm_samples", "disk_samples", "thread_time")
    }
    times = list(readings(rest_ms, rest_s, busy_s))
    for at in times:
        busy = max(0, at - rest_s * S)
        used = 2 * busy * 95 // 100
        tables["cpu_samples"].append(
            {"ts_ns": T0 + at, "cpu": -1, "user_ns": used, "system_ns": 0, "idle_ns": 2 * at - used}
        )
        # What is seen at a reading stands for the time before it.
        works = at > rest_s * S
        levels = {"procs_running": 5 if works else 1, "procs_blocked": 2 if works else 0}
        tables["vm_samples"].append({"ts_ns": T0 + at, **levels})
        tables["disk_samples"].append(
            {"ts_ns": T0 + at, "dev": 80, "reads": busy // MS, "read_bytes": busy // MS * 4096}
            | {"read_ns": busy, "writes": 0, "written_bytes": 0, "busy_ns": busy * 9 // 10}
        )
    for before, at in itertools.pairwise(times):
        work = (at - before) * 9 // 10 if at > rest_s * S else LITTLE
        tables["thread_time"].append(spent(before, at - before, user=work))
    return tables


def of(make: Make, rest_ms: int, rest_s: int, busy_s: int, asked: str) -> tuple[object, ...]:
    recording = make(machine(rest_ms, rest_s, busy_s), end_s=float(rest_s + busy_s))
    with Relations(recording) as relations:
        ((*found,),) = relations.rows(asked)
    return tuple(found)


@pytest.mark.parametrize("rest_ms", REST_MS)
def test_levels_of_the_machine_are_means_over_the_time(make: Make, rest_ms: int) -> None:
    found = of(
        make,
        rest_ms,
        12,
        4,
        "SELECT saturated_share, busy_share, runnable, blocked, blocked_share FROM machine_levels",
    )
    # The first reading counts for as long as the second, so the mean is not quite a quarter.
    assert found == pytest.approx((0.25, 0.2375, 2.0, 0.5, 0.25), rel=0.15)
    assert found[0] == 0.25


@pytest.mark.parametrize("rest_ms", REST_MS)
def test_rates_of_a_device_are_medians_over_the_time(make: Make, rest_ms: int) -> None:
    asked = "SELECT busy_share, reads_per_s, read_bytes_per_s FROM device_rates"
    assert of(make, rest_ms, 12, 8, asked) == (0, 0, 0)
    # Where it is busy for longer than it rests, this is what it mostly does.
    assert of(make, rest_ms, 8, 12, asked) == (0.9, 1000, 4096_000)
    # As long one way as the other: between the two.
    assert of(make, rest_ms, 10, 10, asked) == (0.45, 500, 2048_000)


@pytest.mark.parametrize("rest_ms", REST_MS)
def test_little_work_in_long_intervals_makes_no_long_cells(make: Make, rest_ms: int) -> None:
    (grid_ns,) = of(make, rest_ms, 40, 4, "SELECT grid_ns FROM budget_grid")
    assert grid_ns == pytest.approx(100 * MS, rel=0.01)


def test_much_work_in_long_intervals_makes_long_cells(make: Make) -> None:
    """Of what a thread did within them the order is not known."""
    rows = [spent(at * S, 2 * S, user=S) for at in range(0, 10, 2)]
    recording = make({"thread_time": [*rows, spent(10 * S, 100 * MS, user=90 * MS)]}, end_s=10.1)
    with Relations(recording) as relations:
        ((grid_ns,),) = relations.rows("SELECT grid_ns FROM budget_grid")
    assert grid_ns == pytest.approx(2 * S, rel=0.05)
