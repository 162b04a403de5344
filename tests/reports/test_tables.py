"""What the tables and indexes of a database cost."""

from iowhy.reports import run
from tests.reports.conftest import KIB, MS, Make, call, file, filesystem, request

ORDERS = "/srv/pg/base/16384/24576"


def extent(ino: int, logical: int, physical: int, size: int) -> dict[str, object]:
    """Sizes in KiB."""
    place = {"logical_bytes": logical * KIB, "physical_bytes": physical * KIB, "bytes": size * KIB}
    return {"phase": "after", "dev": 1, "ino": ino, "flags": []} | place


def test_segments_of_a_table_are_one_row(make: Make) -> None:
    files = [
        file(2, ORDERS),
        file(3, f"{ORDERS}.1"),
        file(4, "/srv/pg/pg_wal/000000010000000000000001"),
        file(5, "/srv/other"),
    ]
    rec = make(
        {
            "files": files,
            "filesystems": [filesystem()],
            "database_files": [{"path": ORDERS, "object": "public.orders (table)"}],
            "syscalls": [
                call(0, MS, "pread64", ino=2, ret=8192),
                call(MS, 2 * MS, "pread64", ino=3, ret=8192),
                call(4 * MS, 5 * MS, "fdatasync", ino=4),
                call(9 * MS, MS, "pread64", ino=5, ret=8192),
            ],
            "block_requests": [
                request(0, MS, "read", owner_ino=2, bytes=8192),
                request(2 * MS, MS, "read", owner_ino=3, bytes=8192),
            ],
            "extents": [
                extent(2, 0, 0, 4),
                extent(2, 4, 1000, 4),
                extent(3, 0, 5000, 16),
            ],
        }
    )
    rows = {row["object"]: row for row in run(rec, "tables").to_pylist()}
    assert set(rows) == {"public.orders (table)", "write-ahead log"}
    orders = rows["public.orders (table)"]
    assert (orders["files"], orders["calls"], orders["time_ns"]) == (2, 2, 3 * MS)
    assert (orders["requests"], orders["request_bytes"]) == (2, 16384)
    assert (orders["extents_before"], orders["extents_after"]) == (None, 3)
    assert orders["bytes_per_extent"] == 8192
    log = rows["write-ahead log"]
    assert (log["sync_ns"], log["requests"], log["request_bytes"]) == (5 * MS, 0, 0)


def test_what_was_not_recorded_is_unknown(make: Make) -> None:
    rec = make(
        {"files": [file(4, f"{ORDERS}-wal")], "syscalls": [call(0, MS, "pread64", ino=4, ret=1)]},
        without=["block_requests"],
    )
    (row,) = run(rec, "tables").to_pylist()
    assert (row["calls"], row["requests"], row["request_bytes"]) == (1, None, None)
