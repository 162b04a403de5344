"""What statements of a database take: of long runs exactly, of short ones by readings."""

from pathlib import Path
from typing import Any

import pytest

from iowhy.comparisons.changed_statements import changed_statements
from iowhy.relations import Relations
from iowhy.reports import run
from iowhy.views.top.levels import pages_of
from iowhy.watching.asked import Asked
from iowhy.watching.moment import look
from tests.whys.made import MS, START, Story

LONG, SHORT, OTHER = "1", "2", "3"


class Server(Story):
    """Sessions whose server shows what they run."""

    def reading(
        self, tid: int, statement: str, at: int, began: int, ended: int | None, **more: Any
    ) -> "Server":
        return self.add(
            "statement_readings", ts_ns=START + at, span_ns=more.pop("span", 50 * MS), readings=more.pop("readings", 1),
            tgid=tid, tid=tid, statement_id=statement, began_ns=START + began,
            ended_ns=None if ended is None else START + ended, exact=ended is not None,
            **{"backend": "client backend"} | more,
        )  # fmt: skip

    def statement(self, id_: str, text: str) -> "Server":
        return self.add(
            "statements", statement_id=id_, text=text, server="PostgreSQL 15", database="shop"
        )

    def stretch(
        self, tid: int, statement: str, at: int, dur: int, begins: bool, **more: int
    ) -> "Server":
        """Of a thread that a probe saw; all of it on a CPU, unless it is said."""
        return self.add(
            "statement_calls", ts_ns=START + at, dur_ns=dur, tgid=tid, tid=tid, statement_id=statement, begins=begins,
            **{"time_ns": dur, "kernel_ns": 0, "runnable_ns": 0, "blocked_ns": 0, "sleeping_ns": 0} | more,
        )  # fmt: skip


def times(story: Story, folder: Path) -> dict[tuple[str, str], int]:
    with Relations(story.made(folder / "x.iowhy")) as opened:
        found = opened.rows(
            "SELECT statement_id, class, exact_ns + sampled_ns FROM statement_times"
        )
    return {(statement, cls): ns for statement, cls, ns in found}


def test_a_long_run_has_what_its_thread_did_between_its_begin_and_end(tmp_path: Path) -> None:
    """From 0.95 to 2.05 s the session works, else it sleeps for its client: no interval begins or ends with the run."""
    story = Server(4.0).thread(20, 20)
    for row in story.tables["thread_time"]:
        at = row["ts_ns"] - START
        inside = max(0, min(at + 100 * MS, 2050 * MS) - max(at, 950 * MS))
        row |= {
            "cpu_user_ns": inside * 3 // 4,
            "blocked_ns": inside // 4,
            "sleeping_ns": 100 * MS - inside,
        }
    story.reading(20, LONG, 980 * MS, 950 * MS, 2050 * MS)
    found = times(story, tmp_path)
    assert found[LONG, "user"] == pytest.approx(825 * MS, rel=0.001)
    assert found[LONG, "unexplained"] == pytest.approx(275 * MS, rel=0.001)
    assert (LONG, "idle") not in found


def test_sleep_within_a_run_is_its_own(tmp_path: Path) -> None:
    story = (
        Server(2.0)
        .thread(20, 20, user=0.25)
        .reading(20, LONG, 0, -5 * MS, None, span=2000 * MS, readings=40)
    )
    found = times(story, tmp_path)
    assert found[LONG, "idle"] == pytest.approx(1500 * MS)
    assert found[LONG, "user"] == pytest.approx(500 * MS)


def test_short_runs_are_divided_by_what_the_kernel_says_of_the_moment(tmp_path: Path) -> None:
    """Each of 20 readings meets a run of 5 ms: three quarters of one that computes, a quarter of one that waits to read."""
    story = Server(2.0).thread(20, 20, user=0.75, blocked=0.25)
    for number in range(20):
        at = number * 100 * MS
        story.wait(START + at + 75 * MS, 25 * MS, "page_read", "read", tid=20)
        reads = number % 4 == 0
        moment = at + (80 if reads else 30) * MS
        story.reading(
            20, OTHER if reads else SHORT, moment, moment - 2 * MS, moment + 3 * MS, span=100 * MS
        )
    found = times(story, tmp_path)
    assert found[SHORT, "user"] == pytest.approx(1500 * MS, rel=0.01)
    assert found[OTHER, "read"] == pytest.approx(500 * MS, rel=0.01)
    assert (SHORT, "read") not in found and (OTHER, "user") not in found


