"""Shares of MariaDB's statements beside what its performance schema says that they took, as root: `python -m benchmarks.statements_mariadb`.

A thousand short statements a second by four clients, three sorts that spill, a sleep, and a wait for a lock.
"""

import random
import re
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pymysql

from benchmarks.statements import points
from iowhy.lab import shell
from iowhy.recordings import open_recording
from iowhy.reports import run as report
from iowhy.sources.live import program

SECONDS = 12
_CLIENTS, _EACH_S = 4, 0.004
_SETTINGS = (
    "--performance-schema=ON", "--performance-schema-consumer-events-statements-current=ON",
    "--innodb-buffer-pool-size=64M", "--sort-buffer-size=262144", "--skip-networking",
)  # fmt: skip
_MADE = (
    "CREATE DATABASE shop",
    "USE shop",
    "CREATE TABLE item(id INT PRIMARY KEY, name VARCHAR(200)) ENGINE=InnoDB",
    "INSERT INTO item SELECT seq, repeat(md5(seq), 4) FROM seq_1_to_150000",
    "CREATE TABLE small(id INT PRIMARY KEY, v INT) ENGINE=InnoDB",
    "INSERT INTO small SELECT seq, 0 FROM seq_1_to_1000",
)
_SHORT = (
    (4, "SELECT sum(length(name)) FROM item WHERE id BETWEEN {0} AND {0} + 400"),
    (2, "UPDATE small SET v = v + 1 WHERE id = {0} % 1000"),
    (4, "SELECT count(*) FROM small WHERE v % 7 = {0} % 7"),
)
_SORT = "SELECT count(*) FROM (SELECT name FROM item ORDER BY name DESC LIMIT 9, 1000000) AS x"
#: By what rows of the report and of the server are known.
_KINDS = {
    "short read": "length",
    "short write": "UPDATE `?small",
    "short scan": "FROM `?small",
    "sort": "ORDER BY `?name",
    "sleep": "SLEEP",
    "lock": "UPDATE `?item",
}
_COUNTED = """SELECT DIGEST_TEXT, SUM_TIMER_WAIT / 1e12 FROM performance_schema.events_statements_summary_by_digest
WHERE DIGEST_TEXT IS NOT NULL"""


@contextmanager
def _server(folder: Path) -> Iterator[tuple[int, Callable[..., Any]]]:
    common = ("--no-defaults", "--user=root", f"--datadir={folder}/d")
    install = (shell.found("mariadb-install-db") or "", *common, "--auth-root-socket-user=root")
    subprocess.run(install, check=True, capture_output=True)
    process = subprocess.Popen(
        [shell.found("mariadbd") or "", *common, *_SETTINGS, f"--socket={folder}/s"],
        stderr=subprocess.DEVNULL,
    )
    while not (folder / "s").exists():
        time.sleep(0.05)
    try:
        yield (
            process.pid,
            lambda: pymysql.connect(unix_socket=f"{folder}/s", user="root", autocommit=True),
        )
    finally:
        process.kill()
        process.wait()


def _asks(connect: Callable[..., Any], *statements: str) -> list[Any]:
    rows: list[Any] = []
    with connect() as connection, connection.cursor() as cursor:
        for one in statements:
            cursor.execute(one)
            rows = list(cursor.fetchall())
    return rows


def _load(connect: Callable[..., Any]) -> None:
    def short(seed: int) -> None:
        chance = random.Random(seed)
        texts, often = [text for _, text in _SHORT], [part for part, _ in _SHORT]
        end = time.monotonic() + SECONDS - 2
        with connect() as connection, connection.cursor() as cursor:
            cursor.execute("USE shop")
            while time.monotonic() < end:
                cursor.execute(chance.choices(texts, often)[0].format(chance.randrange(149_000)))
                cursor.fetchall()
                time.sleep(chance.expovariate(1 / _EACH_S))

    def holds() -> None:
        time.sleep(2)
        _asks(connect, "USE shop", "BEGIN", "UPDATE item SET name = 'a' WHERE id = 1", "SELECT SLEEP(1.5)", "COMMIT")  # fmt: skip

    def waits() -> None:
        time.sleep(2.3)
        _asks(connect, "USE shop", "UPDATE item SET name = 'b' WHERE id = 1")

    works: list[Callable[[], object]] = [
        lambda: _asks(connect, "USE shop", *[_SORT] * 3),
        holds,
        waits,
    ]
    works += [lambda seed=seed: short(seed) for seed in range(_CLIENTS)]  # type: ignore[misc]
    threads = [threading.Thread(target=one) for one in works]
    for one in threads:
        one.start()
    for one in threads:
        one.join()


def measure() -> dict[str, tuple[float, float]]:
    """Of each kind of statement its seconds as the server counts them, and as iowhy says."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        folder, out = Path(made), Path(made, "r.iowhy")
        with _server(folder) as (pid, connect):
            _asks(
                connect, *_MADE, "TRUNCATE performance_schema.events_statements_summary_by_digest"
            )
            recorder = subprocess.Popen(
                [program("iowhy"), "run", "-q", "-p", str(pid), "--statements", "--duration", f"{SECONDS}s", "-o", out]
            )  # fmt: skip
            while not (out / "manifest.json").exists():
                time.sleep(0.05)
            time.sleep(0.7)
            _load(connect)
            recorder.wait(120)
            counted = _asks(connect, _COUNTED)
        seen = [
            (row["statement"], row["time_ns"] / 1e9)
            for row in report(open_recording(out), "statements").to_pylist()
            if row["statement_id"]
        ]
    return {kind: (_sum(counted, part), _sum(seen, part)) for kind, part in _KINDS.items()}


def _sum(rows: list[tuple[str, float]], part: str) -> float:
    """Of those whose text is of that kind before all others."""
    of = [
        next((one for one in _KINDS.values() if re.search(one, text, re.IGNORECASE)), "")
        for text, _ in rows
    ]
    return sum(float(seconds) for (_, seconds), kind in zip(rows, of, strict=True) if kind == part)


if __name__ == "__main__":
    print(points(measure()))
