"""How much more is moved at each layer than was asked for."""

import pytest

from iowhy.reports import run
from tests.reports.conftest import MS, Make, call, filesystem, request, stacked


def test_amplification_counts_stacked_devices_once(make: Make) -> None:
    rows = run(stacked(make), "amplification").to_pylist()
    found = {(r["layer"], r["what"]): r for r in rows}
    assert {key: (r["operations"], r["bytes"]) for key, r in found.items()} == {
        ("asked", "read"): (1, 50),
        ("asked", "write"): (2, 8192),
        ("asked", "sync"): (1, 0),
        ("page cache", "lookup"): (4, 16384),
        ("page cache", "read on demand"): (1, 4096),
        ("page cache", "dirtied"): (2, 8192),
        ("requests", "write data"): (1, 8192),
        ("requests", "write journal"): (1, 4096),
        ("requests", "flush"): (1, 0),
        # As the kernel counts them, with the one of no bytes.
        ("device loop0", "write"): (3, 12288),
        ("device loop0", "flush"): (1, 0),
        ("device vda", "read"): (1, 1 << 20),
        ("device vda", "write"): (2, 12288),
        ("device vda", "flush"): (1, 0),
    }
    assert found["requests", "write journal"]["bytes_ratio"] == 0.5
    assert found["requests", "write data"]["operations_ratio"] == 0.5
    assert found["page cache", "lookup"]["bytes_ratio"] == pytest.approx(16384 / 50)
    assert found["requests", "flush"]["bytes_ratio"] is None
    assert found["asked", "sync"]["bytes_ratio"] is None


def test_amplification_of_mapped_writes(make: Make) -> None:
    rec = make(
        {
            "filesystems": [filesystem()],
            "syscalls": [call(0, MS, "msync", bytes=4 << 20)],
            "block_requests": [request(i, MS, sector=i * 99) for i in range(1013)],
        },
        without=["page_cache"],
    )
    found = {(r["layer"], r["what"]): r for r in run(rec, "amplification").to_pylist()}
    assert ("page cache", "lookup") not in found
    assert found["requests", "write data"]["operations_ratio"] == 1013
    assert found["requests", "write data"]["bytes_ratio"] == pytest.approx(1013 / 1024)
