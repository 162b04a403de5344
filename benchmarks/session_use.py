"""What a command and all that it starts take: time, CPU time, and the most memory at a moment.

What a command starts and does not wait for (a Java machine) is in no rusage of it, so /proc is looked at again and again: all processes of
its session. What a process does after the last look is not counted, a tenth of a second at most.
"""

import os
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

_LOOK_S = 0.1
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")
_PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")


@dataclass(frozen=True)
class Use:
    """`memory_bytes`: resident memory of all its processes, their sum when it was most; what they share counts in each."""

    elapsed_s: float
    cpu_s: float
    memory_bytes: int


def used_by(words: Sequence[str], environment: Mapping[str, str]) -> Use:
    """Runs a command to its end. Raises SystemExit with what it said where it fails."""
    begin = time.perf_counter()
    process = subprocess.Popen(
        words,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=dict(environment),
        start_new_session=True,
    )
    cpu: dict[int, float] = {}
    most = 0
    while process.poll() is None:
        most = max(most, _look(process.pid, cpu))
        time.sleep(_LOOK_S)
    elapsed_s = time.perf_counter() - begin
    assert process.stderr is not None
    said = process.stderr.read().decode(errors="replace")
    if process.returncode:
        raise SystemExit(f"{' '.join(words)} ended with {process.returncode}: {said[-2000:]}")
    return Use(elapsed_s, sum(cpu.values()), most)


def _look(session: int, cpu: dict[int, float]) -> int:
    """Notes the CPU time of each process of the session; gives the memory of those that there are."""
    memory = 0
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            # After the name, which may hold anything: state, parent, group, session, … (proc_pid_stat(5)).
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[3]) == session:
            cpu[int(entry.name)] = (int(fields[11]) + int(fields[12])) * _TICK_S
            memory += int(fields[21]) * _PAGE_BYTES
    return memory
