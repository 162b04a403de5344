"""PostgreSQL: commits of one row, of several clients together, checkpoints after every few rows, a scan of a cold table."""

import random
from pathlib import Path

from iowhy.lab import shell
from iowhy.lab.scenario import FINE, Plan, Scenario, Variant
from iowhy.lab.stage import Stage

#: It refuses to run as root; this user is on every machine.
_AS = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
_SETTINGS = """
listen_addresses = ''
shared_buffers = 16MB
max_parallel_workers_per_gather = 0
autovacuum = off
jit = off
"""
_SINGLE = 'exec "$0" --single -D "$1" postgres < "$2" > /dev/null'
_SERVED = (
    '"$0" -D "$2" -w -t 60 -s -l "$2/log" -o "-k $3" start && '
    '"$1" -h "$3" -n -c "$5" -t "$6" -f "$4" postgres; "$0" -D "$2" -s -m immediate stop'
)
_QUIET = (*FINE, "sync-storm", "flush-cost", "device-slow")


def _tool(name: str) -> str:
    return shell.found(name) or name


def _single(cluster: Path, script: Path) -> tuple[str, ...]:
    """One backend without a server, which takes each line for a statement."""
    return (*_AS, "sh", "-c", _SINGLE, _tool("postgres"), str(cluster), str(script))


def _cluster(stage: Stage, *statements: str, settings: str = "") -> Path:
    """An empty cluster on the scratch filesystem, with what the statements make in it."""
    filesystem = stage.scratch_filesystem(1024)
    stage.folder.chmod(0o711)
    filesystem.path.chmod(0o777)
    cluster = filesystem.path / "cluster"
    shell.run((*_AS, _tool("initdb"), "-D", str(cluster), "-N", "-A", "trust", "--no-locale"))
    with (cluster / "postgresql.conf").open("a") as file:
        file.write(_SETTINGS + settings)
    shell.run(_single(cluster, _lines(stage, "made.sql", statements)))
    return cluster


def _lines(stage: Stage, name: str, statements: tuple[str, ...]) -> Path:
    path = stage.folder / name
    path.write_text("".join(f"{statement};\n" for statement in statements))
    path.chmod(0o644)
    return path


_TABLE = "CREATE TABLE item(id int PRIMARY KEY, name text)"


def _commits(stage: Stage, *settings: str) -> Plan:
    cluster = _cluster(stage, _TABLE)
    rows = tuple(
        f"INSERT INTO item VALUES ({number}, 'item {stage.choice.seed}')"
        for number in range(stage.choice.count(250))
    )
    return Plan(_single(cluster, _lines(stage, "rows.sql", (*settings, *rows))))


def _clients(stage: Stage, settings: str) -> Plan:
    cluster = _cluster(
        stage, "CREATE TABLE event(id bigserial PRIMARY KEY, text text)", settings=settings
    )
    script = _lines(stage, "one.sql", ("INSERT INTO event(text) VALUES ('something happened')",))
    count = str(stage.choice.count(100))
    served = ("sh", "-c", _SERVED, _tool("pg_ctl"), _tool("pgbench"))
    return Plan((*_AS, *served, str(cluster), str(cluster), str(script), "4", count))


def _checkpoints(stage: Stage, *, every: int) -> Plan:
    """Rows in random order, so that each touches its own page; a checkpoint after `every` of them, and one at the end.

    No commit waits for its log (synchronous_commit = off): what is synced is synced by checkpoints.
    """
    number = stage.choice.count(300)
    cluster = _cluster(
        stage,
        _TABLE,
        "ALTER TABLE item ALTER name SET STORAGE PLAIN",
        f"INSERT INTO item SELECT n, repeat(md5(n::text), 60) FROM generate_series(1, {number * 8}) n",
        "VACUUM FREEZE item",
        settings="synchronous_commit = off\n",
    )
    ids = random.Random(stage.choice.seed).sample(range(1, number * 8), number)
    rows = [f"UPDATE item SET name = upper(name) WHERE id = {one}" for one in ids]
    groups = (rows[at : at + every] for at in range(0, number, every))
    statements = tuple(line for group in groups for line in (*group, "CHECKPOINT"))
    return Plan(_single(cluster, _lines(stage, "updates.sql", statements)))


def _scan(stage: Stage, *, cold: bool) -> Plan:
    rows = stage.choice.count(120_000)
    cluster = _cluster(
        stage,
        _TABLE,
        # Else the rows are compressed to a tenth.
        "ALTER TABLE item ALTER name SET STORAGE PLAIN",
        f"INSERT INTO item SELECT n, repeat(md5(n::text), 30) FROM generate_series(1, {rows}) n",
        "VACUUM FREEZE item",
        "CHECKPOINT",
        # Its start and end sync some files: that is not what this is about.
        settings="fsync = off\n",
    )
    return Plan(
        _single(cluster, _lines(stage, "scan.sql", ("SELECT sum(id) FROM item",))), cold=cold
    )


_TOOLS = ("initdb", "postgres", "setpriv")

SCENARIOS = (
    Scenario(
        name="postgres-commits",
        title="PostgreSQL inserts rows, each in its own transaction",
        variants=(
            Variant(
                "one-row",
                "a commit for each row",
                _commits,
                ("flush-cost", "sync-storm"),
            ),
            Variant(
                "asynchronous",
                "synchronous_commit = off",
                lambda s: _commits(s, "SET synchronous_commit = off"),
                _QUIET,
            ),
        ),
        devices=("hdd", "flush-slow"),
        remedy=("postgresql.asynchronous-commit",),
        tools=_TOOLS,
    ),
    Scenario(
        name="postgres-clients",
        title="four clients of PostgreSQL commit a row each, again and again",
        variants=(
            Variant(
                "synchronous",
                "a commit waits until it is on the disk; commits of several go together",
                lambda s: _clients(s, ""),
                ("flush-cost", "sync-storm"),
            ),
            Variant(
                "asynchronous",
                "synchronous_commit = off",
                lambda s: _clients(s, "synchronous_commit = off\n"),
                _QUIET,
            ),
        ),
        devices=("hdd", "flush-slow"),
        remedy=("postgresql.asynchronous-commit",),
        tools=(*_TOOLS, "pg_ctl", "pgbench"),
    ),
    Scenario(
        name="postgres-checkpoint",
        title="PostgreSQL makes a checkpoint after every ten rows that change",
        variants=(
            Variant(
                "often",
                "a checkpoint after every ten rows",
                lambda s: _checkpoints(s, every=10),
                ("flush-cost", "sync-storm"),
            ),
            Variant(
                "rarely",
                "one checkpoint, at the end",
                lambda s: _checkpoints(s, every=1_000_000),
                _QUIET,
            ),
        ),
        devices=("hdd", "flush-slow"),
        remedy=("postgresql.max-wal-size",),
        tools=_TOOLS,
    ),
    Scenario(
        name="postgres-scan",
        title="PostgreSQL reads a whole table that is not cached",
        variants=(
            Variant("cold", "nothing cached", lambda s: _scan(s, cold=True), ("cache-cold",)),
            Variant("warm", "all cached", lambda s: _scan(s, cold=False), _QUIET),
        ),
        devices=("hdd",),
        remedy=(
            "postgresql.prewarm",
            "shared.warm-cache",
            "shared.warm-cache-any",
        ),
        tools=_TOOLS,
    ),
)