def test_a_session_s_time_is_its_own_statements_however_often_others_were_met(
    tmp_path: Path,
) -> None:
    """Both compute as much; readings met the one three times as often, as the other's runs are shorter."""
    story = Server(2.0).thread(20, 20, user=0.5).thread(21, 21, user=0.5)
    for number in range(12):
        at = number * 150 * MS
        story.reading(20, SHORT, at, at - 2 * MS, at + 3 * MS, span=150 * MS)
        if number % 3 == 0:
            story.reading(21, OTHER, at, at - 2 * MS, at + 3 * MS, span=150 * MS)
    found = times(story, tmp_path)
    assert found[SHORT, "user"] == found[OTHER, "user"] == pytest.approx(1000 * MS, rel=0.01)


def rested(story: Server, number: int, statement: str, took: int, rest: int) -> None:
    """A run that had ended when a reading met it, anywhere in its session's rest: ten in turn for each of two statements."""
    ended = number * 90 * MS + took
    met = ended + rest * (number // 2 % 10) // 9
    story.reading(20, statement, met, ended - took, ended, span=0, readings=0)


def test_runs_that_came_and_went_say_how_long_they_take_however_seldom_readings_met_them(
    tmp_path: Path,
) -> None:
    """Of two statements that run as often, one takes 3 ms, the other 1 ms; readings met only the other one."""
    story = Server(2.0).thread(20, 20, user=0.5)
    for number in range(20):
        rested(story, number, SHORT if number % 2 else OTHER, MS if number % 2 else 3 * MS, 40 * MS)
    story.reading(20, SHORT, 1900 * MS, 1899 * MS, 1901 * MS)
    found = times(story, tmp_path)
    # Met eleven and ten times, in cycles of 41 and 43 ms.
    assert found[OTHER, "user"] / found[SHORT, "user"] == pytest.approx(
        (10 * 3 / 43) / (11 * 1 / 41), rel=0.01
    )
    # The session is on a CPU for 1 s: all but the 40 ms of its runs is between them. A reading that met one is 50 ms.
    assert sum(found.values()) == pytest.approx(50 * MS, rel=0.1)


def test_what_a_session_does_as_it_begins_and_ends_is_no_statement_s(tmp_path: Path) -> None:
    """Of 160 ms, readings met 50; a session that was there all the time has all of its own."""
    story = Server(2.0).thread(20, 20).thread(21, 21, user=0.08)
    story.tables["threads"][-2] |= {"start_ns": START + 500 * MS, "end_ns": START + 1500 * MS}
    for row in story.tables["thread_time"]:
        if row["tid"] == 20 and 900 * MS <= row["ts_ns"] - START < 1100 * MS:
            row |= {"cpu_user_ns": 80 * MS, "sleeping_ns": 20 * MS}
    story.reading(20, SHORT, 1000 * MS, 999 * MS, 1004 * MS)
    story.reading(21, OTHER, 1000 * MS, 999 * MS, 1004 * MS)
    found = times(story, tmp_path)
    assert found[SHORT, "user"] == pytest.approx(50 * MS, rel=0.05)
    assert found[OTHER, "user"] == pytest.approx(160 * MS, rel=0.01)


def test_the_interval_counts_a_reading_once_whatever_classes_it_stands_for(tmp_path: Path) -> None:
    """16 readings on a CPU are shared by four classes; the interval is that of 16: 49 % to each side."""
    story = Server(2.0).thread(20, 20, user=0.4, kernel=0.2, runnable=0.2)
    for number in range(16):
        at = number * 120 * MS
        story.reading(20, SHORT, at, at - 2 * MS, at + 3 * MS, span=120 * MS)
    (row,) = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    assert row["high_ns"] / row["time_ns"] == pytest.approx(1.49, abs=0.01)
    assert row["low_ns"] / row["time_ns"] == pytest.approx(0.51, abs=0.01)


def test_the_report_says_who_holds_the_lock_and_what_is_no_statement_s(tmp_path: Path) -> None:
    story = Server(2.0).thread(20, 20).thread(21, 21, user=0.1).thread(5, 5, user=0.05)
    story.tables["threads"][-1] |= {"comm": "postgres", "title": "postgres: checkpointer"}
    story.reading(
        20,
        LONG,
        0,
        0,
        2000 * MS,
        span=2000 * MS,
        readings=40,
        wait="Lock: transactionid",
        holder_tid=21,
    )
    story.reading(21, OTHER, 0, -5 * MS, -MS, span=0, readings=0)
    story.statement(LONG, "UPDATE a SET b = ?").statement(OTHER, "SELECT <script>")
    rows = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    first, server = rows
    assert (first["statement"], first["database"], first["runs"]) == (
        "UPDATE a SET b = ?",
        "shop",
        1,
    )
    assert first["server_ns"] == first["lock_ns"] == pytest.approx(2000 * MS)
    assert first["holder"] == "SELECT <script>" and first["exact_share"] == 1.0
    assert server["statement"] == "postgres: checkpointer" and server["statement_id"] is None
    assert server["time_ns"] == pytest.approx(100 * MS)


def test_a_server_that_cannot_be_read_has_its_processes_by_their_titles(tmp_path: Path) -> None:
    story = Server(2.0).thread(20, 20, user=0.5).thread(21, 21, user=0.1)
    for row, title in zip(
        story.tables["threads"][-2:], ("joe shop idle", "walwriter"), strict=True
    ):
        row |= {"comm": "postgres", "title": f"postgres: {title}", "ppid": 5}
    rows = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    assert [(row["statement"], row["statement_id"]) for row in rows] == [
        ("postgres: joe shop idle", None),
        ("postgres: walwriter", None),
    ]
    assert rows[0]["time_ns"] == pytest.approx(1000 * MS)


def probed(waited: int) -> Server:
    """Two runs of one statement, in which one wait and one call of two are, and one of another."""
    story = Server(2.0).thread(20, 20).file(7, "/data/a.db")
    story.stretch(20, SHORT, 100 * MS, 10 * MS, True, blocked_ns=waited, kernel_ns=MS)
    story.stretch(20, SHORT, 110 * MS, 5 * MS, False)
    story.stretch(20, SHORT, 300 * MS, 5 * MS, True, runnable_ns=2 * MS)
    story.stretch(20, LONG, 500 * MS, MS, True)
    story.wait(START + 102 * MS, waited, "page_read", "read", tid=20)
    story.wait(START + 200 * MS, 50 * MS, "page_read", "read", tid=20)
    for at, size in ((101, 4096), (199, 8192)):
        story.call(START + at * MS, "pread64", {"cpu_ns": MS}, tid=20, ino=7, offset=0, bytes_=size)
    return story.statement(SHORT, "SELECT a").statement(LONG, "SELECT b")


def test_what_probes_saw_is_exact_and_what_is_between_belongs_to_no_statement(
    tmp_path: Path,
) -> None:
    story = probed(4 * MS).thread(30, 30)
    story.tables["threads"][-1] |= {"title": "postgres: parallel worker for PID 20"}
    rows = {
        row["statement"]: row
        for row in run(
            story.stretch(30, LONG, 500 * MS, MS, True).made(tmp_path / "x.iowhy"), "statements"
        ).to_pylist()
    }
    first = rows["SELECT a"]
    assert (first["runs"], first["time_ns"], first["low_ns"], first["high_ns"]) == (
        2,
        *[20 * MS] * 3,
    )
    assert (first["read_ns"], first["runnable_ns"], first["cpu_ns"]) == (4 * MS, 2 * MS, 14 * MS)
    assert (first["calls"], first["read_bytes"], first["exact_share"]) == (1, 4096, 1.0)
    # A worker's time counts, and not as another run.
    assert (rows["SELECT b"]["runs"], rows["SELECT b"]["time_ns"]) == (1, 2 * MS)
    assert rows["SELECT b"]["calls"] is None


def test_a_comparison_says_which_statement_became_slower_and_why(tmp_path: Path) -> None:
    with (
        Relations(probed(MS).made(tmp_path / "a.iowhy")) as before,
        Relations(
            probed(9 * MS).stretch(20, LONG, 600 * MS, 30 * MS, True).made(tmp_path / "b.iowhy")
        ) as after,
    ):
        (found,) = changed_statements(before, after)
    assert (found.statement, found.before_runs, found.after_runs) == ("SELECT b", 1, 2)
    assert (found.before_ns, found.after_ns, found.part) == (MS, 15.5 * MS, "computing")


@pytest.mark.parametrize("reading", [True, False])
def test_and_of_which_table_its_reads_are_and_what_it_spills(tmp_path: Path, reading: bool) -> None:
    """A table that was cached, and a sort that had memory enough."""
    sides = []
    for after in (False, True):
        story = Server(2.0).thread(20, 20).statement("a", "SELECT a").file(7, "/pg/base/5/16384")
        story.file(8, "/pg/base/pgsql_tmp/pgsql_tmp20.0")
        story.add("database_files", path="/pg/base/5/16384", object="public.item")
        slow = 30 * MS if after else 0
        waits = {"blocked_ns": slow} if reading else {"sleeping_ns": slow}
        for number in range(10):
            at = number * 60
            story.stretch(20, "a", at * MS, 10 * MS + slow, True, **waits)
            begins, parts = START + (at + 1) * MS, {"blocked_ns": slow * reading, "cpu_ns": MS}
            story.call(begins, "pread64", parts, tid=20, ino=7, offset=number * 8192, bytes_=8192)
            if after:
                story.wait(begins, slow * reading, "page_read", "pread64", tid=20)
                begins += MS + slow
                story.call(
                    begins, "pwrite64", {"cpu_ns": MS}, tid=20, ino=8, offset=0, bytes_=1 << 20
                )
        sides.append(Relations(story.made(tmp_path / f"{after}.iowhy")))
    with sides[0] as first, sides[1] as second:
        (found,) = changed_statements(first, second)
    assert (found.before_ns, found.after_ns) == (10 * MS, 40 * MS)
    assert found.part == ("reading" if reading else "sleeping")
    assert (found.object, found.spilled_bytes) == ("public.item", 1 << 20)
    assert found.reads == ("cold" if reading else "cached")


def test_one_run_of_a_short_statement_is_as_long_as_the_server_says_or_not_known(
    tmp_path: Path,
) -> None:
    """Readings meet a few of its runs: its time is that of all of them."""
    before = Server(2.0).thread(20, 20, user=0.5).statement(SHORT, "SELECT a")
    after = Server(2.0).thread(20, 20, user=0.5).statement(OTHER, "SELECT b")
    for number in range(20):
        rested(before, number, SHORT, 2 * MS, 3 * MS)
        after.reading(20, OTHER, number * 90 * MS, number * 90 * MS - MS, number * 90 * MS + MS)
    with (
        Relations(before.made(tmp_path / "a.iowhy")) as first,
        Relations(after.made(tmp_path / "b.iowhy")) as second,
    ):
        found = {one.statement: one for one in changed_statements(first, second)}
    assert found["SELECT a"].before_ns == 2 * MS
    assert found["SELECT b"].after_runs == 20 and found["SELECT b"].after_ns is None


def test_the_live_view_has_a_table_of_them(tmp_path: Path) -> None:
    moment = look(probed(MS).write(tmp_path / "x.iowhy").path, Asked())
    page = pages_of(moment, ())[-1]
    assert page.title == "Statements"
    assert [row["statement"] for row in page.rows] == ["SELECT a", "SELECT b"]


def reads(story: Server, statement: str, at: int, ino: int, offset: int, **parts: int) -> None:
    story.stretch(20, statement, at * MS, 10 * MS, True)
    story.call(START + (at + 1) * MS, "pread64", parts, tid=20, ino=ino, offset=offset, bytes_=8192)


def test_of_a_statement_it_is_known_what_it_reads_most_of_and_from_where(tmp_path: Path) -> None:
    story = Server(2.0).thread(20, 20).file(7, "/pg/base/5/16384").file(8, "/pg/base/5/16389")
    story.file(9, "/pg/base/5/9")
    story.add("database_files", path="/pg/base/5/16384", object="public.item")
    story.add("database_files", path="/pg/base/5/16389", object="item_pkey (index of item)")
    waits, has = {"blocked_ns": 4 * MS, "cpu_ns": MS}, {"cpu_ns": MS}
    for number in range(10):
        # Of an index for the first time, and some of the table; a table that does not fit, again and again; one that does.
        reads(story, "a", number * 50, 8, number * 8192, **waits)
        reads(story, "b", number * 50 + 12, 7, number % 2 * 8192, **waits)
        reads(story, "c", number * 50 + 24, 9, number % 2 * 8192, **has)
    reads(story, "a", 600, 7, 99 * 8192, **waits)
    # A short run of which the server says when it ended; another session's call is not its.
    story.thread(21, 21, user=0.1).reading(21, "d", 700 * MS, 699 * MS, 703 * MS)
    story.call(START + 701 * MS, "pread64", has, tid=21, ino=7, offset=8 * 8192, bytes_=8192)
    story.call(START + 704 * MS, "pread64", waits, tid=21, ino=8, offset=8 * 8192, bytes_=8192)
    found = {
        row["statement"]: (row["object"], row["object_share"], row["object_reads"])
        for row in run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    }
    assert found == {
        "a": ("item_pkey (index of item)", pytest.approx(10 / 11), "cold"),
        "b": ("public.item", 1.0, "thrashed"),
        "c": ("/pg/base/5/9", 1.0, "cached"),
        "d": ("public.item", 1.0, "cached"),
    }
