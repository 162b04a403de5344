"""User stacks: each path of functions gets the time that the program itself measures in it."""

import contextlib
import os
import platform
import pwd
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from conftest import cannot_run
from iowhy.lab.stage import Choice, stage
from iowhy.recordings import Recording
from iowhy.sources.later_names import symbolize
from machine import ask, filesystem, record, run, swap_on

pytestmark = pytest.mark.usefixtures("live")

SOURCES = Path(__file__).parent / "paths"
SOURCE = SOURCES / "paths.c"
#: How the program is made.
MADE = {
    "no frame pointers": ["-O2", "-fomit-frame-pointer"],
    "frame pointers": ["-O2", "-fno-omit-frame-pointer"],
    "static": ["-O2", "-static"],
    "static PIE": ["-O2", "-static-pie"],
    "no PIE": ["-O2", "-no-pie"],
    "inlined": ["-O3", "-DPATH=static inline __attribute__((always_inline))"],
}
#: Of these only calls, beside perf: test_stacks_and_perf.py. Ticks in them are as in the others.
CALLS_ALONE = ("static PIE", "no PIE")
#: In what its paths run; in a library that is loaded: test_stacks_and_perf.py.
HOW = ("threads", "deep", "processes", "short", "pool")
#: Other languages: what makes the program. Go and Rust keep frame pointers, or have unwind tables, as their compilers choose.
LANGUAGES = {
    "C++": ["g++", "-O2", "-g", "-o", "paths", str(SOURCES / "paths.cpp")],
    "Rust": ["rustc", "-O", "-g", "-o", "paths", str(SOURCES / "paths.rs")],
    "Go": ["go", "build", "-o", "paths", str(SOURCES / "paths.go")],
}
#: Where each is made; Go's own library, which takes half a minute of CPU, is kept from one run of the tests to the next.
MAKING = {"GO111MODULE": "off", "GOCACHE": str(Path(__file__).parents[2] / "target/go-build")}
#: What they compute by is enough for shares of the ticks, each of which may stand for 25 ms more or less where a path begins: of 4 s
#: that is 0.6 points. More ticks take more time.
UNIT_MS = 400
NAMES_S = 60.0
#: Weights of the samples in whose stacks a path's function is, by path.
WEIGHTS = """
SELECT p.path, CAST(sum(s.weight_ns) AS BIGINT)
FROM stack_samples s
JOIN (
    -- As its language writes it: main.path_of_a, path_of_a<long long>.
    SELECT DISTINCT user_stack_id, regexp_extract(function, 'path_of_[abc]') AS path
    FROM user_stacks
    WHERE function LIKE '%path_of_%'
) p ON p.user_stack_id = s.user_stack_id
WHERE {condition}
GROUP BY p.path
"""
SYNCED = "s.kind = 'call' AND s.syscall = 'fsync'"
ON_CPU = "s.kind = 'cpu'"
#: Of a share of the time, which samples may miss by this.
POINTS = 0.02
#: Samples that reach the start of their thread. In execve there is no program to reach it in.
WHOLE = """
SELECT count(*) FILTER (whole), count(*) FROM stack_samples
WHERE syscall IS DISTINCT FROM 'execve'
"""


def _shares(of: dict[str, int]) -> dict[str, float]:
    whole = sum(of.values())
    return {name: value / whole for name, value in of.items()}


@contextlib.contextmanager
def _folder(tmp_path: Path, *, interleaved: bool) -> Iterator[Path]:
    """Where the paths sync their file.

    Of paths that take turns at short calls, n samples tell a share to 0.5 / √n: the 380 of a second of four threads on a quick
    disk to 2.6 points. Calls of twenty milliseconds and more have many points each: what they are sampled for is their length.
    """
    if interleaved:
        with stage(Choice(fs="ext4", device="flush-slow"), tmp_path) as on:
            made = on.filesystem(on.disk(256))
            on.start_clock()
            yield made.path
            on.stop_clock()
    else:
        with filesystem("ext4", tmp_path) as scratch:
            yield scratch.mount


