"""cgroup, io-limits, pressure, measurements: what held the command back, and what other tools printed."""

import pytest

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, S, limited


def test_a_group_that_is_stopped_and_one_without_a_quota(make: Make) -> None:
    rec = make(
        {
            "cgroup_samples": [
                {"ts_ns": T0 + at * S, "path": "/a", "cpu_throttled_ns": 100 * MS + at * 500 * MS,
                 "cpu_periods": 7 + at * 10, "cpu_throttled_periods": 5 + at * 8,
                 "cpu_quota_cores": 0.5, "memory_limit_bytes": 1 << 30, "memory_limit_hits": 3,
                 "memory_bytes": (at + 1) << 20}
                for at in range(3)
            ] + [{"ts_ns": T0, "path": "/b"}, {"ts_ns": T0 + S, "path": "/b"}],
        },
        end_s=2,
    )  # fmt: skip
    held, free = run(rec, "cgroup").to_pylist()
    assert (held["periods"], held["stopped_periods"], held["stopped_ns"]) == (20, 16, S)
    assert held["stopped_periods_share"] == pytest.approx(0.8)
    assert held["stopped_share"] == pytest.approx(0.5)
    assert (held["memory_limit_hits"], held["memory_bytes"]) == (0, 3 << 20)
    assert (held["quota_cores"], held["read_limit_per_s"]) == (0.5, None)
    assert free.pop("path") == "/b" and set(free.values()) == {None}


def test_limits_stand_by_device_beside_what_was_done_there(make: Make) -> None:
    rec = make(
        {
            "devices": [{"dev": 8, "name": "sda"}, {"dev": 9, "name": "sdb"}],
            **limited(),
        },
        end_s=2,
    )
    unnamed, named = run(rec, "io-limits").to_pylist()
    assert (unnamed["device"], unnamed["write_limit_bytes_per_s"], unnamed["reads_per_s"]) == (
        "0:7",
        500,
        0,
    )
    assert (named["device"], named["read_limit_bytes_per_s"], named["write_limit_per_s"]) == (
        "sda",
        2000,
        7,
    )
    assert (named["read_bytes_per_s"], named["written_bytes_per_s"]) == (2048, 256)
    assert (named["reads_per_s"], named["writes_per_s"]) == (0.5, 0.5)
    assert named["write_limit_bytes_per_s"] is named["read_limit_per_s"] is None


def test_pressure_is_over_the_time_between_the_readings(make: Make) -> None:
    rec = make(
        {
            "pressure_samples": [
                {"ts_ns": T0 + at * S, "scope": "machine", "resource": resource, "kind": "some",
                 "total_ns": 9 * S + at * stalled}
                for resource, stalled in (("io", 250 * MS), ("cpu", 0))
                for at in range(3)
            ],
        },
        end_s=2,
    )  # fmt: skip
    io, cpu = run(rec, "pressure").to_pylist()
    assert (io["resource"], io["stalled_ns"], io["stalled_share"]) == ("io", 500 * MS, 0.25)
    assert (cpu["resource"], cpu["stalled_ns"], cpu["stalled_share"]) == ("cpu", 0, 0)


def test_printed_numbers_stand_by_tool_and_subject(make: Make) -> None:
    job = {"tool": "fio", "subject": "job", "metric": "read_iops"}
    call = {"tool": "curt", "subject": "fsync", "metric": "elapsed_mean_ns", "value": 5.5}
    rec = make({"measurements": [job | {"value": 10.0}, job | {"value": 30.0}, call]})
    curt, fio = run(rec, "measurements").to_pylist()
    assert (curt["subject"], curt["value"], curt["values"]) == ("fsync", 5.5, 1)
    assert (fio["value"], fio["values"], fio["lowest"], fio["highest"]) == (20, 2, 10, 30)
