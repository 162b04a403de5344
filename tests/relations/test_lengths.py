"""Percentiles from counted buckets, as of many values, are those of all values, as few are asked."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.recordings import Recording
from iowhy.relations import Relations, relation
from iowhy.whys.facts.owners import owners
from iowhy.whys.facts.requests import shape_sql, slow
from tests.examples import costly
from tests.reports.conftest import MS, Make, call, request, wait

#: About the borders of buckets, equal values, and all sizes.
LENGTHS = st.one_of(
    st.integers(0, 5),
    st.integers(1, 28_000)
    .map(lambda bucket: bucket**4 // 16**4)
    .flatmap(lambda border: st.integers(max(border - 1, 0), border + 1)),
    st.integers(0, 10**13),
)
ROWS = st.lists(
    st.tuples(LENGTHS, st.sampled_from(["fsync", "write"]), st.sampled_from([None, "read"])),
    min_size=1,
    max_size=60,
)


@contextmanager
def asked(recording: Recording, rows_of_few: int) -> Iterator[Relations]:
    """Its relations, as if so many rows at most were few."""
    with pytest.MonkeyPatch.context() as patched, Relations(recording) as opened:
        patched.setattr(relation, "FEW_IN_MEMORY", rows_of_few)
        assert ("bucket" in relation.relations()["call_percentiles"].body(opened.facts)) == (
            rows_of_few == 0
        )
        yield opened


@pytest.mark.parametrize("rows_of_few", [0, 1_000])
@costly(5)
@given(ROWS)
def test_lengths_are_those_of_quantile_cont(
    make: Make, rows_of_few: int, rows: list[tuple[int, str, str | None]]
) -> None:
    tables = {
        "syscalls": [call(at * MS, length, name) for at, (length, name, _) in enumerate(rows)],
        "waits": [
            wait(at * MS, length, "other" if name == "write" else "device_flush", syscall=within)
            for at, (length, name, within) in enumerate(rows)
        ],
    }
    with asked(make(tables), rows_of_few) as opened:
        for name, source, keys in (
            ("call_percentiles", "syscalls", "name"),
            ("sync_percentiles", "sync_calls", "name"),
            ("wait_percentiles", "waits", "reason, syscall"),
        ):
            found = opened.rows(f"SELECT {keys}, p50_ns, p99_ns FROM {name} ORDER BY {keys}")
            expected = opened.rows(
                f"""SELECT {keys}, quantile_cont(dur_ns, 0.5), quantile_cont(dur_ns, 0.99)
                FROM {source} GROUP BY {keys} ORDER BY {keys}"""
            )
            assert len(found) == len(expected)
            for one, other in zip(found, expected, strict=True):
                assert one[:-2] == other[:-2], name
                assert one[-2:] == pytest.approx(other[-2:], rel=1e-12), name


@pytest.mark.parametrize("rows_of_few", [0, 1_000])
@costly(5)
@given(st.lists(st.tuples(st.integers(1, 300), st.integers(0, 2**31)), min_size=1, max_size=40))
def test_request_lengths_are_those_of_quantile_cont(
    make: Make, rows_of_few: int, rows: list[tuple[int, int]]
) -> None:
    requests = [
        request(at * MS, MS, sector=sector, bytes=pages * 4096)
        for at, (pages, sector) in enumerate(rows)
    ]
    with asked(make({"block_requests": requests}), rows_of_few) as opened:
        found = opened.rows(
            "SELECT what, p50_bytes, p90_bytes FROM request_size_percentiles ORDER BY what"
        )
        expected = opened.rows(
            """SELECT 'bytes', quantile_cont(bytes, 0.5), quantile_cont(bytes, 0.9) FROM request_sequence
            UNION ALL SELECT 'seek', quantile_cont(abs(seek_bytes), 0.5), quantile_cont(abs(seek_bytes), 0.9)
            FROM request_sequence WHERE seek_bytes <> 0 HAVING count(*) > 0"""
        )
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one[0] == other[0]
        assert one[1:] == pytest.approx(other[1:], rel=1e-12)


@costly(5)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 5),
            st.one_of(st.none(), st.integers(0, 3 * MS), st.integers(MS, 20_000 * MS)),
        ),
        min_size=1,
        max_size=40,
    )
)
def test_the_shape_of_many_requests_is_told_as_that_of_few(
    make: Make, rows: list[tuple[int, int | None]]
) -> None:
    """Of few all values are kept, of many they are counted; the middle size of a file's is that of all values."""
    requests = [
        request(
            at * MS,
            length,
            "read" if pages < 3 else "write",
            bytes=pages * 4096,
            owner_ino=pages % 2 + 2,
        )
        for at, (pages, length) in enumerate(rows)
    ]
    with Relations(make({"block_requests": requests})) as opened:
        for way in ("true", "op = 'read'", "op = 'write'"):
            (few,) = opened.rows(shape_sql(80, way, slow(None), few=True))
            (many,) = opened.rows(shape_sql(80, way, slow(None), few=False))
            assert [value is None for value in many] == [value is None for value in few], way
            for one, other in zip(many, few, strict=True):
                assert one is None or one == pytest.approx(other, rel=1e-12), way
        by_file = opened.rows(
            "SELECT owner_ino, median(bytes) FROM block_requests GROUP BY owner_ino ORDER BY owner_ino"
        )
        found = sorted((one.ino, one.median_bytes) for one in owners(opened, 80, 1.0))
        assert found == by_file
