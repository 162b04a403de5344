"""How fast a large strace log is read, and with how much memory.

    python -m benchmarks.strace_log [MB]      default 1000; the log is made in $TMPDIR and removed

Prints a Markdown table: reading alone (`iowhy-logs`), and the whole of `iowhy diagnose`'s reading, with rows in tables.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from iowhy.sources.live import program

#: Calls as a database makes them; lengths, offsets and times vary.
LINES = (
    '{tid} {s}.{us:06d} pwrite64(7</var/lib/db/data{file}.db>, "\\0\\0\\1\\31"..., {size}, {offset}) = {size} <0.000{us2:03d}>\n',
    '{tid} {s}.{us:06d} pread64(7</var/lib/db/data{file}.db>, "SQLite format 3"..., {size}, {offset}) = {size} <0.000{us2:03d}>\n',
    "{tid} {s}.{us:06d} fdatasync(8</var/lib/db/log{file}.wal> <unfinished ...>\n"
    "{tid} {s}.{us:06d} <... fdatasync resumed>)     = 0 <0.012{us2:03d}>\n",
    "{tid} {s}.{us:06d} futex(0x7f8a3c0009e0, FUTEX_WAKE_PRIVATE, 1) = {one} <0.000{us2:03d}>\n",
    '{tid} {s}.{us:06d} write(2, "2026-01-01 info: checkpoint done\\n", 32) = 32 <0.000{us2:03d}>\n',
)


def make(path: Path, size: int, seed: int = 1) -> int:
    """Write a log of about `size` bytes; returns its lines."""
    rng = np.random.default_rng(seed)
    block, lines, written = [], 0, 0
    for n in range(200_000):
        at = 1_700_000_000_000_000 + n * 37
        block.append(
            LINES[int(rng.integers(len(LINES)))].format(
                tid=1000 + int(rng.integers(16)), s=at // 10**6, us=at % 10**6, file=int(rng.integers(50)),
                size=4096 << int(rng.integers(4)), offset=int(rng.integers(2**36)), us2=int(rng.integers(1000)),
                one=int(rng.integers(2)),
            )
        )  # fmt: skip
    data = "".join(block).encode()
    with path.open("wb") as file:
        while written < size:
            file.write(data)
            written += len(data)
            lines += data.count(b"\n")
    return lines


def used(argv: list[str]) -> tuple[float, float, int]:
    """Elapsed and CPU seconds and the largest memory (bytes) of a command with its children."""
    read = (
        "import json,resource,subprocess,sys,time;s=time.monotonic();"
        "subprocess.run(sys.argv[1:],stdout=subprocess.DEVNULL,check=True);e=time.monotonic()-s;"
        "u=resource.getrusage(resource.RUSAGE_CHILDREN);"
        "print(json.dumps([e,u.ru_utime+u.ru_stime,u.ru_maxrss*1024]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", read, *argv], capture_output=True, text=True, check=True
    )
    elapsed, cpu, memory = json.loads(done.stdout)
    return elapsed, cpu, memory


def table(megabytes: int) -> str:
    """Measure, and the result as Markdown."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "strace.txt"
        lines = make(log, megabytes * 10**6)
        size = log.stat().st_size
        whole = (
            "import sys; from pathlib import Path; from iowhy.sources.formats import strace; "
            "from iowhy.sources.names import Names; "
            "p = strace.stream(Path(sys.argv[1]), Names(), lambda a, b: None); assert not p.rejects"
        )
        rows = []
        for name, argv in (
            ("iowhy-logs alone", [str(program("iowhy-logs")), "strace", str(log), folder]),
            ("into tables", [sys.executable, "-c", whole, str(log)]),
        ):
            elapsed, cpu, memory = used(argv)
            rows.append(
                f"| {name} | {elapsed:.1f} s | {size / elapsed / 1e6:.0f} | {size / cpu / 1e6:.0f} | {memory >> 20} |"
            )
    head = f"{size / 1e6:,.0f} MB, {lines:,} lines, {os.cpu_count()} CPUs\n\n"
    head += "| | time | MB/s | MB per CPU second | MiB of memory |\n|---|---|---|---|---|\n"
    return head + "\n".join(rows)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print(table(int(sys.argv[1]) if len(sys.argv) > 1 else 1000))
