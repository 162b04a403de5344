"""What is asked of MariaDB and MySQL: only what they have switched on, and of InnoDB's locks not more often than it renews them."""

from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from iowhy.sources.statements import mysql
from iowhy.sources.statements.refused import Unreadable, reason
from iowhy.sources.statements.server import Server
from iowhy.sources.statements.session import Session

SERVER = Server("mysql", 10, "/run/mysqld.sock", 70, 70)
MS = 1_000_000
UPDATES = (12, 1012, "UPDATE t SET a = 2", "updating", "shop", None, 3, "Query")


class Fake:
    """A server: one session that updates a row (12), one that has it (11)."""

    def __init__(self, version: str, performance_schema: int, consumer: int) -> None:
        self.version, self.on, self.consumer = version, performance_schema, consumer
        self.asked: list[str] = []

    def get_server_info(self) -> str:
        return self.version

    def cursor(self) -> "Fake":
        return self

    def __enter__(self) -> "Fake":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, sql: str, _values: object) -> None:
        self.asked.append(sql)

    def fetchall(self) -> Sequence[Sequence[Any]]:
        sql = self.asked[-1]
        if "@@performance_schema" in sql:
            return [(self.on, 262144)]
        if "setup_consumers" in sql:
            return [(self.consumer,)]
        if "CONNECTION_ID()" in sql and "LIMIT" not in sql:
            return [(99,)]
        if "trx_mysql_thread_id" in sql or "data_lock_waits" in sql:
            return [(12, 1011)]
        if "TIMER_END" not in sql:
            return [(*UPDATES, 300, None, None)]
        now = 1_001 * MS
        ended = (11, 1011, "UPDATE t SET a = 1", "", "shop", "d1", 7, "Sleep")
        return [(*UPDATES, 700 * MS, None, now), (*ended, 750 * MS, 800 * MS, now)]

    def locks(self) -> int:
        return sum("LOCK_WAITS" in one.upper() for one in self.asked)


def connected(monkeypatch: pytest.MonkeyPatch, fake: Fake) -> mysql.Connection:
    monkeypatch.setattr(pymysql, "connect", lambda **_: fake)
    return mysql.Connection(SERVER, "", 0.05, 100)


@pytest.mark.parametrize(("on", "consumer", "listed"), [(0, 0, True), (1, 0, True), (1, 1, False)])
def test_mariadb_is_asked_for_its_processes_unless_statements_are_shown(
    monkeypatch: pytest.MonkeyPatch, on: int, consumer: int, listed: bool
) -> None:
    """A reading takes 2 ms; the server's timer is our clock."""
    fake = Fake("5.5.5-10.11.19-MariaDB", on, consumer)
    made = connected(monkeypatch, fake)
    monkeypatch.setattr(mysql.time, "time_ns", iter([1_000 * MS, 1_002 * MS]).__next__)
    found = made.sessions()
    assert made.read_ns == 1_001 * MS
    assert found[0] == Session(1012, "UPDATE t SET a = 2", began_ns=(701 if listed else 700) * MS, wait="Lock: row", holder=1011,
                               run=3, database="shop", backend="client backend")  # fmt: skip
    (asked,) = [one for one in fake.asked if "LIMIT" in one]
    assert ("PROCESSLIST WHERE" in asked) == listed
    # Of the holder, the last statement is known where statements are shown.
    last = [(one.text, one.began_ns, one.ended_ns) for one in found[1:]]
    assert last == ([] if listed else [("UPDATE t SET a = 1", 750 * MS, 800 * MS)])


@pytest.mark.parametrize(("on", "consumer"), [(0, 0), (1, 0)])
def test_mysql_that_shows_no_statements_is_said_to(
    monkeypatch: pytest.MonkeyPatch, on: int, consumer: int
) -> None:
    with pytest.raises(Unreadable) as raised:
        connected(monkeypatch, Fake("9.7.4", on, consumer))
    assert "events_statements_current" in reason(raised.value)


def test_locks_are_asked_for_less_often_than_innodb_renews_them_and_known_between(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = Fake("9.7.4", 1, 1)
    made = connected(monkeypatch, fake)
    at = [10.0]
    monkeypatch.setattr(mysql.time, "monotonic", lambda: at[0])
    met = []
    for _ in range(10):
        met.append(made.sessions())
        at[0] += 0.05
    assert fake.locks() == 4
    assert all((one[0].wait, one[0].holder) == ("Lock: row", 1011) for one in met)


def test_a_timer_is_known_as_well_as_the_quickest_reading_says() -> None:
    clock = mysql._Clock()
    for timer, before, after in ((5, 100, 400), (205, 310, 330), (305, 350, 800)):
        clock.read(timer, before, after)
    assert clock.at(305) == 305 + (105 + 125) // 2
    # Clocks that are set leave no time that fits.
    clock.read(1_005, 5_000, 5_010)
    assert clock.at(1_005) == 5_005


@pytest.mark.parametrize(
    ("state", "wait"),
    [
        ("Waiting for table metadata lock", "Lock: Waiting for table metadata lock"),
        ("Sending data", "Sending data"),
        ("", None),
    ],
)
def test_locks_of_tables_are_locks(state: str, wait: str | None) -> None:
    assert mysql._wait(state, False) == wait


@pytest.mark.parametrize(
    ("dsn", "by"),
    [
        ("", "unix_socket"),
        ("mysql://me@localhost/", "unix_socket"),
        ("mysql://me@localhost:3306/", "host"),
        ("mysql://me@db/", "host"),
    ],
)
def test_localhost_is_the_socket_as_all_clients_of_it_read_it(
    monkeypatch: pytest.MonkeyPatch, dsn: str, by: str
) -> None:
    given: dict[str, Any] = {}

    def connect(**options: object) -> Fake:
        given.update(options)
        return Fake("10.11.19-MariaDB", 0, 0)

    monkeypatch.setattr(pymysql, "connect", connect)
    mysql.Connection(SERVER, dsn, 0.05, 100)
    assert by in given and {"unix_socket", "host"} - {by} - given.keys()
