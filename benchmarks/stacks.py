"""User stacks: how many lead to the start of their thread, and what one takes."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.workloads import compile_, sqlite
from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program

TABLES = ("stack_samples", "user_stacks", "modules")
#: At a tick in execve a process has no program whose start its stack could lead to.
WHOLE = "SELECT count(*) FILTER (whole), count(*) FROM stack_samples WHERE syscall IS DISTINCT FROM 'execve'"
PYTHON = (
    "import os, sys; fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)\n"
    "for n in range(300): os.pwrite(fd, bytes(4096) * (n % 9 + 1), n * 4096); os.fsync(fd); sorted(range(20000), key=str)"
)
POSTGRES = 'exec "$0" --single -D "$1" postgres < "$2" > /dev/null 2>&1'
REDIS = (
    "redis-server --port 0 --unixsocket {0}/redis --dir {0} --appendonly yes --appendfsync always --save '' > /dev/null & "
    "until redis-cli -s {0}/redis ping > /dev/null 2>&1; do sleep 0.1; done; "
    "redis-benchmark -s {0}/redis -t set -n {1} -c 8 -q > /dev/null; redis-cli -s {0}/redis shutdown nosave; wait"
)


def table() -> str:
    """Shares and sizes of programs that are installed here."""
    lines = [
        "| program | stacks | to the start of the thread | bytes of each |",
        "|---|---|---|---|",
    ]
    with _folder() as folder:
        for name, command in _commands(folder):
            out = folder / f"{name}.iowhy"
            _record(command, out)
            lines.append(f"| {name} | {_measured(out)} |")
    return "\n".join(lines)


def _measured(out: Path) -> str:
    whole, samples = whole_of(open_recording(out))
    size = sum(file.stat().st_size for name in TABLES for file in (out / name).glob("*.parquet"))
    return f"{samples:,} | {whole / samples:.1%} | {size / samples:.0f}"


def whole_of(recording: Recording) -> tuple[int, int]:
    """Samples whose stack leads to the start of its thread, and all."""
    with recording.connected() as connection:
        found = connection.execute(WHOLE).fetchone()
    assert found is not None
    return found[0], found[1]


@contextmanager
def _folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name:
        folder = Path(name)
        folder.chmod(0o777)  # for PostgreSQL, which does not run as root
        yield folder


def _commands(folder: Path) -> Iterator[tuple[str, Sequence[str]]]:
    yield "sqlite3", sqlite(folder, 5_000)
    yield "gcc", compile_(folder, 12)
    yield "python3", python(folder)
    if shutil.which("redis-server"):
        yield "redis", redis(folder)
    if shutil.which("initdb"):
        yield "postgres", postgres(folder)


def python(folder: Path) -> Sequence[str]:
    """CPython as the distribution has it, which writes, syncs and sorts."""
    script = folder / "work.py"
    script.write_text(PYTHON)
    return ["/usr/bin/python3", "-I", "-S", str(script), str(folder / "written")]


def redis(folder: Path, sets: int = 5_000) -> Sequence[str]:
    """A server that syncs at each of the sets, and its clients."""
    return ["sh", "-c", REDIS.format(folder, sets)]


def postgres(folder: Path, rows: int = 1_000) -> Sequence[str]:
    """One backend that commits row by row."""
    cluster, sql = folder / "cluster", folder / "rows.sql"
    own = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
    made = [*own, "initdb", "-D", str(cluster), "-N", "-A", "trust", "--no-locale"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL)
    inserts = (f"INSERT INTO t SELECT {n}, md5('{n}');\n" for n in range(rows))
    sql.write_text("CREATE TABLE t(a int, b text);\n" + "".join(inserts))
    return [*own, "sh", "-c", POSTGRES, str(shutil.which("postgres")), str(cluster), str(sql)]


def _record(command: Sequence[str], out: Path) -> None:
    subprocess.run(
        [program(RECORDER), "run", "--stacks", "-o", out, "--", *command],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
