"""stalls: when devices answered nobody."""

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, S


def test_when_a_device_answered_nobody_and_who_waited(make: Make) -> None:
    """Two reads are under way for 300 ms, of which one thread waits 250; a device that trims may be as slow as it likes."""
    read = {"dev": 8, "op": "read", "bytes": 4096, "owner_kind": "data", "flags": []}
    quick = [
        read | {"queue_ns": T0 + at * MS, "complete_ns": T0 + (at + 1) * MS} for at in range(9)
    ]
    late = [
        read
        | {"queue_ns": T0 + at * MS, "issue_ns": T0 + (at + 5) * MS, "complete_ns": T0 + end * MS}
        for at, end in ((95, 400), (195, 401))
    ]
    trim = read | {"dev": 9, "op": "discard", "queue_ns": T0, "complete_ns": T0 + S}
    rec = make(
        {
            "devices": [{"dev": 8, "name": "sda"}, {"dev": 9, "name": "sdb"}],
            "block_requests": [*quick, *late, trim],
            "threads": [{"tid": 5, "tgid": 4, "comm": "reader", "start_ns": T0}],
            "waits": [
                {"ts_ns": T0 + 50 * MS, "dur_ns": 300 * MS, "tgid": 4, "tid": 5, "reason": "page_read", "io": True}
            ],
        },
        end_s=2,
    )  # fmt: skip
    (found,) = run(rec, "stalls").to_pylist()
    assert (found["device"], found["at_s"], found["lasted_ns"]) == ("sda", 0.1, 300 * MS)
    assert (found["reads"], found["writes"], found["flushes"], found["bytes"]) == (2, 0, 0, 8192)
    assert (found["comm"], found["tid"], found["waited_ns"]) == ("reader", 5, 250 * MS)
