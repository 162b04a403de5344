"""What the agent has kept, by service and device, as percentiles from its buckets."""

from iowhy.reports import run
from tests.reports.conftest import T0, Make, S

KEY = {"measure": "call", "name": "fsync", "cgroup": 7, "dev": 8 << 20}
SERVICE = {
    "id": "db.service",
    "name": "db",
    "runtime": "systemd",
    "cgroup": "/system.slice/db.service",
}


def latency(at: int, count: int, sum_ns: int, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "ts_ns": T0 + at * 10 * S,
        "interval_ns": 10 * S,
        "path": "/system.slice/db.service",
        "container": "db.service",
        "count": count,
        "untimed": 0,
        "sum_ns": sum_ns,
        "bytes": 0,
    }
    return row | KEY | more


def bucket(at: int, up_to_ns: int | None, count: int, **more: object) -> dict[str, object]:
    row: dict[str, object] = {"ts_ns": T0 + at * 10 * S, "up_to_ns": up_to_ns, "count": count}
    return row | KEY | more


def counted(name: str, count: int, bytes_: int, at: int = 0, **more: object) -> dict[str, object]:
    row: dict[str, object] = {
        "ts_ns": T0 + at * 10 * S,
        "interval_ns": 10 * S,
        "name": name,
        "count": count,
        "bytes": bytes_,
    }
    return row | more


#: Some rows of every table of the agent's.
AGENT = {
    "agent_latencies": [latency(0, 60, 600_000), latency(1, 40, 5_000_000_000)],
    "agent_buckets": [bucket(0, 1280, 60), bucket(1, 2048, 38), bucket(1, None, 2)],
    "agent_counts": [counted("cache_missed", 2, 8192, dev=5, path="/user.slice")],
}


def test_intervals_add_up_and_percentiles_are_ends_of_buckets(make: Make) -> None:
    request = {
        "measure": "request",
        "name": "read",
        "cgroup": None,
        "path": None,
        "container": None,
    }
    recording = make(
        {
            "agent_latencies": [
                latency(0, 60, 600_000),
                latency(1, 40, 5_000_000_000),
                latency(1, 3, 0, untimed=3, bytes=12_288, **request),
            ],
            "agent_buckets": [
                bucket(0, 1280, 60),
                bucket(1, 2048, 38),
                bucket(1, None, 2),
            ],
            "agent_counts": [counted("waiting", 0, 0), counted("waiting", 2, 0, at=1)],
            "containers": [SERVICE],
            "devices": [{"dev": 8 << 20, "name": "sda"}],
            "filesystems": [{"dev": 8 << 20, "kind": "ext4", "mount": "/var", "options": "rw"}],
        },
        end_s=20,
    )
    call, read = run(recording, "agent-latencies").to_pylist()
    assert call == {
        "measure": "call",
        "name": "fsync",
        "service": "db",
        "device": "/var",
        "count": 100,
        "total_ns": 5_000_600_000,
        "mean_ns": 50_006_000,
        "p50_ns": 1280,
        "p99_ns": None,
        "max_ns": None,
        "bytes": 0,
        "times_per_s": 5.0,
    }
    # A request whose time nobody knows is counted, and has none.
    assert (read["service"], read["device"], read["count"], read["bytes"]) == (
        None,
        "sda",
        3,
        12_288,
    )
    assert {read[name] for name in ("mean_ns", "p50_ns", "p99_ns", "max_ns")} == {None}


def test_pages_missed_are_of_a_service_and_a_filesystem(make: Make) -> None:
    of = {"cgroup": 7, "dev": 5, "container": "", "path": "/user.slice"}
    recording = make(
        {
            "agent_counts": [
                counted("cache_missed", 2, 8192, **of),
                counted("cache_missed", 1, 4096, at=1, **of),
                counted("cache_evicted", 1, 4096, at=1, **of),
                counted("waiting", 9, 0),
            ],
        },
        end_s=20,
    )
    (row,) = run(recording, "agent-counts").to_pylist()
    assert tuple(row.values()) == ("/user.slice", "0:5", 12_288, 4096, 614.4)
