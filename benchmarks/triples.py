"""What user stacks add to the slow-down, in triples: a run without a recorder, one with it, one with its stacks, in random order.

Beside the time of the three stands what they took of the CPUs, which differs less from run to run: of the command by its
own account (the programs in the kernel are part of it), and of the recorder's threads while the command ran.
"""

import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.overhead import WITH_STACKS, WITHOUT_STACKS, Tracer, emptied, quoted, timed
from benchmarks.workloads import WORKLOADS, Workload
from iowhy.recordings import open_recording

TRIPLES = 9
KINDS: dict[str, Tracer | None] = {"plain": None, "off": WITHOUT_STACKS, "on": WITH_STACKS}


@dataclass(frozen=True)
class Run:
    """One run; seconds."""

    elapsed: float
    command_cpu: float
    recorder_cpu: float

    @property
    def cpu(self) -> float:
        return self.command_cpu + self.recorder_cpu


Triple = dict[str, Run]


def table(triples: int = TRIPLES, workloads: Sequence[Workload] = WORKLOADS, seed: int = 1) -> str:
    """A Markdown table, a row per workload; progress goes to stderr."""
    lines = [
        "| slow-down of | without stacks | with stacks | the one over the other | more on CPUs, of the command's CPU time |"
        " of it the recorder's threads |",
        "|---|---|---|---|---|---|",
    ]
    shuffled = random.Random(seed)
    for workload in workloads:
        runs = _runs(workload, triples, shuffled)
        cells = [
            quoted([r["off"].elapsed / r["plain"].elapsed for r in runs]),
            quoted([r["on"].elapsed / r["plain"].elapsed for r in runs]),
            quoted([r["on"].elapsed / r["off"].elapsed for r in runs]),
            quoted([(r["on"].cpu - r["off"].cpu) / r["plain"].cpu for r in runs]),
            quoted([(r["on"].recorder_cpu - r["off"].recorder_cpu) / r["plain"].cpu for r in runs]),
        ]
        lines.append(f"| {workload.name} | {' | '.join(cells)} |")
        print(f"\r{lines[-1]}", file=sys.stderr, flush=True)
    return "\n".join(lines)


def _runs(workload: Workload, triples: int, shuffled: random.Random) -> list[Triple]:
    runs = []
    with emptied(workload) as folder:
        command = [*workload.make(folder)]
        timed(workload, command, folder)  # warms files and caches
        for number in range(triples):
            runs.append(
                {
                    kind: _run(workload, command, folder, KINDS[kind])
                    for kind in shuffled.sample([*KINDS], 3)
                }
            )
            print(f"\r{workload.name}: triple {number + 1}  ", end="", file=sys.stderr)
    return runs


def _run(workload: Workload, command: Sequence[str], folder: Path, tracer: Tracer | None) -> Run:
    elapsed, cpu = timed(workload, command, folder, tracer)
    if tracer is None:
        return Run(elapsed, cpu, 0)
    of_recorder = open_recording(folder / "bench.iowhy").manifest.recorder.cpu_ns
    assert of_recorder is not None
    return Run(elapsed, cpu, of_recorder / 1e9)
