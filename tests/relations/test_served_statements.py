"""What PostgreSQL 18's I/O workers read for a statement, or its own ring of io_uring, is that statement's."""

from pathlib import Path

import pytest

from iowhy.reports import run
from tests.relations.test_statements import LONG, OTHER, SHORT, Server, rested, times
from tests.whys.made import FS, MS, START

SERVED, RING = "IO: AioIoCompletion", "IO: AioIoUringExecution"


def scan() -> Server:
    """A long run that sleeps for a worker in three of four readings that find it asleep; the worker has read all of a table."""
    story = Server(2.0).thread(20, 20, user=0.2).thread(30, 30, blocked=0.5).file(7, "/pg/base/5/7")
    story.tables["threads"][-1] |= {"title": "postgres: main: io worker 0"}
    story.statement(LONG, "SELECT a").statement(OTHER, "SELECT b")
    for at, wait in ((0, SERVED), (400, "Lock: relation"), (800, SERVED), (1200, SERVED)):
        story.reading(20, LONG, at * MS, -MS, None, span=400 * MS, readings=8, wait=wait)
    for number in range(10):
        parts = {"blocked_ns": 9 * MS, "cpu_ns": MS}
        at = START + (100 + 100 * number) * MS
        story.call(at, "preadv", parts, tid=30, ino=7, offset=number * 8192, bytes_=8192)
    return story


def test_sleep_while_a_worker_reads_for_it_is_for_reading(tmp_path: Path) -> None:
    rows = run(scan().made(tmp_path / "x.iowhy"), "statements").to_pylist()
    row = next(one for one in rows if one["statement"] == "SELECT a")
    assert (row["read_ns"], row["server_ns"]) == (pytest.approx(1200 * MS), pytest.approx(400 * MS))
    assert (row["calls"], row["read_bytes"]) == (10, 81920)
    assert (row["object"], row["object_reads"]) == ("/pg/base/5/7", "cold")


def test_reads_that_may_be_for_either_of_two_are_of_an_unknown_number_of_bytes(
    tmp_path: Path,
) -> None:
    story = scan().thread(21, 21, user=0.1)
    story.reading(21, OTHER, 0, -MS, None, span=500 * MS, readings=10, wait=SERVED)
    rows = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    found = {one["statement"]: one for one in rows}
    assert found["SELECT a"]["read_bytes"] is None and found["SELECT b"]["read_bytes"] is None
    assert found["SELECT b"]["read_ns"] == pytest.approx(1800 * MS)


def test_what_runs_beside_and_waits_for_something_else_has_none_of_them(tmp_path: Path) -> None:
    story = scan().thread(21, 21, user=0.1)
    story.reading(21, OTHER, 0, -MS, None, span=500 * MS, readings=10, wait="Timeout: PgSleep")
    rows = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    found = {one["statement"]: one for one in rows}
    assert found["SELECT a"]["read_bytes"] == 81920 and found["SELECT b"]["calls"] is None
    assert (found["SELECT b"]["read_ns"], found["SELECT b"]["server_ns"]) == (0, 1800 * MS)


def test_short_runs_wait_as_long_as_the_readings_that_met_them_did(tmp_path: Path) -> None:
    """Half of the 20 readings meet it while a worker reads for it."""
    story = Server(2.0).thread(20, 20, user=0.25)
    for number in range(20):
        at = number * 100 * MS
        wait = SERVED if number % 2 else None
        story.reading(20, SHORT, at, at - 2 * MS, at + 3 * MS, span=100 * MS, wait=wait)
    found = times(story, tmp_path)
    assert found[SHORT, "read"] == 1000 * MS and found[SHORT, "user"] == pytest.approx(500 * MS)
    assert (SHORT, "idle") not in found


@pytest.mark.parametrize("exact", [False, True])
def test_a_ring_s_wait_is_in_the_kernel_s_rows_unless_a_probe_saw_the_run(
    tmp_path: Path, exact: bool
) -> None:
    story = Server(2.0).thread(20, 20, user=0.25)
    if exact:
        story.stretch(20, LONG, 0, 2000 * MS, True, sleeping_ns=1500 * MS)
    story.reading(20, LONG, 0, -MS, None, span=2000 * MS, readings=40, wait=RING)
    found = times(story, tmp_path)
    assert found[LONG, "read" if exact else "idle"] == pytest.approx(1500 * MS)


def test_waits_of_uneven_runs_are_of_the_statement_whose_runs_readings_met_in_them(
    tmp_path: Path,
) -> None:
    """What came and went of both did not wait; 15 readings met long waits of one."""
    story = Server(3.0).thread(20, 20, user=0.4, blocked=0.3)
    for number in range(15):
        at = 2 * number * 90 * MS
        story.reading(20, SHORT, at, at - 30 * MS, at + 30 * MS, span=90 * MS)
        story.wait(START + at - 20 * MS, 50 * MS, "page_read", "read", tid=20)
        rested(story, 2 * number + 1, SHORT, MS, 40 * MS)
        ended = at + 42 * MS
        story.reading(20, OTHER, ended + 10 * MS, ended - MS, ended, span=0, readings=0)
    found = times(story, tmp_path)
    assert (OTHER, "read") not in found and found[SHORT, "read"] > 500 * MS
    assert found[OTHER, "user"] > 0


def test_operations_of_a_ring_count_as_calls_do(tmp_path: Path) -> None:
    story = Server(2.0).thread(20, 20, user=0.2).file(7, "/pg/base/5/7").statement(LONG, "SELECT a")
    story.reading(20, LONG, 0, -MS, None, span=2000 * MS, readings=40, wait=RING)
    for number in range(10):
        begun = START + number * 100 * MS
        story.add(
            "async_operations", submit_ns=begun, complete_ns=begun + 9 * MS, tgid=20, tid=20, ring=1, api="io_uring", op="readv",
            kind="read", ran="inline", flags=[], dev=FS, ino=7, offset=number * 8192, bytes=8192, moved_bytes=8192, results=1, ret=8192,
        )  # fmt: skip
    (row,) = run(story.made(tmp_path / "x.iowhy"), "statements").to_pylist()
    assert (row["calls"], row["read_bytes"], row["object_reads"]) == (10, 81920, "cold")
