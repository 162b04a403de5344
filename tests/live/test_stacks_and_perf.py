"""User stacks beside another tool's: perf follows them by `.eh_frame` tables too, and times each call itself."""

import os
import re
import shutil
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from conftest import cannot_run
from disturbances import Disturbed
from iowhy.recordings import Recording
from iowhy.sources.later_names import symbolize
from machine import ask, filesystem, record, run
from test_stacks import LANGUAGES, MADE, MAKING, SOURCE, UNIT_MS, WHOLE

pytestmark = pytest.mark.usefixtures("live")

NAMES_S = 60.0
#: Of a share of the time, which samples may miss by this.
POINTS = 0.02
#: fsync as it begins, with its stack; its end; ticks.
ENTERS, EXITS, TICKS = (
    "syscalls:sys_enter_fsync/{}/",
    "syscalls:sys_exit_fsync",
    "cpu-clock/{},freq=499/",
)
#: Functions of the programs themselves, as each language has them; the C library's have several names each. Of two in one name the first
#: of these is meant: Go's main.until is until.
OWN = (
    "sync_once", "syncOnce", "path_of_a", "path_of_b", "path_of_c", "until", "work", "compute", "run", "run_path", "main",
)  # fmt: skip
_OWN = [re.compile(rf"(?<!\w){name}(?!\w)") for name in OWN]
SAMPLED = """
SELECT s.kind, list(u.function ORDER BY u.depth), any_value(s.weight_ns)
FROM stack_samples s JOIN user_stacks u USING (user_stack_id)
WHERE (s.kind = 'cpu' OR s.syscall = 'fsync') AND u.function IS NOT NULL AND (NOT u.inlined OR ?)
GROUP BY s.kind, s.ts_ns, s.tid
"""
Paths = Counter[tuple[str, ...]]


@dataclass(frozen=True)
class Build:
    """A program of `paths` and how it is made; `how` is in what a C program's paths run."""

    compiled: Sequence[str]
    how: str | None = None
    inlined: bool = False
    """Functions that the compiler has put into others are compared as well: those that perf has from the lines' tables."""
    callers: str = "dwarf,stack-size=8192"

    def words(self, file: Path, sums: Path, unit_ms: int) -> list[str | Path]:
        if self.how is None:
            return [file, str(unit_ms)]
        return [file, self.how, sums, sums.with_name("library.so"), str(unit_ms)]


@dataclass(frozen=True)
class Found:
    """What a tool found of one run, by path, and what that run itself measured, by the name of its paths."""

    found: dict[str, Paths]
    said: dict[str, dict[str, int]]

    def shares_hold(self, kind: str) -> None:
        said = self.said[kind]
        whole = sum(said.values())
        shares = {name: ns / whole for name, ns in said.items()}
        assert _shares(self.found[kind]) == pytest.approx(shares, abs=POINTS)


def _c(name: str, how: str = "direct", **more: bool) -> Build:
    return Build(["gcc", "-g", "-pthread", *MADE[name], "-o", "paths", str(SOURCE)], how, **more)


#: gcc gives a static program that is none of a place of its own no table by which perf finds its unwind tables.
_BESIDE = ("no frame pointers", "static")
BUILDS = {
    **{name: _c(name, inlined=name == "inlined") for name in MADE if name not in _BESIDE},
    "a library that is loaded": _c("no frame pointers", "library"),
    "threads": _c("no frame pointers", "threads"),
    **{language: Build(command) for language, command in LANGUAGES.items() if language != "Go"},
    # Its unwind tables are compressed, and perf follows its frame pointers alone.
    "Go": Build(LANGUAGES["Go"], callers="fp"),
}


