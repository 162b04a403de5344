"""What the recorder sums up of requests by second, process, length and time, against the rows."""

from collections import Counter
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iowhy.relations import Relations
from iowhy.whys.facts.owners import owners
from iowhy.whys.facts.requests import counted_shape_sql, shape_sql, slow
from tests.examples import costly
from tests.relations.test_jumps import MACHINE, Row, number
from tests.reports.conftest import MS, T0, Make, request

#: Some before the command, at its borders and after it; some whose end was not seen, and some that take far longer than others.
REQUESTS = st.lists(
    st.builds(
        lambda at, waited, length, over, op, dev, owner, ino, size, scope, kind, tgid, more: (
            request(
                at * MS,
                length,
                op,
                issue_ns=None if waited is None else T0 + at * MS + waited,
                over_by_ns=T0 + (at + over) * MS if length is None and over else None,
                dev=dev,
                owner_dev=owner,
                owner_ino=ino,
                owner_kind=kind,
                bytes=size,
                in_scope=scope,
                tgid=tgid,
                error=more and 5,
                requeues=more,
            )
        ),
        st.sampled_from([-1, 0, 1, 400, 990, 1_000, 1_001]),
        st.none() | st.integers(0, 3),
        st.none() | st.integers(1, 4) | st.sampled_from([MS, 15 * MS, 700 * MS, 2_500 * MS]),
        st.integers(0, 1_500),
        st.sampled_from(["read", "write", "write", "flush"]),
        st.sampled_from([70, 80, 80]),
        st.sampled_from([1, 5, None]),
        st.sampled_from([2, 3, None]),
        st.sampled_from([0, 4096, 4096, 8192, 65536]),
        st.sampled_from([True, True, True, False, None]),
        st.sampled_from(["data", "metadata", "unknown"]),
        st.sampled_from([10, 77, None]),
        st.sampled_from([None, 0, 1]),
    ),
    min_size=1,
    max_size=40,
)
SECOND = 1000 * MS
SUMMED = (
    "second_sums",
    "device_totals",
    "other_sums",
    "competing_load",
    "request_sizes",
    "service_times",
)


def summed_up(rows: Iterable[Row], start_ns: int, end_ns: int) -> dict[str, list[Row]]:
    """As the recorder does, which does not know what counts."""
    sums: dict[str, dict[tuple[object, ...], Row]] = {
        name: {} for name in ("second_sums", "other_sums", "size_sums", "service_sums")
    }
    for row in rows:
        queue, complete, issue = number(row["queue_ns"]), row["complete_ns"], row["issue_ns"]
        moves = row["op"] != "write" or row["bytes"] != 0
        in_run = moves and start_ns <= queue <= end_ns
        time = None if complete is None else number(complete) - queue
        sent = queue if issue is None else number(issue)
        service = None if complete is None else number(complete) - sent
        if in_run:
            over = row["over_by_ns"] if complete is None else complete
            second = None if over is None else (number(over) - start_ns) // SECOND
            keys = {name: row[name] for name in ("dev", "op", "in_scope")}
            keys |= {"unowned": row["owner_kind"] == "unknown", "second": second}
            served = service if issue is not None else None
            values = {"requests": 1, "bytes": row["bytes"], "seen": int(time is not None)}
            values |= {"served": int(served is not None), "failed": int(row["error"] == 5)}
            values |= {"time_ns": time, "service_ns": served, "requeues": row["requeues"]}
            add(sums["second_sums"], keys, values)
        if row["in_scope"] is False:
            keys = {name: row[name] for name in ("dev", "tgid", "owner_dev", "owner_ino")}
            cut = None if complete is None else min(number(complete), end_ns) - queue
            values = {
                "all_time_ns": time,
                "requests": int(in_run),
                "time_ns": cut if in_run else None,
            }
            add(sums["other_sums"], keys, values)
        if row["in_scope"] is True and row["op"] != "flush" and row["bytes"]:
            keys = {name: row[name] for name in ("dev", "op", "owner_dev")}
            of_file = {"owner_ino": row["owner_ino"], "bytes": row["bytes"]}
            add(sums["size_sums"], keys | of_file, {"requests": 1})
            add(sums["service_sums"], keys | {"service_ns": service}, {"requests": 1})
    return {name: list(groups.values()) for name, groups in sums.items() if groups}


def add(groups: dict[tuple[object, ...], Row], keys: Row, values: Row) -> None:
    found = groups.setdefault(tuple(keys.values()), {**keys, **dict.fromkeys(values)})
    for name, value in values.items():
        if value is not None:
            found[name] = number(found[name] or 0) + number(value)


@costly(6)
@given(REQUESTS)
def test_sums_and_rows_tell_the_same(make: Make, requests: list[Row]) -> None:
    sums = summed_up(requests, T0, T0 + SECOND)
    with Relations(make({**MACHINE, "block_requests": requests, **sums})) as summed:
        assert (summed.facts.start_ns, summed.facts.end_ns) == (T0, T0 + SECOND)
        assert all(summed.has(name) for name in sums)
        with Relations(summed.recording) as counted:
            counted.facts = counted.facts.without_sums()
            for name in SUMMED:
                assert plain(summed, name) == plain(counted, name), name
            for dev in (70, 80):
                assert owners(summed, dev, 1.0) == owners(counted, dev, 1.0)
                for way in ("true", "op = 'read'", "op = 'write'"):
                    (found,) = summed.rows(counted_shape_sql(dev, way, slow(None)))
                    (expected,) = counted.rows(shape_sql(dev, way, slow(None), few=True))
                    assert [one is None for one in found] == [one is None for one in expected]
                    # The line between two values is rounded by either in its own way.
                    for one, other in zip(found, expected, strict=True):
                        assert one is None or one == pytest.approx(other, rel=1e-12), way


def plain(relations: Relations, name: str) -> Counter[tuple[object, ...]]:
    """The rows of a relation, in any order; what the recorder counted of one kind is several groups where files differ."""
    return Counter(relations.rows(f"SELECT * FROM {name}"))
