"""Percentiles from counted buckets are those of all values."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iowhy.relations import Relations
from tests.reports.conftest import MS, Make, call, request, wait

#: About the borders of buckets, equal values, and all sizes.
LENGTHS = st.one_of(
    st.integers(0, 5),
    st.integers(0, 45).flatmap(lambda power: st.integers(2**power - 1, 2**power + 1)),
    st.integers(0, 10**13),
)
ROWS = st.lists(
    st.tuples(LENGTHS, st.sampled_from(["fsync", "write"]), st.sampled_from([None, "read"])),
    min_size=1,
    max_size=60,
)


@settings(max_examples=15)
@given(ROWS)
def test_lengths_are_those_of_quantile_cont(
    make: Make, rows: list[tuple[int, str, str | None]]
) -> None:
    tables = {
        "syscalls": [call(at * MS, length, name) for at, (length, name, _) in enumerate(rows)],
        "waits": [
            wait(at * MS, length, "other" if name == "write" else "device_flush", syscall=within)
            for at, (length, name, within) in enumerate(rows)
        ],
    }
    with Relations.of(make(tables)) as opened:
        for relation, source, keys in (
            ("call_lengths", "syscalls", "name"),
            ("sync_lengths", "sync_calls", "name"),
            ("wait_lengths", "waits", "reason, syscall"),
        ):
            found = opened.rows(f"SELECT {keys}, p50_ns, p99_ns FROM {relation} ORDER BY {keys}")
            expected = opened.rows(
                f"""SELECT {keys}, quantile_cont(dur_ns, 0.5), quantile_cont(dur_ns, 0.99)
                FROM {source} GROUP BY {keys} ORDER BY {keys}"""
            )
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert one[:-2] == other[:-2], relation
                assert one[-2:] == pytest.approx(other[-2:], rel=1e-12), relation


@settings(max_examples=15)
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 2**31)), min_size=1, max_size=40))
def test_request_lengths_are_those_of_quantile_cont(
    make: Make, rows: list[tuple[int, int]]
) -> None:
    requests = [
        request(at * MS, MS, sector=sector, bytes=pages * 4096)
        for at, (pages, sector) in enumerate(rows)
    ]
    with Relations.of(make({"block_requests": requests})) as opened:
        found = opened.rows("SELECT what, p50_bytes, p90_bytes FROM request_lengths ORDER BY what")
        expected = opened.rows(
            """SELECT 'bytes', quantile_cont(bytes, 0.5), quantile_cont(bytes, 0.9) FROM request_sequence
            UNION ALL SELECT 'seek', quantile_cont(abs(seek_bytes), 0.5), quantile_cont(abs(seek_bytes), 0.9)
            FROM request_sequence WHERE seek_bytes <> 0 HAVING count(*) > 0"""
        )
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], rel=1e-12)
