"""Statements as a server's views show them: without literals, bounded, and never in the recorder's way."""

import json
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import msgspec
import psycopg
import pytest

from iowhy.recordings import added, open_recording
from iowhy.recordings.manifest import Manifest
from iowhy.recordings.writer import write_recording
from iowhy.relations import Relations
from iowhy.sources.statements import ANSWER_S, Sampling, merged, postgresql, refused, sampler
from iowhy.sources.statements.normalised import MOST_CHARACTERS, normalised, whole
from iowhy.sources.statements.sampler import Asked, Sampler, Told
from iowhy.sources.statements.server import Server, servers
from iowhy.sources.statements.session import Session
from tests.problems import wrong
from tests.whys.made import START, Story

MS = 1_000_000
SERVER = Server("postgresql", 10, "/run/.s.PGSQL.5432", 70, 70)
BEGIN = 1_700_000_000_000 * MS


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (
            "SELECT * FROM t WHERE a = 'x''y' AND b=-1.5e3 -- why\n",
            "SELECT * FROM t WHERE a = ? AND b=?",
        ),
        (
            'select 1 in (1,2, 3), $1, c2 from "Per Son" /* hint */;',
            'select ? in (?), $1, c2 from "Per Son"',
        ),
        ("INSERT INTO t VALUES (1,'a'),\n(2,'b')", "INSERT INTO t VALUES (?)"),
        ("ALTER ROLE me PASSWORD E'a\\'secret' VALID", "ALTER ROLE me PASSWORD ? VALID"),
        ("SELECT 'a\\', 'secret'", "SELECT ?"),
        ("DO $x$ secret 'a' $x$", "DO ?"),
        ("SELECT 'cut off by the server, sec", "SELECT ?"),
        ("SELECT U&'s', x'ab', 0xff, 1_000", "SELECT ?"),
        ("SELECT \x1b[31m\x00 <script>", "SELECT [?m <script>"),
    ],
)
def test_literals_and_comments_go(text: str, kept: str) -> None:
    assert normalised(text) == kept


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("SET PASSWORD = 'a\\'secret'", "SET PASSWORD = ?"),
        ('CREATE USER a@"%" IDENTIFIED BY "secret"', "CREATE USER a@? IDENTIFIED BY ?"),
        ("SELECT `a b` # secret\n FROM t", "SELECT `a b` FROM t"),
        ("SELECT _utf8mb4'secret'", "SELECT ?"),
    ],
)
def test_of_mysql_too(text: str, kept: str) -> None:
    assert normalised(text, mysql=True) == kept


def test_texts_are_bounded_and_whole_ones_have_no_passwords() -> None:
    assert len(normalised("SELECT " + "a," * 5_000_000)) <= MOST_CHARACTERS
    assert whole("ALTER USER me PASSWORD 'x'") is None
    assert whole("SELECT 'x'") == "SELECT 'x'"


def session(
    thread: int, text: str, began: int, ended: int | None = None, **more: object
) -> Session:
    at = None if ended is None else BEGIN + ended * MS
    return Session(thread, text, began_ns=BEGIN + began * MS, ended_ns=at, **more)  # type: ignore[arg-type]


def taken(*readings: list[Session], asked: Asked | None = None) -> Told:
    """What readings 50 ms after each other make."""
    made = Sampler(asked or Asked(SERVER))
    for number, sessions in enumerate(readings):
        made.take(sessions, BEGIN + number * 50 * MS, "PostgreSQL 15", {})
    return made.rows()


def test_equal_readings_of_a_run_are_one_and_its_end_is_the_server_s() -> None:
    told = taken(
        *[[session(20, "SELECT 1", -10)]] * 3,
        [session(20, "SELECT 1", -10, wait="IO: DataFileRead")],
        [session(20, "SELECT 1", -10, 180)],
    )
    first, second = told.readings
    assert (first["readings"], first["span_ns"]) == (3, 150 * MS)
    assert (second["readings"], second["wait"]) == (1, "IO: DataFileRead")
    assert second["ended_ns"] - second["began_ns"] == 190 * MS and second["exact"]
    assert [one["text"] for one in told.statements] == ["SELECT ?"]


