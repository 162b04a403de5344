"""What the agent costs: the machine at rest, a command beside it, and memory."""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead import emptied, quoted, timed
from benchmarks.workloads import WORKLOADS, Workload

#: The machine is at rest for so long; intervals are those of the agent's defaults.
REST_S = 60
PAIRS = 9
KINDS = {"the agent": "", "with a black box of 60 s": 'black-box = "60 s"'}
FILE = '[agent]\ndirectory = "{folder}"\nevery = "10 s"\n{more}\n'
_TICKS = os.sysconf("SC_CLK_TCK")


@contextmanager
def running(folder: Path, more: str = "") -> Iterator[list[int]]:
    """An agent that counts, and its processes."""
    folder.mkdir()
    (folder / "agent.toml").write_text(FILE.format(folder=folder / "kept", more=more))
    argv = [sys.executable, "-m", "iowhy", "agent", "run", "-c", folder / "agent.toml"]
    log = folder / "log"
    with log.open("wb") as out, subprocess.Popen(argv, stdout=out, stderr=out) as agent:
        try:
            while not list((folder / "kept").glob(".open/*/manifest.json")):
                if agent.poll() is not None:
                    raise SystemExit(log.read_text())
                time.sleep(0.1)
            if more:
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


@dataclass(frozen=True)
class Beside:
    """What a command took of the time and of the CPUs beside an agent, over what it took alone, and the agent's CPU time over the command's."""

    elapsed: float
    cpu: float
    agent_cpu: float


def beside(workload: Workload, more: str, pairs: int, shuffled: random.Random) -> list[Beside]:
    """Pairs of runs, alone and beside an agent, in random order."""
    found = []
    with emptied(workload) as folder:
        command = [*workload.make(folder)]
        timed(workload, command, folder)  # warms files and caches
        for number in range(pairs):
            runs: dict[bool, tuple[float, float]] = {}
            of_agent = 0.0
            for there in shuffled.sample([False, True], 2):
                if not there:
                    runs[there] = timed(workload, command, folder)
                    continue
                with (
                    tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as kept,
                    running(Path(kept) / "agent", more=more) as pids,
                ):
                    before = sum(map(_cpu_s, pids))
                    runs[there] = timed(workload, command, folder)
                    of_agent = sum(map(_cpu_s, pids)) - before
            (alone_s, alone_cpu), (with_s, with_cpu) = runs[False], runs[True]
            found.append(Beside(with_s / alone_s, with_cpu / alone_cpu, of_agent / alone_cpu))
            print(f"\r{workload.name}: pair {number + 1}  ", end="", file=sys.stderr)
    return found


def table(pairs: int = PAIRS, seed: int = 1) -> str:
    """All of it, as Markdown."""
    shuffled = random.Random(seed)
    lines = ["| at rest | CPUs | memory |", "|---|---|---|"]
    for name, more in KINDS.items():
        cpus, memory = at_rest(more)
        lines.append(f"| {name} | {cpus:.4f} | {memory >> 20} MiB |")
    lines += [
        "",
        "| | elapsed, over alone | CPU time, over alone | the agent's CPU time, of the command's |",
        "|---|---|---|---|",
    ]
    for workload in WORKLOADS[1:]:  # the machine's own disk differs too much from run to run
        for name, more in KINDS.items():
            runs = beside(workload, more, pairs, shuffled)
            columns = [
                [r.elapsed for r in runs],
                [r.cpu for r in runs],
                [r.agent_cpu for r in runs],
            ]
            lines.append(f"| {workload.name}: {name} | {' | '.join(map(quoted, columns))} |")
            print(f"\r{lines[-1]}", file=sys.stderr, flush=True)
    return "\n".join(lines)
