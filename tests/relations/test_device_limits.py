"""device_limits: what the control groups allow on each device, and what the command did there."""

from iowhy.relations import Relations
from tests.reports.conftest import MS, Make, request


def test_limits_of_each_device_beside_what_was_done_there(make: Make) -> None:
    def limit(at: int, dev: int, **limits: int) -> dict[str, object]:
        return {"ts_ns": at * MS, "path": "/x", "dev": dev, **limits}

    rec = make(
        {
            "io_limits": [
                limit(0, 8, read_bytes_per_s=3000, write_ops_per_s=7),
                limit(5, 8, read_bytes_per_s=2000, write_ops_per_s=9),
                limit(0, 7, write_bytes_per_s=500, read_ops_per_s=4),
            ],
            "block_requests": [
                request(MS, 2 * MS, "read") | {"dev": 8},
                request(3 * MS, MS) | {"dev": 8, "bytes": 512},
                request(4 * MS, MS) | {"dev": 8, "bytes": 1024, "in_scope": False},
                request(5 * MS, MS) | {"dev": 9},
            ],
        }
    )
    with Relations.of(rec) as relations:
        rows = relations.rows("SELECT * FROM device_limits ORDER BY dev")
    assert rows == [
        (7, None, 500, 4, None, 0, 0, 0, 0),
        (8, 2000, None, None, 7, 1, 1, 4096, 512),
    ]