def test_a_run_that_came_and_went_is_noted_once_and_one_without_an_end_ends_between_readings() -> (
    None
):
    told = taken(
        [session(20, "SELECT 1", -5, -2)],
        [session(20, "SELECT 1", -5, -2), session(21, "SELECT 2", 40)],
        [],
    )
    short, long = told.readings
    assert (short["readings"], short["span_ns"], short["exact"]) == (0, 0, True)
    assert long["ended_ns"] - long["began_ns"] == 35 * MS and not long["exact"]


def test_a_run_with_a_number_is_one_though_its_begin_seems_to_move() -> None:
    told = taken(
        [session(20, "SELECT 1", 0, run=7)],
        [session(20, "SELECT 1", 4, run=7)],
        [session(20, "SELECT 1", 4, run=8)],
    )
    assert [one["readings"] for one in told.readings] == [2, 1]


def test_a_run_whose_id_the_server_does_not_know_yet_is_the_statement_of_that_text() -> None:
    told = taken(
        [session(20, "SELECT 1", 0, id="77"), session(21, "SELECT 2", 0)],
        [session(20, "SELECT 3", 30), session(21, "SELECT 2", 0, id="77")],
    )
    assert [one["statement_id"] for one in told.statements] == ["77"]
    assert {one["statement_id"] for one in told.readings} == {"77"}


def test_nor_is_it_another_statement_once_the_server_knows_its_id() -> None:
    told = taken(
        [session(20, "SELECT 1", 0)],
        [session(20, "SELECT 1", 0, id="77"), session(21, "SELECT 2", 30, id="77")],
    )
    assert len(told.statements) == 1
    assert {one["statement_id"] for one in told.readings} == {told.statements[0]["statement_id"]}


def test_workers_and_locks_are_named_by_thread() -> None:
    told = taken(
        [
            session(21, "SELECT 1", 0, leader=20, backend="parallel worker"),
            session(22, "UPDATE t", 0, wait="Lock: tuple", holder=20),
        ]
    )
    assert told.readings[0]["leader_tid"] == 20 and told.readings[1]["holder_tid"] == 20


def test_nothing_grows_without_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampler, "MOST_READINGS", 50)
    monkeypatch.setattr(sampler, "MOST_STATEMENTS", 20)
    told = taken(
        *[
            [session(tid, f"SELECT * FROM t{n}_{tid}", n * 50) for tid in range(500)]
            for n in range(2)
        ]
    )
    assert len(told.readings) == 50 and told.lost == 950
    assert len(told.statements) == 21 and told.statements[-1]["statement_id"] == "others"


def test_whole_texts_only_where_they_are_asked_for() -> None:
    sessions = [session(20, "SELECT 'mine'", 0), session(21, "CREATE USER a PASSWORD 'secret'", 0)]
    assert "mine" not in msgspec.json.encode(taken(sessions)).decode()
    with_text = msgspec.json.encode(taken(sessions, asked=Asked(SERVER, text=True))).decode()
    assert "mine" in with_text and "secret" not in with_text


def test_a_server_that_does_not_answer_is_a_note_without_the_dsn() -> None:
    asked = Asked(SERVER, dsn="postgresql://me@nowhere/private")
    read = merged(
        [
            (asked, None),
            (asked, Told(failed=3, error="OperationalError 28000")),
            (asked, taken([session(2, "SELECT 1", 0)])),
        ]
    )
    assert len(read.notes) == 2 and "28000" in read.notes[1] and "private" not in str(read.notes)
    assert len(read.rows["statement_readings"]) == 1