def _recorded(made: list[str], how: str, tmp_path: Path) -> tuple[Recording, list[list[str]]]:
    """The recording, and what the program says of its paths: name, time in fsync and on a CPU."""
    program = tmp_path / "paths"
    run("gcc", "-g", "-pthread", *made, "-o", str(program), str(SOURCE))
    said = tmp_path / "said"
    with _folder(tmp_path, interleaved=how == "pool") as folder:
        words = [program, folder / "file", how, tmp_path / "sums", "none", UNIT_MS]
        shell = ["sh", "-c", '"$0" "$@" > said', *map(str, words)]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    # On a busy machine the recorder's own time for names can be too short to read the lines, which say what is inlined.
    symbolize(recording, NAMES_S)
    return recording, [line.split() for line in said.read_text().splitlines()]


def _holds(recording: Recording, said: list[list[str]], *, computes: bool = True) -> None:
    synced = {name: int(ns) for name, ns, _ in said}
    on_cpu = {name: int(ns) for name, _, ns in said}
    truths = [(synced, SYNCED), (on_cpu, ON_CPU)]
    for truth, condition in truths if computes else truths[:1]:
        found = dict(ask(recording, WEIGHTS.format(condition=condition)))
        assert _shares(found) == pytest.approx(_shares(truth), abs=POINTS)
        assert sum(found.values()) == pytest.approx(sum(truth.values()), rel=0.1)
    ((whole, samples),) = ask(recording, WHOLE)
    assert samples > 100
    assert whole >= 0.95 * samples
    # Nor of the recorder's own process that measures what calls cost.
    assert (
        ask(recording, "SELECT * FROM stack_samples WHERE tid NOT IN (SELECT tid FROM threads)")
        == []
    )
    assert recording.manifest.lost() == 0


@pytest.mark.parametrize("made", [name for name in MADE if name not in CALLS_ALONE])
def test_each_path_gets_its_time_however_it_was_compiled(made: str, tmp_path: Path) -> None:
    _holds(*_recorded(MADE[made], "direct", tmp_path))


@pytest.mark.parametrize("how", HOW)
def test_each_path_gets_its_time_wherever_it_runs(how: str, tmp_path: Path) -> None:
    _holds(*_recorded(MADE["no frame pointers"], how, tmp_path))


@pytest.mark.parametrize("language", LANGUAGES)
def test_so_does_each_path_of_another_language(
    language: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    compiler, *options = LANGUAGES[language]
    if shutil.which(compiler) is None:
        cannot_run(request, f"{compiler} is not installed")
    subprocess.run([compiler, *options], cwd=tmp_path, env=os.environ | MAKING, check=True)
    with filesystem("ext4", tmp_path) as scratch:
        words = [str(scratch.mount / "file"), str(UNIT_MS)]
        shell = ["sh", "-c", './paths "$0" "$1" > said', *words]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    said = [line.split() for line in (tmp_path / "said").read_text().splitlines()]
    assert len(said) == 3
    _holds(recording, said)


def test_a_program_that_runs_as_another_user_has_its_paths(tmp_path: Path) -> None:
    """A setuid program: who records it is root, and may see it; its own user may not look at what root runs."""
    with filesystem("ext4", tmp_path) as scratch:
        program = scratch.mount / "paths"
        run("gcc", "-g", "-O2", "-pthread", "-o", str(program), str(SOURCE))
        nobody = pwd.getpwnam("nobody")
        os.chown(program, nobody.pw_uid, -1)
        program.chmod(0o4755)
        scratch.mount.chmod(0o777)
        # What lies above is root's alone: the program is run where it lies.
        shell = ["sh", "-c", f"./paths file direct sums none {UNIT_MS} > said"]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=scratch.mount)
        assert (scratch.mount / "file").stat().st_uid == nobody.pw_uid
        said = [line.split() for line in (scratch.mount / "said").read_text().splitlines()]
        _holds(recording, said)


def _recorded_with_map(
    command: Iterable[str | Path], tmp_path: Path
) -> tuple[Recording, list[list[str]]]:
    """As `_recorded`, of a program that is given the file alone and writes a map of the functions that it makes."""
    with filesystem("ext4", tmp_path) as scratch:
        words = [*map(str, command), str(scratch.mount / "file")]
        shell = ["sh", "-c", '"$@" > said', "sh", *words]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    for (tgid,) in ask(recording, "SELECT DISTINCT tgid FROM modules WHERE kind = 'jit'"):
        Path(f"/tmp/perf-{tgid}.map").unlink(missing_ok=True)
    return recording, [line.split() for line in (tmp_path / "said").read_text().splitlines()]


