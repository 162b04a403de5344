"""What reading a PostgreSQL's views 20 times a second costs it while it is recorded, as root: `python -m benchmarks.statements_cost [SECONDS]`.

One recording, within which the reader runs and does not, in turns; each time pgbench does the same transactions. All CPUs are busy, so
what the reader and its session take is the server's loss.
"""

import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from msgspec import Struct

from benchmarks.statements import connects, server
from iowhy.sources.live import program
from iowhy.sources.statements import Sampling

_SETTINGS = "shared_buffers = 256MB\n"
_EACH_S = 2.5
_CLIENTS = 2
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


class Took(Struct, frozen=True):
    """Seconds by the clock, of CPUs of the whole machine, and of the reader's process."""

    seconds: float
    cpu_s: float
    reader_s: float


def _busy_s() -> float:
    """User, nice, system, interrupts, stolen time not."""
    user, nice, system, _, _, irq, softirq, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    return (user + nice + system + irq + softirq) * _TICK_S


def _cpu_s(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) * _TICK_S


def _transactions(folder: Path, each: int) -> None:
    command = ["pgbench", "-n", "-S", "-c", str(_CLIENTS), "-j", "1", "-t", str(each)]
    subprocess.run([*command, *connects(folder)], check=True, capture_output=True)


def _took(folder: Path, each: int, reader: int | None) -> Took:
    began, busy = time.monotonic(), _busy_s()
    before = 0.0 if reader is None else _cpu_s(reader)
    _transactions(folder, each)
    after = 0.0 if reader is None else _cpu_s(reader)
    return Took(time.monotonic() - began, _busy_s() - busy, after - before)


def _pair(folder: Path, pid: int, each: int, first: bool) -> tuple[Took, Took]:
    """Without the reader, and with it."""
    found = {}
    for reads in (first, not first):
        if reads:
            with Sampling([pid], "", text=False) as sampling:
                found[reads] = _took(folder, each, sampling.processes[0])
        else:
            found[reads] = _took(folder, each, None)
    return found[False], found[True]


def measure(seconds: float) -> list[tuple[Took, Took]]:
    """Pairs for so long, each in an order by chance."""
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
                time.sleep(1)
                began = time.monotonic()
                _transactions(folder, 20_000)
                each = round(20_000 * _EACH_S / (time.monotonic() - began))
                found, end = [], time.monotonic() + seconds
                while time.monotonic() < end:
                    found.append(_pair(folder, pid, each, random.random() < 0.5))
                    print(*found[-1], file=sys.stderr)
                return found
            finally:
                recorder.terminate()
                recorder.wait(60)


def interval(values: list[float]) -> tuple[float, float]:
    """Of the median, 95 %: by samples drawn again from these."""
    drawn = sorted(statistics.median(random.choices(values, k=len(values))) for _ in range(4_000))
    return drawn[100], drawn[-100]


def table(seconds: float) -> str:
    """Markdown: medians of the pairs' ratios."""
    found = measure(seconds)
    lines = [f"{len(found)} pairs", "", "| with / without | median | 95 % |", "|---|--:|--:|"]
    for name in ("seconds", "cpu_s"):
        ratios = [getattr(reads, name) / getattr(alone, name) for alone, reads in found]
        low, high = interval(ratios)
        lines.append(f"| {name} | {statistics.median(ratios):.4f} | {low:.4f} to {high:.4f} |")
    reader = statistics.median(reads.reader_s / reads.seconds for _, reads in found)
    lines.append(f"| the reader's process, of one CPU | {reader:.4f} | |")
    return "\n".join(lines)


if __name__ == "__main__":
    os.umask(0o022)
    print(table(float(sys.argv[1]) if len(sys.argv) > 1 else 240))
