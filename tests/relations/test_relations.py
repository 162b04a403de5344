"""Relations: how they are described, picked, put in front of a statement and kept on a connection."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.schema import tables
from iowhy.relations import RecordedFacts, Relations, relations
from iowhy.relations.compose import Everything, compose
from iowhy.relations.facts import MOST_SLICES
from iowhy.relations.relation import FEW_TO_GROUP, WITHOUT_THREADS, chosen, named_in, parse
from iowhy.relations.rows import typed
from tests.problems import wrong
from tests.reports.conftest import MS, Make, request

FACTS = RecordedFacts(
    0,
    10,
    10,
    2,
    None,
    4096,
    frozenset({"waits"}),
    {"waits": 3, "files": 1, "thread_time": 1, "call_sums": 2},
)
HEADER = "-- title: x\n-- column a: b, count\n"


@pytest.mark.parametrize(
    ("elapsed_s", "slice_s"),
    [
        (10, 0.1),
        (11, 1),
        (6001, 60),
        (14 * 86400, 60),
        (14 * 86400 + 1, 120),
        (3_000_000_000, 148_860),
    ],
)
def test_a_recording_has_so_many_slices_at_most_however_long_it_says_it_took(
    elapsed_s: int, slice_s: float
) -> None:
    facts = replace(FACTS, elapsed_ns=elapsed_s * 10**9)
    assert facts.slice_ns == slice_s * 1e9
    assert facts.elapsed_ns / facts.slice_ns <= MOST_SLICES


def test_each_relation_gives_the_columns_it_describes(make: Make) -> None:
    with Relations(make({"block_requests": [request(0, MS)]})) as opened:
        for name, one in relations().items():
            given = {row[0] for row in opened.rows(f"DESCRIBE SELECT * FROM {name}")}
            described = one.columns or tables()[name].columns
            assert {column.name for column in described} <= given, name


def test_sums_are_the_recorders_where_it_wrote_them_else_by_the_rows() -> None:
    assert chosen("call_sums", FACTS) is None
    assert chosen("call_sums", FACTS.without_sums()) is relations()["_call_rows"]
    many = replace(FACTS, rows={"syscalls": FEW_TO_GROUP + 1})
    assert chosen("call_sums", many) is relations()["call_sums"]
    assert chosen("wait_sums", FACTS) is relations()["wait_sums"]
    assert chosen("waits", FACTS) is None


def test_without_timed_threads_the_budget_is_of_texts() -> None:
    for name, other in WITHOUT_THREADS.items():
        assert chosen(name, FACTS) is relations()[name]
        for without in (replace(FACTS, elapsed_ns=0), replace(FACTS, rows={})):
            assert chosen(name, without) is relations()[other]
        columns = [[one.name for one in relations()[name].columns] for name in (name, other)]
        assert columns[0] == columns[1]


@pytest.mark.parametrize(
    ("text", "id_", "values"),
    [
        ("SELECT 1", "header-key-missing", {"key": "title"}),
        ("-- title: x\nSELECT 1", "sql-without-columns", {}),
        (HEADER, "sql-only-header", {}),
        (
            HEADER + "-- filtered as: wits\nSELECT 1",
            "sql-filtered-unknown",
            {"filtered_as": "wits"},
        ),
        (HEADER + "-- kept: ever\nSELECT 1", "sql-kept-unknown", {}),
        (
            "-- title: x\n-- column a: b, miles\nSELECT 1",
            "unit-unknown",
            {"where": "x.sql:2", "unit": "miles"},
        ),
        (HEADER + "-- percentiles by: b\nSELECT 1", "sql-percentiles-wrong", {"keys": "b"}),
        (
            HEADER + "-- column mean_ns: c, ns\n-- percentiles by: a\nSELECT 1",
            "sql-columns-wrong",
            {},
        ),
    ],
)
def test_a_wrong_relation_is_refused(text: str, id_: str, values: dict[str, object]) -> None:
    with wrong(id_, **values):
        parse("x", text)


def test_names_in_comments_strings_and_own_definitions_do_not_count() -> None:
    sql = """WITH waits AS (SELECT 1) -- files
    SELECT 'block_requests', f.stacks FROM main.syscalls f, recording JOIN waits ON true"""
    assert named_in(sql) == {"main.syscalls", "recording"}


def test_what_is_read_as_recorded_has_the_recorded_rows_of_what_it_uses() -> None:
    """`command_data_requests` is filtered like requests, and so are its rows; jumps are among all of them."""

    class Late(Everything):
        def where(self, table: str) -> str | None:
            return "queue_ns >= 5" if table == "block_requests" else None

    sql = compose("SELECT * FROM command_requests", FACTS, Late())
    assert "command_requests AS" in sql
    assert sql.count("queue_ns >= 5") == 1
    assert "main.block_requests" in sql


def test_a_relation_is_made_once_and_when_first_named(make: Make) -> None:
    with Relations(make({"block_requests": [request(0, MS), request(MS, MS)]})) as opened:
        own = ", ".join(f"'{name}'" for name in relations())
        kept = f"SELECT count(*) FROM duckdb_tables() WHERE table_name IN ({own})"
        assert opened.rows(kept) == [(0,)]
        for _ in range(2):
            assert opened.rows("SELECT seek_bytes FROM request_sequence ORDER BY sent_ns") == [
                (None,),
                (-4096,),
            ]
        # Itself and what it selects from, one after the other: of few rows all are kept.
        assert opened.rows(f"{kept} -- again") == [(6,)]


def test_one_record_of_several_queries_and_of_what_is_known(make: Make) -> None:
    with Relations(make({})) as opened:
        one = opened.one(Some, "SELECT 3 AS count", "SELECT 1 AS share, 'x' AS name", name="y")
        assert one == Some(3, 1.0, "x")
        pair = "SELECT 'a' AS key, 1 AS count, NULL AS share UNION ALL SELECT NULL, 2, 0.5 ORDER BY count"
        assert opened.by(Some, pair) == {("a",): Some(1, None), (None,): Some(2, 0.5)}
        assert opened.first(Some, "SELECT 1 AS count, 1 AS share WHERE false") is None
        assert opened.values(float, "SELECT unnest([1, 2])") == [1.0, 2.0]
        assert opened.value(float, "SELECT sum(1)") == 1.0
        assert opened.value(int, "SELECT NULL") is opened.value(int, "SELECT 1 WHERE false") is None
        with pytest.raises(TypeError, match="the query"):
            opened.value(int, "SELECT 'x'")


class Some(Struct, frozen=True):
    count: int
    share: float | None
    name: str | None = None


@given(st.integers(), st.none() | st.integers() | st.floats(allow_nan=False), st.none() | st.text())
def test_rows_keep_their_values(count: int, share: float | None, name: str | None) -> None:
    (row,) = typed(Some, ["name", "count", "share"], [(name, count, share)])
    assert row.count == count and row.name == name
    assert row.share is None if share is None else math.isclose(row.share or 0.0, share)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        (["count", "share"], (None, 0.5)),
        (["count", "share"], (1, "0.5")),
        (["count", "share"], (True, 0.5)),
        (["count", "share"], (1.5, 0.5)),
        (["count"], (1,)),
        (["count", "share", "more"], (1, 0.5, 1)),
    ],
)
def test_rows_of_another_shape_are_an_error(columns: list[str], row: tuple[object, ...]) -> None:
    with pytest.raises(TypeError, match="Some"):
        typed(Some, columns, [row])
