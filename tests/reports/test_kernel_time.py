"""CPU time in the kernel: calls by what they are for, and nothing of the recorder."""

import pytest

from iowhy.reports import run

from .conftest import MS, Make


def test_calls_have_the_kernel_time_that_is_left(make: Make) -> None:
    """Their own lengths hold what the recorder took within them; thread_time's calls do not."""
    common = {"tgid": 7, "tid": 7, "ts_ns": 0, "interval_ns": 100 * MS}
    rows = {
        "thread_time": [
            {
                **common, "cpu_user_ns": 10 * MS, "cpu_kernel_ns": 90 * MS, "cpu_recorder_ns": 50 * MS,
                "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0, "cpu_calls_ns": 30 * MS,
            }
        ],
        "syscall_totals": [
            {
                **common, "name": name, "calls": 1000, "errors": 0,
                "total_ns": ns, "max_ns": 1, "cpu_ns": ns,
            }
            for name, ns in (("read", 45 * MS), ("getppid", 15 * MS))
        ],
    }  # fmt: skip
    found = {row["kind"]: row["thread_ns"] for row in run(make(rows), "kernel-time").to_pylist()}
    # Of 60 ms in calls by their lengths 30 are theirs: half of each.
    assert found == {
        "calls on files": pytest.approx(22.5 * MS, rel=1e-6),
        "other calls": pytest.approx(7.5 * MS, rel=1e-6),
        "page faults, interrupts, call entry": pytest.approx(10 * MS, rel=1e-6),
    }
