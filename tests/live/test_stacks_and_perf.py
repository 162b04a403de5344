"""User stacks beside another tool's: perf follows them by `.eh_frame` tables too, and times each call itself."""

import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

from conftest import cannot_run
from disturbances import Disturbed
from iowhy.recording import Recording
from iowhy.sources.later_names import symbolize
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

SOURCE = Path(__file__).parent / "paths" / "paths.c"
#: Milliseconds: of 4 s that it computes, 400 ticks of iowhy's tell shares to 2 points (test_stacks.py).
UNIT_MS = "400"
NAMES_S = 60.0
#: Of a share of the time, by which two samplings of it may differ.
POINTS = 0.02
DWARF = "call-graph=dwarf,stack-size=4096"
#: fsync as it begins, with its stack; its end; ticks.
EVENTS = (
    f"syscalls:sys_enter_fsync/{DWARF}/",
    "syscalls:sys_exit_fsync",
    f"cpu-clock/{DWARF},freq=499/",
)
#: Functions of the program itself: the C library's have several names each.
OWN = ("sync_once", "work", "path_of_a", "path_of_b", "path_of_c", "run_path", "main")
SAMPLED = """
SELECT s.kind, list(u.function ORDER BY u.depth, u.inlined DESC), any_value(s.weight_ns)
FROM stack_samples s JOIN user_stacks u USING (user_stack_id)
WHERE s.tid = s.tgid AND (s.kind = 'cpu' OR s.syscall = 'fsync')
GROUP BY s.kind, s.ts_ns, s.tid
"""
Paths = Counter[tuple[str, ...]]


def test_perf_finds_the_same_paths_with_the_same_shares(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Costs 13 s. The program gives each run the same shares."""
    if shutil.which("perf") is None:
        cannot_run(request, "perf is not installed")
    made, data, out = tmp_path / "paths", tmp_path / "perf.data", tmp_path / "r.iowhy"
    run("gcc", "-g", "-O2", "-fomit-frame-pointer", "-pthread", "-o", str(made), str(SOURCE))
    with filesystem("ext4", tmp_path) as scratch:
        command = [made, scratch.mount / "file", "direct", tmp_path / "sums", "none", UNIT_MS]
        events = [word for event in EVENTS for word in ("-e", event)]
        # Around the recorder perf 6.1 often found no callers at all: each has a run of its own.
        perf = ["perf", "record", "-q", "-m", "4096", "-o", data, *events, "--"]
        run(*map(str, [*perf, *command]))
        (tmp_path / "sums").unlink()
        recording = record(command, out, "--stacks")
    symbolize(recording, NAMES_S)
    calls, ticks = _of_perf(data)
    found_calls, found_ticks = _of_iowhy(recording)
    for perfs, iowhys in ((calls, found_calls), (ticks, found_ticks)):
        assert _shares(iowhys) == pytest.approx(_shares(perfs), abs=POINTS)
    # Not only the share of the time: each path from the call to main is the same, function for function.
    assert set(found_calls) == set(calls)
    # Nanoseconds here and there: what is sampled stands for all the time in fsync that perf measures.
    assert found_calls.total() == pytest.approx(calls.total(), rel=0.1)


def _of_iowhy(recording: Recording) -> tuple[Paths, Paths]:
    """Weights by path: of fsync, and of ticks."""
    kinds: dict[str, Paths] = {"call": Counter(), "cpu": Counter()}
    for kind, functions, weight in ask(recording, SAMPLED):
        kinds[str(kind)][_own(functions)] += int(str(weight))
    assert recording.manifest.lost() == 0
    return kinds["call"], kinds["cpu"]


def _of_perf(data: Path) -> tuple[Paths, Paths]:
    """Nanoseconds in fsync by path, and numbers of ticks."""
    fields = ["-F", "tid,time,event,ip,sym", "--ns", "--no-inline", "--show-lost-events"]
    printed = run("perf", "script", "-i", str(data), "--comms", "paths", *fields)
    if "PERF_RECORD_LOST" in printed:
        raise Disturbed("perf lost events")
    calls: Paths = Counter()
    ticks: Paths = Counter()
    begun: tuple[int, tuple[str, ...]] | None = None
    for block in re.split(r"\n(?= *\d+ +\d+\.\d+:)", printed):
        head = re.match(r"\s*\d+ +(\d+)\.(\d{9}): +(\S+):", block)
        assert head is not None, block
        at, functions = int(head[1] + head[2]), re.findall(r"^\s+[0-9a-f]+ (\S+)", block, re.M)
        if head[3].endswith("sys_enter_fsync"):
            begun = at, _own(functions)
        elif head[3].endswith("sys_exit_fsync"):
            assert begun is not None
            calls[begun[1]] += at - begun[0]
        else:
            ticks[_own(functions)] += 1
    if not any(calls.keys()):
        # perf 6.1 at times has the C library's own functions alone, of a whole run.
        raise Disturbed("perf found no caller of fsync")
    return calls, ticks


def _own(functions: list[str]) -> tuple[str, ...]:
    return tuple(one for one in functions if one in OWN)


def _shares(of: Paths) -> dict[str, float]:
    """By path of the program: what is outside them (its start) is no part of it."""
    sums: Counter[str] = Counter()
    for functions, weight in of.items():
        for name in functions:
            if name.startswith("path_of_"):
                sums[name] += weight
    return {name: weight / sums.total() for name, weight in sums.items()}
