"""PostgreSQL's own counts of its statements' reads and temporary blocks beside iowhy's, as root: `python -m benchmarks.statements_counted [ROOT[:IO_METHOD]…]`.

Of the server that is installed below each root (`/`), which needs pg_stat_statements (postgresql-contrib). Reads are cold. From 18 on it reads
by other processes or a ring (worker, io_uring).
"""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.statements import asks, connects, server
from iowhy.recordings import open_recording
from iowhy.relations import Relations
from iowhy.sources.live import program

_SETTINGS = """
shared_preload_libraries = 'pg_stat_statements'
track_io_timing = on
enable_bitmapscan = off
"""
_MADE = (
    "CREATE EXTENSION pg_stat_statements",
    "CREATE TABLE big(id int PRIMARY KEY, place int, name text)",
    "INSERT INTO big SELECT n, n::bigint * 7919 % 600011, repeat(md5(n::text), 4) FROM generate_series(0, 599999) n",
    "CREATE INDEX by_place ON big(place)",
    "VACUUM ANALYZE big",
    "CHECKPOINT",
)
#: By what of their text rows are known.
_ASKED = {
    "table": "SELECT sum(length(name)) FROM big",
    "index": "SELECT count(id), max(name) FROM big WHERE place BETWEEN 1000 AND 9000",
    "sort": "SELECT count(*) FROM (SELECT name FROM big ORDER BY name DESC OFFSET 9) AS x",
}
_PARTS = {"table": "sum(length", "index": "BETWEEN", "sort": "ORDER BY"}
# Its name has changed with PostgreSQL 17.
_SERVER = """
SELECT sum(coalesce(to_jsonb(s) ->> 'shared_blk_read_time', to_jsonb(s) ->> 'blk_read_time')::float), sum(temp_blks_read),
  sum(temp_blks_written)
FROM pg_stat_statements AS s WHERE query LIKE 'SELECT%{part}%' AND query LIKE '%FROM big%'
"""
# What it waits to read, temporary files left out, and what its own calls take besides.
_OURS = """
SELECT n.text, (coalesce(max(r.ns), 0) - sum(CASE WHEN c.kind = 'read' AND y.ino IS NOT NULL THEN c.blocked_ns ELSE 0 END)
    + sum(CASE WHEN c.kind = 'read' AND y.ino IS NULL AND NOT c.served THEN c.dur_ns - c.blocked_ns ELSE 0 END)) / 1e9,
  sum(CASE WHEN c.kind = 'read' AND y.ino IS NULL THEN 1 ELSE 0 END),
  sum(CASE WHEN c.kind = 'read' AND y.ino IS NOT NULL THEN c.done_bytes ELSE 0 END),
  sum(CASE WHEN c.kind = 'write' AND y.ino IS NOT NULL THEN c.done_bytes ELSE 0 END)
FROM _statement_calls AS c JOIN statement_texts AS n ON n.statement_id = c.statement_id
LEFT JOIN temporary_files AS y ON y.dev = c.dev AND y.ino = c.ino
LEFT JOIN (SELECT statement_id, exact_ns + sampled_ns AS ns FROM statement_times WHERE class = 'read') AS r
    ON r.statement_id = c.statement_id
GROUP BY n.text
"""


def _one(folder: Path, sql: str) -> list[str]:
    command = ["psql", "-X", "-q", "-t", "-A", "-c", sql, *connects(folder)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return done.stdout.strip().split("|")


def _drop(folder: Path) -> None:
    for file in (folder / "c/base").rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def measure(root: Path, method: str) -> list[str]:
    """Rows of the table."""
    chosen = f"io_method = {method}\n" if method else ""
    with tempfile.TemporaryDirectory(dir=root / "var/tmp") as made:
        folder = Path(made)
        folder.chmod(0o777)
        with server(folder, _SETTINGS + chosen, root) as pid:
            asks(folder, *_MADE)
            (version,) = _one(folder, "SHOW server_version")
            asks(folder, "CHECKPOINT", "SELECT pg_stat_statements_reset()")
            out = folder / "r.iowhy"
            options = ("--statements", "--exact", "--duration", "8s", "-o", out)
            recorder = subprocess.Popen([program("iowhy"), "run", "-q", "-p", str(pid), *options])
            while not (out / "manifest.json").exists():
                time.sleep(0.05)
            time.sleep(0.7)
            for statement in _ASKED.values():
                _drop(folder)
                asks(folder, statement)
            recorder.wait(120)
            counted = {
                kind: [float(one) for one in _one(folder, _SERVER.format(part=_PARTS[kind]))]
                for kind in _ASKED
            }
            label = f"{version.split('.')[0]} {method}".strip()
            return [_row(label, kind, counted[kind], out) for kind in _ASKED]


def _row(label: str, kind: str, counted: list[float], out: Path) -> str:
    with Relations(open_recording(out)) as opened:
        found = {text: row for text, *row in opened.rows(_OURS) if _PARTS[kind] in text}
    ((seconds, calls, read, written),) = found.values()
    ms, blocks_read, blocks_written = counted
    mib = [blocks_read / 128, read / 2**20, blocks_written / 128, written / 2**20]
    cells = " | ".join(f"{one:.1f}" for one in mib)
    return f"| {label} | {kind} | {calls:,} | {ms / 1e3:.3f} | {seconds:.3f} | {cells} |"


def main(asked: list[str]) -> None:
    """Prints Markdown."""
    print(
        "| PostgreSQL | statement | read calls | blk_read_time, s | iowhy, s | temp read, MiB | iowhy | written, MiB | iowhy |"
    )
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for one in asked:
        root, _, method = one.partition(":")
        print(*measure(Path(root), method), sep="\n", flush=True)


if __name__ == "__main__":
    os.umask(0o022)
    main(sys.argv[1:] or ["/"])