def test_the_process_ends_with_its_pipe_though_the_server_hangs() -> None:
    """Its socket is nobody's: it cannot connect, and answers all the same."""
    command = [sys.executable, "-m", "iowhy.sources.statements.sampler"]
    asked = msgspec.json.encode(Asked(SERVER)) + b"\n"
    done = subprocess.run(
        command, input=asked, capture_output=True, timeout=ANSWER_S + 20, check=True
    )
    assert json.loads(done.stdout)["reads"] == 0


def test_where_there_is_no_server_it_is_said(tmp_path: Path) -> None:
    assert servers([1], tmp_path) == []
    with wrong("statements-no-server"):
        Sampling((1,), "", text=False)


@pytest.mark.parametrize(
    ("dsn", "refused"),
    [("host=/run user=me", False), ("postgresql://me:x@h/d", True), ("a b", True)],
)
def test_a_dsn_with_a_password_is_refused(dsn: str, refused: bool) -> None:
    pytest.importorskip("psycopg")
    assert postgresql.unreadable(dsn) is refused


def test_rows_are_added_to_a_recording_that_has_ended(tmp_path: Path) -> None:
    made = write_recording(tmp_path / "x.iowhy", Manifest.made(start_ns=0, end_ns=9), {})
    told = taken([session(20, "SELECT 1", 0)])
    added.add(
        made.path,
        {"statements": told.statements, "statement_readings": told.readings},
        {"statement_readings": 3},
        ["said"],
    )
    manifest = open_recording(made.path).manifest
    assert (
        manifest.tables["statement_readings"].kept == 1
        and manifest.tables["statement_readings"].lost == 3
    )
    assert manifest.notes == ("said",)


def test_for_the_agent_what_sessions_did_is_given_once_and_not_kept() -> None:
    made = Sampler(Asked(SERVER))
    for number in range(4):
        held = session(20, "SELECT 'secret'", -10, wait="Lock: tuple" if number > 1 else None)
        made.take([held], BEGIN + number * 50 * MS, "PostgreSQL 15", {})
    found = made.shares()
    assert [(text, wait, round(s, 3)) for _, text, wait, s in found] == [
        ("SELECT ?", "none", 0.1), ("SELECT ?", "Lock", 0.1),
    ]  # fmt: skip
    assert made.shares() == []


def test_a_session_whose_runs_readings_miss_has_its_true_share() -> None:
    """In 50 ms it runs for 30, and is read at any time after; another one is met all the time, and a third one now and then."""
    made = Sampler(Asked(SERVER))
    for number in range(40):
        at = number * 50
        rested = 20 * number / 39
        misses = session(20, "SELECT 1", at - rested - 30, at - rested)
        rare = [session(22, "SELECT a", at - 10, run=number)] if number % 10 == 0 else []
        made.take(
            [misses, session(21, "SELECT b", -10), *rare], BEGIN + at * MS, "PostgreSQL 15", {}
        )
    found = {text: seconds for _, text, _, seconds in made.shares()}
    assert found["SELECT ?"] == pytest.approx(40 * 0.05 * 30 / 50, rel=1e-3)
    assert found["SELECT b"] == pytest.approx(40 * 0.05)
    assert found["SELECT a"] == pytest.approx(4 * 0.05)
    assert made.shares() == []


