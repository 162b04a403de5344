"""remote: what NFS mounts asked of their servers."""

from iowhy.reports import run

from .conftest import MS, Make


def reading(at: int, op: str, operations: int, **counters: int) -> dict[str, object]:
    names = (
        *("transmissions", "timeouts", "sent_bytes", "received_bytes"),
        *("queue_ns", "rtt_ns", "execute_ns"),
    )
    return {"ts_ns": at, "dev": 9, "op": op, "operations": operations} | {
        name: counters.get(name, 0) for name in names
    }


def test_each_kind_of_operation_between_its_first_reading_and_its_last(make: Make) -> None:
    """A kind that did not move is left out; the one that took most of the time comes first."""
    last = {"transmissions": 45, "timeouts": 2, "sent_bytes": 900, "received_bytes": 80_000}
    times = {"queue_ns": 40 * MS, "rtt_ns": 200 * MS, "execute_ns": 260 * MS}
    recording = make(
        {
            "filesystems": [{"dev": 9, "kind": "nfs4", "mount": "/far", "options": "rw"}],
            "remote_samples": [
                reading(0, "FSINFO", 3),
                reading(0, "GETATTR", 1),
                reading(0, "READ", 10, transmissions=10, execute_ns=20 * MS),
                reading(5, "GETATTR", 5, rtt_ns=MS, execute_ns=2 * MS),
                reading(6, "READ", 30, transmissions=30, rtt_ns=9 * MS, execute_ns=100 * MS),
                reading(9, "READ", 50, **last, **times),
            ],
        }
    )
    rows = run(recording, "remote").to_pylist()
    assert [(row["mount"], row["op"], row["operations"]) for row in rows] == [
        ("/far", "READ", 40),
        ("/far", "GETATTR", 4),
    ]
    read = rows[0]
    assert (read["transmissions"], read["timeouts"]) == (35, 2)
    assert (read["sent_bytes"], read["received_bytes"]) == (900, 80_000)
    assert (read["mean_queue_ns"], read["mean_rtt_ns"], read["mean_execute_ns"]) == (
        MS,
        5 * MS,
        6 * MS,
    )
