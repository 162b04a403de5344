"""How much slower a command gets under iowhy, and under other tracers, in pairs side by side.

A pair is one run without a tracer and one with it, in random order; the command times itself by a
wrapper that runs under the tracer too, so that starting the tracer does not count. The ratio of a
pair is quoted as median (lowest to highest).
"""

import random
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from benchmarks.workloads import WORKLOADS, Workload
from iowhy.lab.stage import Choice, stage
from iowhy.sources.live import RECORDER, program

FLOOR = "programs that return at once"
SLOW_PAIRS = 3  # for tracers that make the command many times slower
WRAPPER = (
    "import resource, subprocess, sys, time; start = time.monotonic();"
    "subprocess.run(sys.argv[2:], check=True, stdout=subprocess.DEVNULL);"
    "end = time.monotonic(); used = resource.getrusage(resource.RUSAGE_CHILDREN);"
    "open(sys.argv[1], 'w').write(f'{end - start} {used.ru_utime + used.ru_stime}')"
)
HISTOGRAM = (
    "tracepoint:raw_syscalls:sys_enter { @start[tid] = nsecs; } "
    "tracepoint:raw_syscalls:sys_exit /@start[tid]/ "
    "{ @ns[args->id] = hist(nsecs - @start[tid]); delete(@start[tid]); }"
)


@dataclass(frozen=True)
class Tracer:
    """A way to run a command; `slow` ones get less work."""

    name: str
    wrap: Callable[[Sequence[str], Path], Sequence[str]]
    slow: bool = False


def recorded(*options: str) -> Callable[[Sequence[str], Path], Sequence[str]]:
    """Has the recorder run a command with these options, `{folder}` in them the folder: into bench.iowhy there."""

    def wrap(command: Sequence[str], folder: Path) -> Sequence[str]:
        shutil.rmtree(folder / "bench.iowhy", ignore_errors=True)
        given = [option.format(folder=folder) for option in options]
        return [
            str(program(RECORDER)),
            "run",
            *given,
            "-o",
            f"{folder}/bench.iowhy",
            "--",
            *command,
        ]

    return wrap


def _floor(command: Sequence[str], folder: Path) -> Sequence[str]:
    del folder
    return [sys.executable, "-m", "benchmarks.floor", *command]


WITHOUT_STACKS = Tracer("iowhy, all sensors", recorded())
WITH_STACKS = Tracer("the same with --stacks", recorded("--stacks"))
TRACERS = (
    WITHOUT_STACKS,
    WITH_STACKS,
    Tracer(FLOOR, _floor),
    Tracer(
        "bpftrace, histogram per call",
        lambda c, f: ["bpftrace", "-o", f"{f}/bt", "-e", HISTOGRAM, "-c", _joined(c, f)],
    ),
    Tracer("perf trace -s", lambda c, f: ["perf", "trace", "-s", "-o", f"{f}/pt", *c], slow=True),
    Tracer("strace -f -c", lambda c, f: ["strace", "-f", "-c", "-o", f"{f}/st", *c], slow=True),
)


@dataclass(frozen=True)
class Ratio:
    """Slow-down of one workload under one tracer: one ratio per pair."""

    workload: str
    tracer: str
    ratios: tuple[float, ...]

    def __str__(self) -> str:
        ordered = sorted(self.ratios)
        middle = statistics.median(ordered)
        return f"{middle:.2f} ({ordered[0]:.2f} to {ordered[-1]:.2f})"


def measure(
    workloads: Sequence[Workload] = WORKLOADS, tracers: Sequence[Tracer] = TRACERS, seed: int = 1
) -> list[Ratio]:
    """Run all pairs; progress goes to stderr."""
    shuffled = random.Random(seed)
    found = []
    for workload in workloads:
        for tracer in tracers:
            with emptied(workload) as folder:
                command = _scaled(workload, folder, tracer.slow)
                plain = [*command]
                timed(workload, plain, folder)  # warms files and caches
                pairs = []
                for number in range(SLOW_PAIRS if tracer.slow else workload.pairs):
                    times = {}
                    try:
                        for traced in shuffled.sample([False, True], 2):
                            times[traced], _ = timed(
                                workload, plain, folder, tracer if traced else None
                            )
                    except subprocess.CalledProcessError as error:
                        # Not every machine lets every tracer run; the others' pairs are worth having.
                        print(f"\r{workload.name} · {tracer.name}: {error}", file=sys.stderr)
                        break
                    pairs.append(times[True] / times[False])
                    print(
                        f"\r{workload.name} · {tracer.name}: pair {number + 1}  ",
                        end="",
                        file=sys.stderr,
                    )
                if not pairs:
                    continue
                found.append(Ratio(workload.name, tracer.name, tuple(pairs)))
                print(f"\r{workload.name} · {tracer.name}: {found[-1]}", file=sys.stderr)
    return found


@contextmanager
def emptied(workload: Workload) -> Iterator[Path]:
    """An empty folder, on the machine's own disk or on an emulated one."""
    if workload.device is None:
        with tempfile.TemporaryDirectory(prefix="iowhy-bench.", dir="/var/tmp") as name:
            yield Path(name)
        return
    with stage(Choice(fs="ext4", device=workload.device)) as made:
        filesystem = made.scratch_filesystem(256)
        made.start_clock()
        yield filesystem.path
        made.stop_clock()


def table(ratios: Sequence[Ratio]) -> str:
    """A Markdown table, a row per workload and a column per tracer."""
    tracers = list(dict.fromkeys(r.tracer for r in ratios))
    lines = ["| slow-down of | " + " | ".join(tracers) + " |", "|---" * (len(tracers) + 1) + "|"]
    for workload in dict.fromkeys(r.workload for r in ratios):
        cells = {r.tracer: str(r) for r in ratios if r.workload == workload}
        lines.append(f"| {workload} | " + " | ".join(cells.get(t, "–") for t in tracers) + " |")
    return "\n".join(lines)


def _scaled(workload: Workload, folder: Path, slow: bool) -> Sequence[str]:
    if not slow:
        return workload.make(folder)
    defaults = workload.make.__defaults__
    assert defaults is not None
    return workload.make(folder, defaults[0] // workload.scale_for_slow)  # type: ignore[call-arg]


def timed(
    workload: Workload, command: Sequence[str], folder: Path, tracer: Tracer | None = None
) -> tuple[float, float]:
    """Seconds that the command took, and what it and its children took of the CPUs in them."""
    workload.prepare(folder)
    seconds = folder / "seconds"
    wrapped: Sequence[str] = [sys.executable, "-I", "-S", "-c", WRAPPER, str(seconds), *command]
    if tracer is not None:
        wrapped = tracer.wrap(wrapped, folder)
    subprocess.run(
        wrapped, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=900
    )
    elapsed, cpu = seconds.read_text().split()
    return float(elapsed), float(cpu)


def quoted(values: Sequence[float]) -> str:
    """Median, and the quartiles: the ends of a few runs are the machine's."""
    low, middle, high = statistics.quantiles(values, n=4)
    return f"{middle:.3f} ({low:.3f} to {high:.3f})"


def _joined(command: Sequence[str], folder: Path) -> str:
    """bpftrace's -c splits at spaces and starts binaries only: a script holds the command."""
    import shlex

    script = folder / "command.sh"
    script.write_text("#!/bin/sh\nexec " + shlex.join(command) + "\n")
    script.chmod(0o755)
    return f"/bin/sh {script}"
