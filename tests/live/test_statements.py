"""Statements of a real PostgreSQL: their times, spills and locks are what the clients and the server's own counters say."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

import pytest

from conftest import cannot_run
from iowhy import units
from iowhy.comparisons.changed_statements import changed_statements
from iowhy.lab import shell
from iowhy.recordings import open_recording
from iowhy.relations import Relations
from iowhy.reports import run as report
from iowhy.sources.live import program
from iowhy.sources.statements import catalogue, followed
from iowhy.whys.verdict import judge
from machine import emulated
from tests.whys.conftest import finding

pytestmark = pytest.mark.usefixtures("live")

_WHO = ("nobody", "nogroup")
_AS = ("setpriv", f"--reuid={_WHO[0]}", f"--regid={_WHO[1]}", "--clear-groups")
_SETTINGS = """
listen_addresses = ''
work_mem = 1MB
shared_buffers = 4MB
max_parallel_workers_per_gather = 0
autovacuum = off
jit = off
shared_preload_libraries = 'pg_stat_statements'
pg_stat_statements.track = all
"""
SORT = "SELECT count(*) FROM (SELECT name FROM item ORDER BY name DESC OFFSET 9) AS x"
_EXPLAINED = "EXPLAIN (ANALYZE, BUFFERS, TIMING off)"
_READ_MS = re.compile(r"I/O Timings: (?:shared/local |shared )?read=([0-9.]+)")
_READ_CALLS = """
SELECT n.text, sum(c.dur_ns) FROM _statement_calls c JOIN statement_texts n ON n.statement_id = c.statement_id
WHERE c.kind = 'read' GROUP BY n.text
"""
WAITS = "UPDATE item SET name = 'b' WHERE id = 1"
HOLDS = "BEGIN; UPDATE item SET name = 'a' WHERE id = 1; SELECT pg_sleep(2); COMMIT"


class Cluster:
    """A server, and what clients of it ask."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.pid = 0

    def tool(self, name: str, *words: str) -> str:
        made = subprocess.run(
            [*_AS, shell.found(name) or name, *words],
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        return made.stdout

    def asks(self, *statements: str) -> str:
        return self.tool(
            "psql", *self._client(), *(word for one in statements for word in ("-c", one))
        )

    def starts(self, log: Path, *statements: str) -> subprocess.Popen[bytes]:
        words = [*self._client(), *(word for one in statements for word in ("-c", one))]
        with log.open("a") as said:
            return subprocess.Popen([*_AS, "psql", *words], stdout=said)

    def _client(self) -> tuple[str, ...]:
        return ("-X", "-q", "-t", "-A", "-h", str(self.folder), "postgres")


@pytest.fixture(scope="module")
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    for lacking in (shell.missing(("initdb", "pg_ctl", "psql", "setpriv")), _client_lacks()):
        if lacking is not None:
            cannot_run(request, lacking)
    # A socket's path is short, and pytest's directory only root's.
    with TemporaryDirectory(prefix="iowhy-pg-", dir="/var/tmp") as folder:
        Path(folder).chmod(0o777)
        made, data = Cluster(Path(folder)), Path(folder, "c")
        made.tool("initdb", "-D", str(data), "-N", "-A", "peer", "--no-locale", "-E", "UTF8")
        with (data / "postgresql.conf").open("a") as file:
            file.write(_SETTINGS + f"unix_socket_directories = '{folder}'\n")
        made.tool("pg_ctl", "-D", str(data), "-w", "-s", "-l", f"{folder}/log", "start")
        try:
            made.pid = int((data / "postmaster.pid").read_text().split()[0])
            made.asks(
                "CREATE EXTENSION pg_stat_statements",
                "CREATE TABLE item(id int PRIMARY KEY, name text)",
                "INSERT INTO item SELECT n, repeat(md5(n::text), 4) FROM generate_series(1, 600000) n",
                "VACUUM ANALYZE item",
                "CHECKPOINT",
            )
            yield made
        finally:
            made.tool("pg_ctl", "-D", str(data), "-s", "-m", "immediate", "stop")


def _client_lacks() -> str | None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        return "psycopg is not installed"
    return None


def recorded(
    cluster: Cluster,
    out: Path,
    seconds: int,
    *work: tuple[float, tuple[str, ...]],
    options: tuple[str, ...] = (),
    log: Path = Path(os.devnull),
) -> dict[str, dict[str, Any]]:
    """Records the server while clients ask; the report's rows by the begin of each statement."""
    command = [
        str(program("iowhy")),
        "run",
        "-q",
        "-p",
        str(cluster.pid),
        "--statements",
        *options,
        "--duration",
        f"{seconds}s",
        "-o",
        str(out),
    ]
    recorder = subprocess.Popen(command, env={**os.environ, "PGPASSWORD": "not-to-be-seen"})
    while not (out / "manifest.json").exists():
        time.sleep(0.05)
    time.sleep(0.7)
    clients = []
    for after, statements in work:
        time.sleep(after)
        clients.append(cluster.starts(log, *statements))
    for one in clients:
        assert one.wait(60) == 0
    assert recorder.wait(120) == 0
    notes = open_recording(out).manifest.notes
    assert not notes, notes
    return {row["statement"]: row for row in report(open_recording(out), "statements").to_pylist()}


@pytest.mark.disturbed_by("cpu")
def test_a_sort_s_time_and_spill_are_what_the_server_counts(
    cluster: Cluster, tmp_path: Path
) -> None:
    cluster.asks("SELECT pg_stat_statements_reset()")
    rows = recorded(cluster, tmp_path / "sort.iowhy", 6, (0, (SORT, SORT, "SELECT pg_sleep(0.5)")))
    counted = cluster.asks(
        "SELECT calls, total_exec_time, temp_blks_written * 8192 FROM pg_stat_statements WHERE query LIKE 'SELECT count%'"
    )
    calls, ms, spilled = (float(one) for one in counted.strip().split("|"))
    found = next(row for text, row in rows.items() if text.startswith("SELECT count"))
    assert (
        found["statement"]
        == "SELECT count(*) FROM (SELECT name FROM item ORDER BY name DESC OFFSET ?) AS x"
    )
    assert found["runs"] == calls == 2 and found["exact_share"] == 1.0
    assert found["time_ns"] == pytest.approx(ms * 1e6, rel=0.05, abs=60e6)
    assert found["spilled_bytes"] == pytest.approx(spilled, rel=0.02)
    slept = next(row for text, row in rows.items() if "pg_sleep" in text)
    # Where one run ends and the next begins is known to a reading.
    assert slept["server_ns"] == pytest.approx(500e6, abs=60e6) and slept["cpu_ns"] < 60e6
    objects = {
        row["object"]
        for row in report(open_recording(tmp_path / "sort.iowhy"), "files").to_pylist()
    }
    assert {"public.item", "temporary data"} <= objects
    # Neither what connects nor literals are kept.
    kept = b"".join(
        one.read_bytes() for one in (tmp_path / "sort.iowhy").rglob("*") if one.is_file()
    )
    assert b"not-to-be-seen" not in kept


@pytest.mark.disturbed_by("cpu", "disk")
def test_reads_take_what_the_server_says_and_are_of_the_table_or_the_index(
    cluster: Cluster, tmp_path: Path
) -> None:
    """EXPLAIN's times of reads, by the server's own clock around its calls, on a disk so slow that getting in and out of the kernel is little beside it."""
    out = tmp_path / "reads.iowhy"
    # pytest's own directory is only root's; a second try has its own.
    folder = Path(mkdtemp(dir=cluster.folder))
    folder.chmod(0o755)
    with emulated(folder, "--unpaced", "--megabytes-per-s", "10") as made:
        space = made.mount / "space"
        space.mkdir()
        shutil.chown(space, *_WHO)
        cluster.asks(
            f"CREATE TABLESPACE slow LOCATION '{space}'",
            "CREATE TABLE thing(id int, name text) TABLESPACE slow",
            "INSERT INTO thing SELECT n, repeat(md5(n::text), 4) FROM generate_series(1, 60000) n",
            "CREATE INDEX thing_id ON thing(id) TABLESPACE slow",
            "VACUUM ANALYZE thing",
            "CHECKPOINT",
        )
        for file in space.rglob("*"):
            if file.is_file():
                with file.open("rb") as opened:
                    os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        (folder / "disk/control").write_text("pace on")
        ways = (
            "SET track_io_timing = on",
            f"{_EXPLAINED} SELECT sum(length(name)) FROM thing",
            # What is read ahead is still on its way, and the next statement would wait for the disk.
            "SELECT pg_sleep(0.5)",
            "SET enable_seqscan = off",
            "SET enable_bitmapscan = off",
            f"{_EXPLAINED} SELECT count(id) FROM thing",
            "SELECT pg_sleep(0.2)",
        )
        try:
            rows = recorded(cluster, out, 6, (0, ways), options=("--exact",), log=tmp_path / "said")
        finally:
            cluster.asks("DROP TABLE thing", "DROP TABLESPACE slow")
    # The first of a plan is of all of it; planning may have read, too.
    plans = (tmp_path / "said").read_text().split("Execution Time")[:-1]
    read = [[_READ_MS.search(part) for part in plan.split("Planning:")] for plan in plans]
    said = [sum(float(one[1]) for one in parts if one) for parts in read]
    with Relations(open_recording(out)) as opened:
        found = {text: ns / 1e6 for text, ns in opened.rows(_READ_CALLS)}
    for part, ms, object_ in zip(
        ("sum(", "count("), said, ("public.thing", "thing_id (index of thing)"), strict=True
    ):
        (text,) = (one for one in rows if part in one)
        assert (rows[text]["object"], rows[text]["object_reads"]) == (object_, "cold")
        assert found[text] == pytest.approx(ms, rel=0.1)
        # Of a call, waiting is a part.
        assert 0.8 * ms < rows[text]["read_ns"] / 1e6 <= ms * 1.05


def test_the_catalogue_s_own_files_say_what_the_server_says(cluster: Cluster) -> None:
    cluster.asks("CHECKPOINT")
    asked = """SELECT pg_relation_filepath(c.oid), n.nspname || '.' || c.relname FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'r' AND pg_relation_filepath(c.oid) LIKE 'base/%'"""
    said = dict(line.split("|") for line in cluster.asks(asked).split())
    data = cluster.folder / "c"
    found = {
        str(Path(one["path"]).relative_to(data)): one["object"]
        for one in catalogue.objects(cluster.pid, 100_000)
    }
    assert "public.item" in said.values() and said.items() <= found.items()
    assert "item_pkey (index of item)" in found.values()


@pytest.mark.disturbed_by("cpu")
def test_who_waits_for_a_lock_is_named_with_who_holds_it(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "locks.iowhy"
    rows = recorded(cluster, out, 4, (0, tuple(HOLDS.split("; "))), (0.5, (WAITS,)))
    found = next(row for row in rows.values() if row["lock_ns"])
    assert found["statement"] == "UPDATE item SET name = ? WHERE id = ?"
    assert found["lock_ns"] == pytest.approx(1500e6, abs=300e6)
    assert found["server_ns"] == pytest.approx(1500e6, abs=300e6)
    assert "pg_sleep" in found["holder"]
    first = finding(judge(open_recording(out)), "not-io")
    assert first is not None and first.summary.id == "not-io.waits-for-lock"  # type: ignore[attr-defined]


def test_probes_see_every_statement_however_short(cluster: Cluster, tmp_path: Path) -> None:
    out = tmp_path / "exact.iowhy"
    cluster.asks("SELECT pg_stat_statements_reset()")
    short = "SELECT name FROM item WHERE id = 7"
    work = (*[short] * 300, SORT)
    rows = recorded(cluster, out, 4, (0, work), options=("--exact",))
    counted = cluster.asks(
        "SELECT calls, total_plan_time + total_exec_time FROM pg_stat_statements WHERE query LIKE 'SELECT name%'"
        " OR query LIKE 'SELECT count%' ORDER BY calls"
    )
    (sorts, sort_ms), (calls, _) = (map(float, line.split("|")) for line in counted.split())
    found = rows["SELECT name FROM item WHERE id = ?"]
    assert found["runs"] == calls == 300 and found["exact_share"] == 1.0
    sort = next(row for text, row in rows.items() if text.startswith("SELECT count"))
    assert sort["runs"] == sorts == 1
    assert sort["time_ns"] == pytest.approx(sort_ms * 1e6, rel=0.05, abs=60e6)
    # What iowhy asks itself is not among them.
    assert not [text for text in rows if "pg_stat_activity" in text]


@pytest.mark.disturbed_by("cpu", "disk")
def test_compare_and_the_page_say_which_statement_became_slower_and_why(
    cluster: Cluster, tmp_path: Path
) -> None:
    """With memory for its sort and without; next to it one that takes as long as before, and one that waits for a lock."""
    sides = tmp_path / "before.iowhy", tmp_path / "after.iowhy"
    same = "SELECT sum(length(name)) FROM item"
    memory = "SET work_mem = '400MB'"
    for out, first in zip(sides, ((memory,), ()), strict=True):
        cluster.asks("SELECT pg_stat_statements_reset()")
        locks = [(0.0, tuple(HOLDS.split("; "))), (0.4, (WAITS,))] if out == sides[1] else []
        recorded(cluster, out, 6, *locks, (0.2, (same, *first, *[SORT] * 4)))
    spilled = cluster.asks(
        "SELECT temp_blks_written * 8192 / calls FROM pg_stat_statements WHERE query LIKE 'SELECT count%'"
    )
    with Relations(open_recording(sides[0])) as one, Relations(open_recording(sides[1])) as other:
        found = {row.statement: row for row in changed_statements(one, other)}
    sort = next(row for text, row in found.items() if text.startswith("SELECT count"))
    assert (sort.before_runs, sort.after_runs) == (4, 4)
    assert sort.spilled_bytes == pytest.approx(float(spilled), rel=0.02)
    assert sort.object in ("public.item", "temporary data")
    waits = found["UPDATE item SET name = ? WHERE id = ?"]
    assert waits.after_ns is not None and waits.after_ns > 1e9 and "pg_sleep" in str(waits.holder)
    assert waits.part == "locks of the server"
    assert not [text for text in found if "sum(" in text]
    for given, told in (
        (sides, ("pg_sleep(?)", units.size(sort.spilled_bytes or 0))),
        (sides[1:], ("pg_sleep(?)", "public.item")),
    ):
        page = tmp_path / f"page-{len(given)}.html"
        command = [str(program("iowhy")), "html", "-o", str(page), *map(str, given)]
        subprocess.run(command, check=True, capture_output=True, timeout=120)
        text = page.read_text()
        assert not [one for one in ("statements", *told) if one not in text]


def test_the_agent_is_told_what_sessions_do(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(followed, "EVERY_S", 0.3)
    told: list[followed.Share] = []
    reader = followed.Followed("", told.extend)
    try:
        cluster.asks("SELECT pg_sleep(1.5)")
        time.sleep(0.5)
    finally:
        reader.end()
    slept = [one for one in told if "pg_sleep" in one[1]]
    assert {(text, wait) for _, text, wait, _ in slept} == {("SELECT pg_sleep(?)", "Timeout")}
    # It begins to read a moment after it is asked to.
    assert 0.3 < sum(seconds for *_, seconds in slept) < 2
