"""Statements of a real MariaDB, whose performance schema is off as it is by default: a sort, and a lock with who holds it."""

import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from conftest import cannot_run
from iowhy.lab import shell
from iowhy.recordings import open_recording
from iowhy.reports import run as report
from iowhy.sources.live import program

pytestmark = pytest.mark.usefixtures("live")

SORT = "SELECT count(*) FROM (SELECT name FROM item ORDER BY name DESC LIMIT 9, 1000000) AS x"
SIZES = ("--innodb-buffer-pool-size=32M", "--innodb-log-file-size=8M", "--sort-buffer-size=262144")


class Served:
    """A server, and what clients of it ask."""

    def __init__(self, process: subprocess.Popen[bytes], socket: str) -> None:
        self.process, self.socket = process, socket

    def connected(self, **options: Any) -> Any:
        import pymysql

        return pymysql.connect(
            **{"unix_socket": self.socket, "user": "root", "autocommit": True} | options
        )

    def asks(self, *statements: str) -> None:
        with self.connected() as connection, connection.cursor() as cursor:
            for one in statements:
                cursor.execute(one)


@pytest.fixture(scope="module")
def served(request: pytest.FixtureRequest) -> Iterator[Served]:
    lacking = shell.missing(("mariadbd", "mariadb-install-db", "my_print_defaults"))
    if lacking is not None:
        cannot_run(request, lacking)
    pytest.importorskip("pymysql")
    with TemporaryDirectory(prefix="iowhy-my-", dir="/var/tmp") as folder:
        common = ("--no-defaults", "--user=root", f"--datadir={folder}/d")
        install = shell.found("mariadb-install-db") or ""
        made = subprocess.run(
            [install, *common, "--auth-root-socket-user=root", "--skip-test-db"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert made.returncode == 0, made.stdout + made.stderr
        server = shell.found("mariadbd") or ""
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                [server, *common, *SIZES, f"--socket={folder}/s", "--skip-networking", f"--pid-file={folder}/p"],
                stdout=log, stderr=log,
            )  # fmt: skip
        try:
            while not Path(folder, "s").exists():
                assert process.poll() is None, Path(folder, "log").read_text()
                time.sleep(0.05)
            made = Served(process, f"{folder}/s")
            made.asks(
                "CREATE DATABASE shop",
                "CREATE TABLE shop.item(id INT PRIMARY KEY, name VARCHAR(200)) ENGINE=InnoDB",
                "INSERT INTO shop.item SELECT seq, repeat(md5(seq), 4) FROM shop.seq_1_to_150000",
            )
            yield made
        finally:
            process.kill()
            process.wait()


@pytest.mark.disturbed_by("cpu")
def test_sorts_and_locks_of_mariadb(served: Served, tmp_path: Path) -> None:
    out = tmp_path / "m.iowhy"
    recorder = subprocess.Popen(
        [program("iowhy"), "run", "-q", "-p", str(served.process.pid), "--statements", "--duration", "5s", "-o", out]
    )  # fmt: skip
    while not (out / "manifest.json").exists():
        time.sleep(0.05)
    time.sleep(0.7)
    took: dict[str, float] = {}

    def asks(name: str, text: str) -> None:
        with served.connected(database="shop") as connection, connection.cursor() as cursor:
            began = time.monotonic()
            cursor.execute(text)
            took[name] = time.monotonic() - began

    asks("sort", SORT)
    with served.connected(database="shop", autocommit=False) as holder, holder.cursor() as cursor:
        cursor.execute("UPDATE item SET name = 'a' WHERE id = 1")
        waiter = threading.Thread(
            target=asks, args=("waits", "UPDATE item SET name = 'b' WHERE id = 1")
        )
        waiter.start()
        cursor.execute("SELECT SLEEP(1.2)")
        holder.commit()
        waiter.join()
    assert recorder.wait(60) == 0
    opened = open_recording(out)
    assert not opened.manifest.notes
    rows = {row["statement"]: row for row in report(opened, "statements").to_pylist()}
    sort = next(row for text, row in rows.items() if "ORDER BY" in text)
    assert (sort["runs"], sort["exact_share"]) == (1, 1.0) and sort["spilled_bytes"] > 16 << 20
    assert sort["time_ns"] == pytest.approx(took["sort"] * 1e9, rel=0.05, abs=100e6)
    waits = next(row for row in rows.values() if row["lock_ns"])
    assert waits["statement"] == "UPDATE item SET name = ? WHERE id = ?"
    assert waits["lock_ns"] == pytest.approx(took["waits"] * 1e9, abs=300e6)
    assert waits["holder"] == "SELECT SLEEP(?)"
    files = {row["object"] for row in report(opened, "files").to_pylist()}
    assert "shop.item" in files
