"""What user stacks add to the slow-down, counted: pairs of elapsed times on a busy machine differ by more than is asked here.

A run with stacks and one without, in random order. What they add is the time that the programs in the kernel take more, by the
kernel's own statistics, and what the recorder's threads take more of the CPUs while the command runs. All of it together is the
most that the command can be slower by: the recorder's threads may have had a CPU that nobody else wanted. It is told over what
the command takes without a recorder, its elapsed time or its time on CPUs, whichever is longer. Of some runs the least counts:
what others do on the machine makes each of these times longer, none shorter.
"""

import json
import random
import resource
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead import Tracer, emptied, quoted, recorded, timed
from benchmarks.recorder import programs_counted
from benchmarks.workloads import WORKLOADS, Workload
from iowhy.recordings import open_recording

PAIRS = 7
STATISTICS = ("--program-stats", "{folder}/programs.json")
TRACERS = {
    False: Tracer("without stacks", recorded(*STATISTICS)),
    True: Tracer("with stacks", recorded("--stacks", *STATISTICS)),
}


@dataclass(frozen=True)
class Run:
    """What one run took of the CPUs, seconds."""

    programs: float
    recorder: float
    stacks: int


def table(pairs: int = PAIRS, workloads: Sequence[Workload] = WORKLOADS, seed: int = 1) -> str:
    """A Markdown table, a row per workload, and what a command that does nothing pays; progress goes to stderr."""
    lines = [
        "| of the command's time | programs without | with stacks | recorder's threads without | with stacks |"
        " stacks | more, all together | the command took |",
        "|---|---|---|---|---|---|---|---|",
    ]
    shuffled = random.Random(seed)
    with programs_counted():
        for workload in workloads:
            lines.append(_row(workload, pairs, shuffled))
            print(f"\r{lines[-1]}", file=sys.stderr, flush=True)
    return "\n".join([*lines, "", _of_nothing(3 * pairs, shuffled)])


def _row(workload: Workload, pairs: int, shuffled: random.Random) -> str:
    runs: dict[bool, list[Run]] = {False: [], True: []}
    with emptied(workload) as folder:
        command = [*workload.make(folder)]
        timed(workload, command, folder)  # warms files and caches
        took = min(max(timed(workload, command, folder)) for _ in range(3))
        for number in range(pairs):
            for stacks in shuffled.sample([False, True], 2):
                runs[stacks].append(_run(workload, command, folder, stacks))
            print(f"\r{workload.name}: pair {number + 1}  ", end="", file=sys.stderr)

    def least(stacks: bool, part: str) -> float:
        return min(getattr(run, part) for run in runs[stacks]) / took

    parts = ("programs", "recorder")
    more = sum(least(True, part) - least(False, part) for part in parts)
    cells = [
        *(f"{least(stacks, part):.4f}" for part in parts for stacks in (False, True)),
        f"{statistics.median(run.stacks for run in runs[True]):,.0f}",
        f"{more:.4f}",
        f"{took:.2f} s",
    ]
    return f"| {workload.name} | {' | '.join(cells)} |"


def _run(workload: Workload, command: Sequence[str], folder: Path, stacks: bool) -> Run:
    timed(workload, command, folder, TRACERS[stacks])
    counted = json.loads((folder / "programs.json").read_text())
    manifest = open_recording(folder / "bench.iowhy").manifest
    assert manifest.recorder.cpu_ns is not None
    samples = manifest.tables.get("stack_samples")
    return Run(
        sum(row["ns"] for row in counted) / 1e9,
        manifest.recorder.cpu_ns / 1e9,
        samples.kept if samples else 0,
    )


def _of_nothing(pairs: int, shuffled: random.Random) -> str:
    """What a recording of `true` takes of the CPUs as a whole: its programs are loaded, its names found."""
    workload = Workload("true", lambda _: ["true"], lambda _: None, 1)
    taken: dict[bool, list[float]] = {False: [], True: []}
    with emptied(workload) as folder:
        for _ in range(pairs):
            for stacks in shuffled.sample([False, True], 2):
                options = ["--stacks"] if stacks else []
                before = _cpu_of_children()
                subprocess.run(recorded(*options)(["true"], folder), check=True)
                taken[stacks].append(_cpu_of_children() - before)
    more = [w - wo for wo, w in zip(taken[False], taken[True], strict=True)]
    return (
        f"A recording of `true` takes {quoted(taken[False])} s on CPUs without stacks and {quoted(taken[True])} s with them: "
        f"{quoted(more)} s more ({pairs} pairs)."
    )


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
