"""User stacks: how many lead to the start of their thread, what one takes, and how soon a verdict of many is there."""

import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.generated import CALLS, events, manifest_until
from benchmarks.generated_machine import FS, machine
from benchmarks.workloads import compile_, sqlite
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.stored_rows import StoredRows
from iowhy.recordings.writer import write_recording
from iowhy.sources.live import RECORDER, program

TABLES = ("stack_samples", "user_stacks", "modules")
#: At a tick in execve a process has no program whose start its stack could lead to.
WHOLE = "SELECT count(*) FILTER (whole), count(*) FROM stack_samples WHERE syscall IS DISTINCT FROM 'execve'"
SAMPLES = 100_000
#: Stacks of so many functions each that are told apart.
STACKS, FRAMES = 2_000, 12
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
    """Shares and sizes of programs that are installed here, then the time of the verdict."""
    lines = [
        "| program | stacks | to the start of the thread | bytes of each |",
        "|---|---|---|---|",
    ]
    with _folder() as folder:
        for name, command in _commands(folder):
            out = folder / f"{name}.iowhy"
            _record(command, out)
            lines.append(f"| {name} | {_measured(out)} |")
    return "\n".join([*lines, "", verdict_time()])


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


def verdict_time() -> str:
    """`iowhy why` of a recording with SAMPLES stacks, that was not asked before."""
    with _folder() as folder:
        seconds = []
        on_cpus = []
        for number in range(3):
            recording = _generated(folder / f"{number}.iowhy", number)
            before, cpu_before = time.monotonic(), _cpu_of_children()
            subprocess.run(
                [sys.executable, "-m", "iowhy.cli.main", "why", str(recording)],
                check=True,
                stdout=subprocess.DEVNULL,
            )
            seconds.append(time.monotonic() - before)
            on_cpus.append(_cpu_of_children() - cpu_before)
        seconds.sort()
    return (
        f"The verdict of a recording with {SAMPLES:,} stacks and 300,000 calls: median {seconds[1]:.2f} s "
        f"({seconds[0]:.2f} to {seconds[-1]:.2f}, 3 runs; aim: 1.5), "
        f"{min(on_cpus):.2f} s on CPUs at least."
    )


def _cpu_of_children() -> float:
    """Seconds of those that ended: a busy machine makes a command longer, its time on a CPU hardly."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _generated(path: Path, seed: int, samples: int = SAMPLES) -> Path:
    """A recording whose stacks are drawn at random, of the threads and calls that it has."""
    rng = np.random.default_rng(seed)
    tables, end_ns = events(rng, 300_000, 8, 50)
    tables |= machine(rng, end_ns, 8, 50)
    at = np.sort(rng.choice(tables["syscalls"].num_rows, samples))
    calls = tables["syscalls"].take(pa.array(at))
    weight = rng.integers(500_000, 1_500_000, samples)
    blocked = weight * 3 // 4
    tables["stack_samples"] = pa.table(
        {
            "ts_ns": calls["ts_ns"],
            "tgid": calls["tgid"],
            "tid": calls["tid"],
            "kind": np.full(samples, "call"),
            "syscall": calls["name"],
            # Few stacks have most of the time, as programs' do.
            "user_stack_id": (STACKS * rng.random(samples) ** 3).astype(np.int64),
            "whole": np.full(samples, True),
            "weight_ns": weight,
            "cpu_ns": weight - blocked,
            "runnable_ns": np.zeros(samples, np.int64),
            "blocked_ns": blocked,
            "sleeping_ns": np.zeros(samples, np.int64),
            "calls": np.ones(samples, np.int64),
            "dev": np.full(samples, FS),
            "ino": calls["ino"],
        }
    )
    frames = STACKS * FRAMES
    depth = np.tile(np.arange(FRAMES), STACKS)
    stack = np.repeat(np.arange(STACKS), FRAMES)
    tables["user_stacks"] = pa.table(
        {
            "user_stack_id": stack,
            "depth": depth,
            "inlined": np.full(frames, False),
            "module_id": np.ones(frames, np.int64),
            "offset_bytes": 4096 + 64 * depth,
            # The outermost are the same in all, the innermost in few.
            "function": [
                f"function_{d}_{s >> min(d, 11)}" for d, s in zip(depth, stack, strict=True)
            ],
        }
    )
    tables["modules"] = pa.table({"module_id": [1], "path": ["/usr/bin/program"], "kind": ["file"]})
    assert set(tables["stack_samples"]["syscall"].unique().to_pylist()) <= set(CALLS.tolist())
    stored = {name: StoredRows.of(rows) for name, rows in tables.items()}
    return write_recording(path, manifest_until(end_ns), stored).path
