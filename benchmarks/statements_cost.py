"""What reading a PostgreSQL's views 20 times a second costs it while it is recorded, as root: `python -m benchmarks.statements_cost [SECONDS] [SLICES]`.

One recording, one run of pgbench on all CPUs, so that what the reader and its session take is the server's loss. The reader is stopped and
let go on in slices of a quarter of a second, two and two in an order by chance, so that both see the same machine. Transactions of a slice
are those that pgbench logs; CPU time is the kernel's, of the reader's process and of the session that answers it. SLICES: a file of
the slices, to which these are added.
"""

import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from bisect import bisect
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.statements import connects, server
from iowhy import proc_stat
from iowhy.sources.live import program
from iowhy.sources.statements import Sampling

_SETTINGS = "shared_buffers = 256MB\n"
_SLICE_S = 0.25
_CLIENTS = 2
_OURS = "SELECT pid FROM pg_stat_activity WHERE application_name = 'iowhy'"


class Slice(Struct, frozen=True):
    """Transactions a second, and CPU seconds a second: of all of it, of the reader, and of its session."""

    reads: bool
    per_s: float
    all_s: float
    reader_s: float
    session_s: float


def _cpu_s(pids: Iterable[int]) -> float:
    """As the scheduler counts it, of all their threads."""
    tasks = (task for pid in pids for task in Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def _with_children(pids: Iterable[int]) -> list[int]:
    found, parents = list(pids), proc_stat.parents()
    for pid in found:
        found += [one for one, parent in parents.items() if parent == pid]
    return found


def _sliced(
    reader: int, session: int, others: list[int], seconds: float
) -> list[tuple[bool, float, float, float, float]]:
    """Whether it read, until when, and the sums of CPU time then."""
    found: list[tuple[bool, float, float, float, float]] = []
    end = time.time() + seconds
    try:
        while time.time() < end:
            first = random.random() < 0.5
            for reads in (first, not first):
                os.kill(reader, signal.SIGCONT if reads else signal.SIGSTOP)
                time.sleep(_SLICE_S)
                sums = _cpu_s([*others, reader]), _cpu_s([reader]), _cpu_s([session])
                found.append((reads, time.time(), *sums))
    finally:
        os.kill(reader, signal.SIGCONT)
    return found


def _ended(folder: Path) -> list[float]:
    """When each transaction ended: client, number, microseconds, script, second, microsecond of it."""
    lines = (line.split() for log in folder.glob("t.*") for line in log.open())
    return sorted(int(second) + int(part) / 1e6 for *_, second, part in lines)


def measure(seconds: float) -> list[Slice]:
    """Slices for so long, two by two."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
        folder = Path(made)
        folder.chmod(0o777)
        with server(folder, _SETTINGS) as pid:
            init = ["pgbench", "-i", "-q", "-s", "5", *connects(folder)]
            subprocess.run(init, check=True, capture_output=True)
            out = folder / "r.iowhy"
            recorder = subprocess.Popen([program("iowhy"), "run", "-q", "-p", str(pid), "-o", out])
            try:
                while not (out / "manifest.json").exists():
                    time.sleep(0.05)
                with Sampling([pid], "", text=False) as sampling:
                    return _loaded(folder, sampling.processes[0], (pid, recorder.pid), seconds)
            finally:
                recorder.terminate()
                recorder.wait(60)


def _loaded(folder: Path, reader: int, pids: tuple[int, int], seconds: float) -> list[Slice]:
    asked = ["psql", "-X", "-t", "-A", "-c", _OURS, *connects(folder)]
    session = int(subprocess.run(asked, check=True, capture_output=True, text=True).stdout)
    load = ["-n", "-S", "-l", f"--log-prefix={folder}/t", "-c", str(_CLIENTS), "-j", "1"]
    command = ["pgbench", *load, "-T", str(round(seconds) + 4), *connects(folder)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.STDOUT) as client:
        time.sleep(2)
        others = _with_children([*pids, client.pid])
        found = _sliced(reader, session, others, seconds)
    ended = _ended(folder)
    slices = []
    for (_, begun, *before), (reads, until, *after) in pairwise(found):
        count, took = bisect(ended, until) - bisect(ended, begun), until - begun
        cpu = [(one - other) / took for one, other in zip(after, before, strict=True)]
        slices.append(Slice(reads, count / took, *cpu))
    # Without the first two, of which one has no begin.
    return slices[1:]


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, 95 %: by samples drawn again from these."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(2_000))
    return drawn[50], drawn[-50]


def table(slices: list[Slice]) -> str:
    """Markdown: what a transaction takes in a slice with the reader over the one next to it, and what the reader takes."""
    two_and_two = zip(slices[::2], slices[1::2], strict=False)
    pairs = [sorted(two, key=lambda one: one.reads) for two in two_and_two]
    ratios = {
        "CPU time of a transaction, with the recorder's, the reader's and its session's": [
            (read.all_s / read.per_s) / (alone.all_s / alone.per_s) for alone, read in pairs
        ],
        "time of a transaction": [alone.per_s / read.per_s for alone, read in pairs],
    }
    lines = [f"{len(pairs)} pairs", "", "| with / without | median | 95 % |", "|---|--:|--:|"]
    for name, values in ratios.items():
        low, high = interval(values)
        lines.append(f"| {name} | {statistics.median(values):.4f} | {low:.4f} to {high:.4f} |")
    read = [one for one in slices if one.reads]
    for name, who in (("reader_s", "reader's process"), ("session_s", "session that answers it")):
        took = statistics.fmean(getattr(one, name) for one in read)
        lines.append(f"| the {who}, of one CPU | {took:.4f} | |")
    return "\n".join(lines)


def main(seconds: float, kept: Path | None) -> None:
    """Prints it, of what was kept too."""
    slices = measure(seconds)
    if kept is not None:
        before = kept.read_bytes() if kept.exists() else b"[]"
        slices = msgspec.json.decode(before, type=list[Slice]) + slices
        kept.write_bytes(msgspec.json.encode(slices))
    print(table(slices))


if __name__ == "__main__":
    os.umask(0o022)
    main(
        float(sys.argv[1]) if len(sys.argv) > 1 else 100,
        Path(sys.argv[2]) if len(sys.argv) > 2 else None,
    )
