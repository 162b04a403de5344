"""MariaDB: a commit for each row, its log durable with each commit or each second."""

import subprocess
from pathlib import Path

from iowhy.errors import Problem
from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: Without a server's sockets, users and plugins: it reads statements from standard input and ends.
_BOOTSTRAP = (
    'exec "$0" --no-defaults --bootstrap --user=root --datadir="$1" --skip-log-bin '
    "--innodb-buffer-pool-size=32M --innodb-log-file-size=8M "
    '--innodb-flush-log-at-trx-commit="$2" < "$3"'
)
#: What is left is its start and end: it reads and writes the files of its tables.
_STARTS = ("readahead-poor", "cache-cold", "device-saturated", "random-access")


def _server(folder: Path, durable: int, script: Path) -> tuple[str, ...]:
    program = shell.found("mariadbd") or "mariadbd"
    return ("sh", "-c", _BOOTSTRAP, program, str(folder), str(durable), str(script))


def _rows(stage: Stage, durable: int) -> Plan:
    folder = stage.scratch_filesystem(512).path / "data"
    folder.mkdir()
    made, rows = stage.folder / "made.sql", stage.folder / "rows.sql"
    made.write_text(
        "CREATE DATABASE shop;\nCREATE TABLE shop.item(id INT PRIMARY KEY, name TEXT) ENGINE=InnoDB;\n"
    )
    rows.write_text(
        "".join(
            f"INSERT INTO shop.item VALUES ({number}, 'item {stage.choice.seed}');\n"
            for number in range(stage.choice.count(500))
        )
    )
    done = subprocess.run(_server(folder, 2, made), capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem("mariadbd-bootstrap", stderr=done.stderr.strip()[-200:])
    return Plan(_server(folder, durable, rows))


SCENARIO = Scenario(
    name="mariadb-commits",
    title="MariaDB inserts rows, each in its own transaction",
    variants=(
        Variant(
            "durable",
            "innodb_flush_log_at_trx_commit = 1",
            lambda s: _rows(s, 1),
            ("flush-cost", "sync-storm"),
        ),
        Variant(
            "each-second",
            "innodb_flush_log_at_trx_commit = 2",
            lambda s: _rows(s, 2),
            (*_STARTS, *FINE, "sync-storm", "flush-cost", "device-slow"),
        ),
    ),
    devices=("hdd", "flush-slow"),
    remedy=("mysql.flush-each-second",),
    tools=("mariadbd",),
)
