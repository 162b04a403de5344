"""The machine over time."""

from iowhy.reports import run
from tests.reports.conftest import MS, T0, Make, request


def test_system(make: Make) -> None:
    def cpu(at_ms: int, number: int, user: int, idle: int, iowait: int) -> dict[str, object]:
        row = {"ts_ns": T0 + at_ms * MS, "cpu": number, "user_ns": user * MS, "system_ns": 0}
        return row | {"idle_ns": idle * MS, "iowait_ns": iowait * MS}

    rec = make(
        {
            "cpu_samples": [
                cpu(0, -1, 100, 100, 50), cpu(100, -1, 200, 180, 70),
                cpu(0, 0, 100, 50, 0), cpu(100, 0, 200, 50, 0),
                cpu(0, 1, 0, 50, 50), cpu(100, 1, 0, 130, 45),
            ],
            "vm_samples": [
                {"ts_ns": T0, "procs_running": 2, "context_switches": 100, "page_in_bytes": 0, "zswap_out_pages": 5},
                {"ts_ns": T0 + 100 * MS, "procs_running": 4, "context_switches": 150, "page_in_bytes": 4096, "zswap_out_pages": 25},
            ],
            "memory_samples": [
                {"ts_ns": T0 + 100 * MS, "free_bytes": 7},
                {"ts_ns": T0 + 190 * MS, "free_bytes": 5},
            ],
        }
    )  # fmt: skip
    first, second = run(rec, "system").to_pylist()
    assert (first["running"], first["user_share"], first["free_bytes"]) == (2, None, None)
    assert (second["user_share"], second["idle_share"], second["iowait_share"]) == (0.5, 0.4, 0.1)
    assert second["busiest_cpu_share"] == 1
    assert (second["switches_per_s"], second["page_in_bytes_per_s"]) == (500, 40960)
    assert (second["zswap_out_pages_per_s"], second["zswap_in_pages_per_s"]) == (200, None)
    assert (second["free_bytes"], second["steal_share"], second["swap_in_pages_per_s"]) == (
        5,
        None,
        None,
    )


def test_devices_are_told_as_they_were(make: Make) -> None:
    vda = {"dev": 1, "name": "vda", "rotational": True, "write_cache": "write back", "scheduler": "bfq",
           "max_request_bytes": 1 << 20, "queue_requests": 64, "size_bytes": 1 << 40, "model": "ACME 7200"}  # fmt: skip
    array = {"dev": 2, "name": "md0", "raid_level": "raid1", "below_dev": 1}
    names = {"dev": 3, "name": "nvme0n2", "nvme_namespace": 2, "rotational": False}
    unused = {"dev": 4, "name": "loop0"}
    mounted = {"kind": "ext4", "options": "rw,noatime", "disk_dev": 2}
    rec = make(
        {
            "devices": [vda, array, names, unused],
            "filesystems": [{"dev": 21, "mount": "/b", "size_bytes": 70, "free_bytes": 30, **mounted},
                            {"dev": 22, "mount": "/a", "size_bytes": 70, "free_bytes": 30, **mounted}],
            "block_requests": [request(0, MS, dev=1), request(MS, MS, dev=1), request(0, MS, dev=3)],
        }
    )  # fmt: skip
    first, again, third, last = run(rec, "device-facts").to_pylist()
    for row, mount in ((first, "/a"), (again, "/b")):
        assert (row["device"], row["mount"], row["filesystem"]) == ("md0", mount, "ext4")
        assert (row["options"], row["raid_level"], row["lies_on"]) == ("rw,noatime", "raid1", "vda")
        assert (row["size_bytes"], row["filesystem_bytes"], row["free_bytes"]) == (None, 70, 30)
        assert row["model"] is row["rotational"] is row["nvme_namespace"] is None
    assert (third["device"], third["nvme_namespace"], third["rotational"]) == ("nvme0n2", 2, False)
    assert {name: last[name] for name in vda if name not in ("dev", "name")} == {
        name: value for name, value in vda.items() if name not in ("dev", "name")
    }
    assert (last["device"], last["mount"], last["lies_on"]) == ("vda", None, None)