def _python_paths(recording: Recording) -> set[tuple[str, ...]]:
    """The functions of a script, innermost first, of each path that syncs."""
    found = ask(
        recording,
        "SELECT DISTINCT list(function ORDER BY depth) FILTER (function LIKE 'py::%') FROM user_stacks WHERE user_stack_id IN "
        "(SELECT user_stack_id FROM stack_samples WHERE syscall = 'fsync') GROUP BY user_stack_id",
    )
    return {tuple(path) for (path,) in found}  # type: ignore[arg-type]


def test_paths_of_javascript_are_those_of_its_map(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if shutil.which("node") is None:
        cannot_run(request, "node is not installed")
    options = ["--perf-basic-prof", "--interpreted-frames-native-stack"]
    made = _recorded_with_map(["node", *options, SOURCES / "paths.js"], tmp_path)
    _holds(*made, computes=False)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="elsewhere CPython keeps frame pointers")
@pytest.mark.parametrize("keeps", ["-fomit-frame-pointer", "-fno-omit-frame-pointer"])
def test_paths_of_an_interpreter_with_trampolines_are_whole(keeps: str, tmp_path: Path) -> None:
    """CPython's of `-X perf`, which Debian 12 does not have: the same code in a program in C."""
    program = tmp_path / "trampolines"
    run("gcc", "-O2", keeps, "-o", str(program), str(SOURCES / "trampolines.c"))
    recording, said = _recorded_with_map([program], tmp_path)
    _holds(recording, said, computes=False)
    assert _python_paths(recording) == {
        tuple(f"py::{name}:/app.py" for name in ("sync_once", path, "main", "<module>"))
        for path in ("path_of_a", "path_of_b", "path_of_c")
    }


def test_a_stack_that_cannot_be_read_is_counted_and_not_whole(tmp_path: Path) -> None:
    run("gcc", "-O2", "-o", str(tmp_path / "program"), str(SOURCES / "unreadable.c"))
    with filesystem("ext4", tmp_path) as scratch:
        command = [tmp_path / "program", scratch.mount / "file", "2"]
        recording = record(command, tmp_path / "r.iowhy", "--stacks")
    ((samples, whole, weight),) = ask(
        recording,
        f"SELECT count(*), count(*) FILTER (whole), sum(weight_ns) FROM stack_samples s WHERE {SYNCED}",
    )
    assert samples > 50 and whole == 0
    ((synced,),) = ask(recording, "SELECT sum(dur_ns) FROM syscalls WHERE name = 'fsync'")
    assert weight == pytest.approx(synced, rel=0.1)
    assert recording.manifest.lost() == 0


@pytest.mark.alone  # the machine swaps meanwhile
def test_a_stack_that_is_swapped_out_is_counted_and_not_whole(tmp_path: Path) -> None:
    """It is left where it is: what is not in memory is not read back for the recorder."""
    run("gcc", "-O2", "-pthread", "-o", str(tmp_path / "swapped"), str(SOURCES / "swapped.c"))
    with filesystem("ext4", tmp_path) as scratch, swap_on(tmp_path):
        words = [str(tmp_path / "swapped"), str(scratch.mount / "file"), "2"]
        shell = ["sh", "-c", '"$0" "$@" > said', *words]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    resident, pages = map(int, (tmp_path / "said").read_text().split())
    assert pages > 80 and resident < pages // 4
    ((samples, whole, weight),) = ask(
        recording,
        f"SELECT count(*), count(*) FILTER (whole), sum(weight_ns) FROM stack_samples s WHERE {SYNCED}",
    )
    assert samples > 50 and whole == 0
    # What is in memory is there: the function that syncs, and some of those that lead to it.
    ((innermost,),) = ask(
        recording,
        "SELECT count(DISTINCT user_stack_id) FROM user_stacks WHERE function = 'sync_at_the_end' AND user_stack_id IN "
        f"(SELECT user_stack_id FROM stack_samples s WHERE {SYNCED})",
    )
    assert innermost > 0
    ((synced,),) = ask(recording, "SELECT sum(dur_ns) FROM syscalls WHERE name = 'fsync'")
    assert weight == pytest.approx(synced, rel=0.1)
    assert recording.manifest.lost() == 0
