"""What the agent costs: the machine at rest, a command beside it, memory, and each of its programs.

python -m benchmarks.agent [--black-box TIME] CMD…    runs CMD while an agent runs
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks import overhead
from benchmarks.overhead import Tracer
from benchmarks.workloads import WORKLOADS, preads
from iowhy.agent import black_box
from iowhy.sources.live import RECORDER, program

#: The machine is at rest for so long; intervals are those of the agent's defaults.
REST_S = 60
FILE = '[agent]\ndirectory = "{folder}"\nevery = "10 s"\n{more}\n'
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def running(folder: Path, *options: str, more: str = "") -> Iterator[list[int]]:
    """An agent that counts, and its processes."""
    folder.mkdir()
    (folder / "agent.toml").write_text(FILE.format(folder=folder / "kept", more=more))
    argv = [sys.executable, "-m", "iowhy", "agent", "run", "-c", folder / "agent.toml", *options]
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=out) as agent:
        try:
            while not list((folder / "kept").glob(".open/*/manifest.json")):
                if agent.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.1)
            if options or "black-box" in more:
                time.sleep(5)
            yield [agent.pid, *_children(agent.pid)]
        finally:
            agent.send_signal(signal.SIGTERM)


def _children(pid: int) -> list[int]:
    found = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [int(child) for child in found]


def _cpu_s(pid: int) -> float:
    """Of a process that lives, and of its children that have ended."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / _TICKS


def _memory_bytes(pid: int) -> int:
    """Its own pages and its share of those of others (PSS)."""
    text = Path(f"/proc/{pid}/smaps_rollup").read_text()
    line = next(line for line in text.splitlines() if line.startswith("Pss:"))
    return int(line.split()[1]) * 1024


def at_rest(more: str = "", rest_s: float = REST_S) -> tuple[float, int]:
    """CPUs that it takes while nothing is asked of the machine, and its memory (bytes) after that."""
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as folder,
        running(Path(folder) / "agent", more=more) as pids,
    ):
        before, begin = sum(map(_cpu_s, pids)), time.monotonic()
        time.sleep(rest_s)
        cpus = (sum(map(_cpu_s, pids)) - before) / (time.monotonic() - begin)
        return cpus, sum(map(_memory_bytes, pids))


@contextmanager
def _statistics() -> Iterator[None]:
    """The kernel measures programs meanwhile."""
    switch = Path("/proc/sys/kernel/bpf_stats_enabled")
    before = switch.read_text()
    switch.write_text("1")
    try:
        yield
    finally:
        switch.write_text(before)


def per_program() -> list[tuple[str, int, float]]:
    """Name, runs and ns of a run of each program that the kernel measured (bpf_stats) under cached preads and SQLite."""
    with tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name, _statistics():
        folder = Path(name)
        stats = folder / "programs.json"
        argv = [program(RECORDER), "aggregate", "-o", folder / "kept", "--every", "1"]
        with subprocess.Popen(
            [*argv, "--program-stats", stats], stdout=subprocess.PIPE
        ) as counting:
            assert counting.stdout is not None
            counting.stdout.readline()
            (folder / "cached").write_bytes(bytes(1 << 20))
            for command in (preads(folder, 200_000), WORKLOADS[0].make(folder)):
                subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            counting.send_signal(signal.SIGINT)
            counting.communicate()
        rows = json.loads(stats.read_text())
    found = [(row["name"], row["runs"], row["ns"] / row["runs"]) for row in rows if row["runs"]]
    return sorted(found, key=lambda row: -row[1] * row[2])


def _beside(*options: str) -> Tracer:
    def wrap(command: Sequence[str], folder: Path) -> Sequence[str]:
        del folder
        return [sys.executable, "-m", "benchmarks.agent", *options, *command]

    return Tracer(f"the agent {' '.join(options)}".strip(), wrap)


def table() -> str:
    """All of it, as Markdown."""
    rest, full = at_rest(), at_rest('black-box = "60 s"')
    ratios = overhead.measure(tracers=(_beside(), _beside("--black-box", "60s")))
    lines = [
        "| at rest | CPUs | memory |",
        "|---|---|---|",
        f"| the agent | {rest[0]:.4f} | {rest[1] >> 20} MiB |",
        f"| with --black-box 60s | {full[0]:.4f} | {full[1] >> 20} MiB and what lies in {black_box.MEMORY} |",
        "",
        overhead.table(ratios),
        "",
        "| program | runs | ns a run |",
        "|---|---|---|",
        *(f"| {name} | {runs:,} | {ns:.0f} |" for name, runs, ns in per_program()),
    ]
    return "\n".join(lines)


def main(words: Sequence[str]) -> int:
    """Runs a command beside an agent; gives its exit status."""
    options = list(words[:2]) if words[:1] == ["--black-box"] else []
    with (
        tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as folder,
        running(Path(folder) / "agent", *options),
    ):
        return subprocess.run(words[len(options) :], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
