"""The first rows of a report are those of the whole, whatever is read for them."""

from hypothesis import given
from hypothesis import strategies as st

from iowhy.reports import Filters, find, result_of, run
from iowhy.reports.report import parse
from tests.problems import wrong
from tests.reports.conftest import T0, Make, call, request, wait

moments = st.integers(0, 12)


@given(
    calls=st.lists(st.tuples(moments, moments, st.integers(10, 12)), max_size=12),
    waits=st.lists(st.tuples(moments, moments), max_size=6),
    requests=st.lists(st.tuples(moments, st.none() | moments), max_size=6),
    first=st.integers(0, 20),
    filters=st.sampled_from(
        [Filters(), Filters(until="6ns"), Filters(since="3ns"), Filters(file="a")]
    ),
)
def test_the_first_events_are_those_of_all(
    make: Make,
    calls: list[tuple[int, int, int]],
    waits: list[tuple[int, int]],
    requests: list[tuple[int, int | None]],
    first: int,
    filters: Filters,
) -> None:
    rec = make(
        {
            "files": [{"dev": 1, "ino": 2, "path": "/a", "kind": "file"}],
            "syscalls": [call(at, dur, "read", tid=tid) for at, dur, tid in calls],
            "waits": [wait(at, dur, "page_read") for at, dur in waits],
            "block_requests": [request(at, dur) for at, dur in requests],
        }
    )
    whole = run(rec, "events", filters)
    with result_of(rec, "events", filters, first) as result:
        table, rows = result.head(first)
    key = ["at_s", "tid", "event", "name", "since_ns", "path", "ret"]
    assert rows == whole.num_rows
    assert table.num_rows == min(first, whole.num_rows)
    assert table.types == whole.types
    for name in key[:4]:
        assert table.column(name) == whole.column(name)[:first]
    by_moment = [
        sorted(map(str, zip(*(part.column(name) for name in key), strict=True)))
        for part in (table, whole.head(first))
    ]
    # Of events that are the same in all that orders them, either may come first.
    if len(set(map(tuple, zip(*(whole.column(n) for n in key[:4]), strict=True)))) == rows:
        assert by_moment[0] == by_moment[1]


@given(
    requests=st.lists(
        st.tuples(moments, moments, st.integers(80, 81), st.booleans()), max_size=12, unique=True
    ),
    first=st.integers(0, 14),
    filters=st.sampled_from(
        [Filters(), Filters(until="6ns"), Filters(since="3ns"), Filters(pids=(10,))]
    ),
)
def test_the_first_addresses_are_those_of_all(
    make: Make,
    requests: list[tuple[int, int, int, bool]],
    first: int,
    filters: Filters,
) -> None:
    """A request goes to the driver later than it is queued, and what was queued before it may go after it."""
    rows = [
        request(queued, 50, dev=dev, sector=8 * number * number, in_scope=own)
        | {"issue_ns": T0 + queued + waited, "tgid": 10 if own else 99, "tid": 10 if own else 99}
        for number, (queued, waited, dev, own) in enumerate(requests)
    ]
    rec = make({"block_requests": [*rows, request(13, 1)]})
    whole = run(rec, "addresses", filters)
    with result_of(rec, "addresses", filters, first) as result:
        table, found = result.head(first)
    assert found == whole.num_rows
    assert table.to_pylist() == whole.head(first).to_pylist()


def test_a_sum_beyond_64_bits_is_a_fraction_or_a_message(make: Make) -> None:
    from iowhy.reports.engine import query, query_result

    rec = make({"syscalls": [call(0, 1, "read")]})
    large = "SELECT sum(range) * 9223372036854775807 AS s FROM range(10)"
    assert query(rec, large).column("s") == [45.0 * 2**63]
    # The first rows fit, a later one does not.
    late = """SELECT CASE WHEN range = 299999 THEN CAST(18446744073709551616 AS HUGEINT) ELSE CAST(range AS HUGEINT) END
    AS s FROM range(300000)"""
    with query_result(rec, late) as result, wrong("sum-beyond-64-bits"):
        result.table()


def test_an_order_is_of_a_relation_that_there_is() -> None:
    assert find("events").in_order_of == ("command_events", "ts_ns")
    head = "-- title: t\n-- question: q\n-- in order of: {}\nSELECT 1"
    for text in ("nothing.ts_ns", "command_events.nothing", "command_events"):
        with wrong("order-not-relation-column", text=text):
            parse("x", head.format(text), "x.sql")
