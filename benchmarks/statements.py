"""Shares of PostgreSQL's statements beside what its log says that they took, as root: `python -m benchmarks.statements [--exact] [ROOT]`.

A thousand short statements a second of pgbench, three sorts that spill, a sleep, and a wait for a lock, of the server that is installed there, or
below ROOT.
Its log has each with its end of transaction; a client's clock would have the way there and back, too.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.lab import shell
from iowhy.recordings import open_recording
from iowhy.reports import run as report
from iowhy.sources.live import program

SECONDS = 12
_AS = ("setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups")
_SETTINGS = """
listen_addresses = ''
work_mem = 1MB
shared_buffers = 16MB
autovacuum = off
jit = off
max_parallel_workers_per_gather = 0
"""
_MADE = (
    "CREATE TABLE big(id int PRIMARY KEY, name text)",
    "INSERT INTO big SELECT n, repeat(md5(n::text), 4) FROM generate_series(0, 299999) n",
    "CREATE TABLE small(id int PRIMARY KEY, v int)",
    "INSERT INTO small SELECT n, 0 FROM generate_series(0, 999) n",
    "CREATE TABLE hot(id int PRIMARY KEY, v int)",
    "INSERT INTO hot VALUES (1, 0)",
    "VACUUM ANALYZE",
    "CHECKPOINT",
)
#: Each with how often of ten it is asked.
_SHORT = (
    (
        4,
        "\\set x random(0, 299000)\nSELECT sum(length(name)) FROM big WHERE id BETWEEN :x AND :x + 400;\n",
    ),
    (2, "\\set x random(0, 999)\nUPDATE small SET v = v + 1 WHERE id = :x;\n"),
    (4, "\\set x random(0, 6)\nSELECT count(*) FROM small WHERE v % 7 = :x;\n"),
)
_SORT = "SELECT count(*) FROM (SELECT name FROM big ORDER BY name DESC OFFSET 9) AS x"
_HOLDS = "BEGIN; UPDATE hot SET v = v + 1 WHERE id = 1; SELECT pg_sleep(1.5); COMMIT"
_WAITS = "UPDATE hot SET v = v + 2 WHERE id = 1"
#: Which row of the report is which of these.
_KINDS = {
    "short read": "sum(length",
    "short write": "UPDATE small",
    "short scan": "FROM small",
    "sort": "ORDER BY",
    "sleep": "pg_sleep",
    "lock": "UPDATE hot",
}
_LOGS = "log_min_duration_statement = 0\n"
_LOGGED = re.compile(r"duration: ([0-9.]+) ms  statement: (.*)")


@contextmanager
def server(folder: Path, settings: str = "", root: Path = Path("/")) -> Iterator[int]:
    """A server in a folder, of the system that is installed there; its first process."""
    inside = Path("/") / folder.relative_to(root)
    among = sorted((root / "usr/lib/postgresql").glob("*/bin/initdb"))
    tools = Path("/") / among[-1].parent.relative_to(root)
    start = _AS if root == Path("/") else ("chroot", "--userspec=65534:65534", str(root))

    def tool(name: str, *words: str) -> None:
        command = [*start, str(tools / name), "-D", str(inside / "c"), *words]
        done = subprocess.run(command, env={**os.environ, "LC_ALL": "C"}, capture_output=True)
        assert done.returncode == 0, done.stderr

    tool("initdb", "-N", "-A", "trust", "-U", "nobody", "--no-locale", "-E", "UTF8")
    with (folder / "c/postgresql.conf").open("a") as file:
        file.write(f"{_SETTINGS}{settings}unix_socket_directories = '{inside}'\n")
    tool("pg_ctl", "-w", "-s", "-l", str(inside / "log"), "start")
    try:
        yield int((folder / "c/postmaster.pid").read_text().split()[0])
    finally:
        tool("pg_ctl", "-s", "-m", "immediate", "stop")


def connects(folder: Path) -> tuple[str, ...]:
    """How clients get there."""
    return ("-h", str(folder), "-U", "nobody", "postgres")


def asks(folder: Path, *statements: str) -> None:
    """One after another, in one session."""
    words = [word for one in statements for word in ("-c", one)]
    subprocess.run(
        ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *words, *connects(folder)],
        check=True,
        capture_output=True,
    )


def measure(exact: bool = False, root: Path = Path("/")) -> dict[str, tuple[float, float]]:
    """Of each kind of statement its seconds as the server logged them, and as iowhy says."""
    with tempfile.TemporaryDirectory(dir=root / "var/tmp") as made:
        folder = Path(made)
        folder.chmod(0o777)
        with server(folder, _LOGS, root) as pid:
            asks(folder, *_MADE)
            return _of_load(folder, pid, exact)


def _of_load(folder: Path, pid: int, exact: bool) -> dict[str, tuple[float, float]]:
    out = folder / "r.iowhy"
    options = ("--statements", *(["--exact"] if exact else []), "--duration", f"{SECONDS}s")
    recorder = subprocess.Popen(
        [program("iowhy"), "run", "-q", "-p", str(pid), *options, "-o", out]
    )
    while not (out / "manifest.json").exists():
        time.sleep(0.05)
    time.sleep(0.7)

    def long() -> None:
        asks(folder, *[_SORT] * 3)

    def waits() -> None:
        time.sleep(2.3)
        asks(folder, _WAITS)

    def holds() -> None:
        time.sleep(2)
        asks(folder, *_HOLDS.split("; "))

    threads = [threading.Thread(target=one) for one in (long, waits, holds)]
    for one in threads:
        one.start()
    _short(folder)
    for one in threads:
        one.join()
    recorder.wait(120)
    logged, seen = dict.fromkeys(_KINDS, 0.0), dict.fromkeys(_KINDS, 0.0)
    for ms, text in _LOGGED.findall((folder / "log").read_text()):
        if (kind := _kind(text)) is not None:
            logged[kind] += float(ms) / 1e3
    for row in report(open_recording(out), "statements").to_pylist():
        kind = _kind(row["statement"]) if row["statement_id"] else None
        if kind is not None:
            seen[kind] += row["time_ns"] / 1e9
    return {kind: (logged[kind], seen[kind]) for kind in _KINDS}


def _short(folder: Path) -> None:
    scripts: list[str] = []
    for number, (often, text) in enumerate(_SHORT):
        (folder / f"{number}.sql").write_text(text)
        scripts += ("-f", f"{folder}/{number}.sql@{often}")
    load = ("-n", "-c", "4", "-j", "1", "-R", "1000", "-T", str(SECONDS - 2))
    pgbench = shell.found("pgbench") or "pgbench"
    subprocess.run([pgbench, *load, *scripts, *connects(folder)], capture_output=True, check=True)


def _kind(statement: str) -> str | None:
    return next((name for name, part in _KINDS.items() if part in statement), None)


def points(found: dict[str, tuple[float, float]]) -> str:
    """Markdown: seconds and shares, and by how many points the shares differ."""
    sums = [sum(one[side] for one in found.values()) for side in (0, 1)]
    lines = ["| statement | the server, s | iowhy, s | points |", "|---|--:|--:|--:|"]
    for kind, (counted, own) in found.items():
        off = 100 * (own / sums[1] - counted / sums[0])
        lines.append(f"| {kind} | {counted:.2f} | {own:.2f} | {off:+.1f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    os.umask(0o022)
    roots = [Path(word) for word in sys.argv[1:] if word != "--exact"]
    print(points(measure("--exact" in sys.argv, *roots)))