def test_perf_finds_the_same_paths_with_the_same_shares(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Costs 13 s."""
    perfs, iowhys = _both(_c("no frame pointers"), UNIT_MS, tmp_path, request)
    for tool in (perfs, iowhys):
        tool.shares_hold("call")
        tool.shares_hold("cpu")
        # What is sampled stands for all the time in fsync.
        assert tool.found["call"].total() == pytest.approx(sum(tool.said["call"].values()), rel=0.1)
    assert set(iowhys.found["call"]) == set(perfs.found["call"])


@pytest.mark.parametrize("name", BUILDS)
def test_perf_finds_the_same_paths_of_other_builds_and_languages(
    name: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """They compute nothing: two to three seconds each."""
    perfs, iowhys = _both(BUILDS[name], 0, tmp_path, request)
    perfs.shares_hold("call")
    iowhys.shares_hold("call")
    # Each path from the call to main is the same, function for function.
    assert set(iowhys.found["call"]) == set(perfs.found["call"])


def _both(
    build: Build, unit_ms: int, tmp_path: Path, request: pytest.FixtureRequest
) -> tuple[Found, Found]:
    """Of perf and of iowhy, each of a run of its own."""
    for needed in ("perf", build.compiled[0]):
        if shutil.which(needed) is None:
            cannot_run(request, f"{needed} is not installed")
    made, data, out = tmp_path / "paths", tmp_path / "perf.data", tmp_path / "r.iowhy"
    compiled = [build.compiled]
    if build.how == "library":
        shared = ["-shared", "-fPIC", "-DLIBRARY", "-o", "library.so", str(SOURCE)]
        compiled.append([*build.compiled[:-3], *shared])
    for command in compiled:
        subprocess.run(command, cwd=tmp_path, env=os.environ | MAKING, check=True)
    callers = f"call-graph={build.callers}"
    events = [ENTERS.format(callers), EXITS, *([TICKS.format(callers)] if unit_ms else [])]
    asked = [word for event in events for word in ("-e", event)]
    said, sums = tmp_path / "said", tmp_path / "sums"
    with filesystem("ext4", tmp_path) as scratch:
        words = [made, *build.words(scratch.mount / "file", sums, unit_ms)]
        program = ["sh", "-c", f'"$@" > {said}', "sh", *map(str, words)]
        # Of one run in five perf 6.1 finds no caller at all: by where the kernel puts its libraries, which is why it puts them nowhere else.
        perf = ["setarch", "-R", "perf", "record", "-q", "-m", "4096", "-o", str(data)]
        run(*perf, *asked, "--", *program)
        said_to_perf = _said(said)
        sums.unlink(missing_ok=True)
        recording = record(program, out, "--stacks")
    symbolize(recording, NAMES_S)
    return (
        Found(_of_perf(data, build.inlined), said_to_perf),
        Found(_of_iowhy(recording, build.inlined), _said(said)),
    )


def _said(said: Path) -> dict[str, dict[str, int]]:
    """What a run itself measured of its paths."""
    lines = [line.split() for line in said.read_text().splitlines()]
    return {
        "call": {name: int(ns) for name, ns, _ in lines},
        "cpu": {name: int(ns) for name, _, ns in lines},
    }


def _of_iowhy(recording: Recording, inlined: bool) -> dict[str, Paths]:
    """Weights by path: of fsync, and of ticks."""
    kinds: dict[str, Paths] = {"call": Counter(), "cpu": Counter()}
    for kind, functions, weight in ask(recording, SAMPLED, inlined):
        kinds[str(kind)][_own(functions)] += int(str(weight))
    ((whole, samples),) = ask(recording, WHOLE)
    assert samples > 100 and whole >= 0.95 * samples
    assert recording.manifest.lost() == 0
    return kinds


def _of_perf(data: Path, inlined: bool) -> dict[str, Paths]:
    """Nanoseconds in fsync by path, and numbers of ticks."""
    fields = ["-F", "tid,time,event,ip,sym", "--ns", "--show-lost-events"]
    fields += [] if inlined else ["--no-inline"]
    printed = run("perf", "script", "-i", str(data), "--comms", "paths", *fields)
    if "PERF_RECORD_LOST" in printed:
        raise Disturbed("perf lost events")
    calls: Paths = Counter()
    ticks: Paths = Counter()
    begun: dict[str, tuple[int, tuple[str, ...]]] = {}
    for block in re.split(r"\n(?= *\d+ +\d+\.\d+:)", printed):
        head = re.match(r"\s*(\d+) +(\d+)\.(\d{9}): +(\S+):", block)
        assert head is not None, block
        at, functions = int(head[2] + head[3]), re.findall(r"^\s+[0-9a-f]+ (.+)$", block, re.M)
        if head[4].endswith("sys_enter_fsync"):
            begun[head[1]] = at, _own(functions)
        elif head[4].endswith("sys_exit_fsync"):
            since, path = begun.pop(head[1])
            calls[path] += at - since
        else:
            ticks[_own(functions)] += 1
    return {"call": calls, "cpu": ticks}


def _own(functions: Sequence[str]) -> tuple[str, ...]:
    """The program's own functions of a stack, without what each language writes around a name."""
    named = (
        next((n for n, one in zip(OWN, _OWN, strict=True) if one.search(f)), None)
        for f in functions
    )
    return tuple(name for name in named if name is not None)


def _shares(of: Paths) -> dict[str, float]:
    """By path of the program: what is outside them (its start) is no part of it."""
    sums: Counter[str] = Counter()
    for functions, weight in of.items():
        for name in functions:
            if name.startswith("path_of_"):
                sums[name] += weight
    return {name: weight / sums.total() for name, weight in sums.items()}