def test_the_agent_divides_as_recordings_do(tmp_path: Path) -> None:
    """Short runs of one session, of which some are met: relations/statements/_short_weights.sql has the same readings."""
    made, readings = Sampler(Asked(SERVER)), []
    for number in range(60):
        at, took = number * 50, 7 + number % 23
        met = number % 4 == 0
        one = session(20, "SELECT 1", at - took, None if met else at - took // 3)
        made.take([one], BEGIN + at * MS, "PostgreSQL 15", {})
        readings.append(one)
    story = Story(4.0).thread(20, 20)
    start = min(row["began_ns"] for row in made.rows().readings) - 5 * MS
    for row in made.rows().readings:
        shift = START - start
        moved = {name: row[name] + shift for name in ("ts_ns", "began_ns", "ended_ns")}
        story.add("statement_readings", **row | moved)
    with Relations(story.made(tmp_path / "x.iowhy")) as opened:
        ((weight,),) = opened.rows("SELECT sum(weight) FROM _short_weights")
    ((_, _, _, seconds),) = made.shares()
    assert seconds == pytest.approx(weight * 0.05) and 0.5 < seconds < 3


def test_a_server_that_did_not_answer_for_a_while_is_noted() -> None:
    """Between two readings, and after the last one."""
    made = Sampler(Asked(SERVER))
    for at in (0, 50, 3_150):
        made.take([session(20, "SELECT 1", -10)], BEGIN + at * MS, "PostgreSQL 15", {})
    (note,) = merged([(Asked(SERVER), made.rows())]).notes
    assert "3.1 s" in note
    made = Sampler(Asked(SERVER))
    made.take([], BEGIN, "PostgreSQL 15", {})
    assert not merged([(Asked(SERVER), made.rows(BEGIN + 60 * MS))]).notes
    (note,) = merged([(Asked(SERVER), made.rows(BEGIN + 2_000 * MS))]).notes
    assert "2 s" in note


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('FATAL:  pg_hba.conf rejects connection for host "[local]", user "joe"', "pg_hba.conf"),
        ('FATAL:  password authentication failed for user "joe"', "authentication failed"),
        ("fe_sendauth: no password supplied", "PGPASSWORD"),
        ("secret text of whoever answers", "OperationalError"),
    ],
)
def test_why_a_server_refuses_is_said_in_words_of_ours(text: str, said: str) -> None:
    found = refused.reason(psycopg.OperationalError(text))
    assert said in found and "joe" not in found and "secret" not in found


def test_a_server_that_stood_still_once_is_read_again_at_once_and_a_slow_one_less_often() -> None:
    sampler_ = Sampler(Asked(SERVER))
    assert [sampler_.rest_s(took) for took in (0.01, 3.0, 0.01)] == [0.04, 0.03, 0.04]
    assert [sampler_.rest_s(0.5) for _ in range(3)][1:] == [1.5, 1.5]


class Late:
    """A server's answers, three seconds after they were asked for: one row, of a transaction that rests."""

    status, nfields, ntuples = psycopg.pq.ExecStatus.TUPLES_OK, 11, 1
    row = (
        b"20",
        None,
        b"client backend",
        b"77",
        b"SELECT 1",
        b"5",
        b"6",
        b"Client: ClientRead",
        b"16384",
        None,
        b"9",
    )

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.now = 1000.0

    def exec_prepared(self, _name: bytes, values: list[bytes]) -> "Late":
        self.asked += map(float, values)
        self.now += 3.0
        return self

    def get_value(self, _row: int, column: int) -> bytes | None:
        return self.row[column]

    def execute(self, _sql: str) -> list[tuple[int, bytes]]:
        return [(16384, b"shop")]


def test_what_ended_while_a_server_stood_still_is_asked_for_when_it_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Since the reading before, by the clock: however late the server looks at it."""
    late = Late()
    connection = object.__new__(postgresql.Connection)
    connection._each_s, connection._asked_s, connection._names = 0.05, 1000.0, {}
    connection._connection = SimpleNamespace(pgconn=late, execute=late.execute)
    monkeypatch.setattr(time, "time", lambda: late.now)
    first, second = connection.sessions(), connection.sessions()
    assert late.asked == [pytest.approx(999.8), pytest.approx(999.95)]
    assert (
        first
        == second
        == [
            Session(
                20,
                "SELECT 1",
                5000,
                6000,
                "Client: ClientRead",
                id="77",
                database="shop",
                backend="client backend",
            )
        ]
    )
    assert connection.read_ns == 9000
