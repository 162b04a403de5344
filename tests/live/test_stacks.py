"""User stacks: each path of functions gets the time that the program itself measures in it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from iowhy.lab.stage import Choice, stage
from iowhy.recording import Recording
from iowhy.sources.later_names import symbolize
from machine import ask, filesystem, record, run

pytestmark = pytest.mark.usefixtures("live")

SOURCE = Path(__file__).parent / "paths.c"
#: How the program is made.
MADE = {
    "no frame pointers": ["-O2", "-fomit-frame-pointer"],
    "frame pointers": ["-O2", "-fno-omit-frame-pointer"],
    "static": ["-O2", "-static"],
    "no PIE": ["-O2", "-no-pie"],
    "inlined": ["-O3", "-DPATH=static inline __attribute__((always_inline))"],
}
#: In what its paths run.
HOW = ("threads", "deep", "library", "processes", "short")
#: What they compute by is enough for shares of the ticks; more ticks take more time.
UNIT_MS = 150
NAMES_S = 60.0
#: Weights of the samples in whose stacks a path's function is, by path.
WEIGHTS = """
SELECT p.function, CAST(sum(s.weight_ns) AS BIGINT)
FROM stack_samples s
JOIN (SELECT DISTINCT user_stack_id, function FROM user_stacks WHERE function LIKE 'path_of_%') p
    ON p.user_stack_id = s.user_stack_id
WHERE {condition}
GROUP BY p.function
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


@contextmanager
def _place(how: str, tmp_path: Path) -> Iterator[Path]:
    """A filesystem; for threads that make one call each one on a disk whose syncs take longer than points are apart (1 ms): of shorter
    ones most are not sampled, and the longer ones more often than their time (docs/budget.md)."""
    if how != "short":
        with filesystem("ext4", tmp_path) as scratch:
            yield scratch.mount
        return
    with stage(Choice(fs="ext4", device="ssd"), tmp_path) as made:
        slow = made.scratch_filesystem(64).path
        made.start_clock()
        yield slow


def _recorded(
    made: list[str], how: str, unit_ms: int, tmp_path: Path
) -> tuple[Recording, list[list[str]]]:
    """The recording, and what the program says of its paths: name, time in fsync and on a CPU."""
    program, library = tmp_path / "paths", tmp_path / "library.so"
    run("gcc", "-g", "-pthread", *made, "-o", str(program), str(SOURCE))
    if how == "library":
        run("gcc", "-g", "-shared", "-fPIC", "-DLIBRARY", *made, "-o", str(library), str(SOURCE))
    said = tmp_path / "said"
    with _place(how, tmp_path) as place:
        words = [program, place / "file", how, tmp_path / "sums", library, unit_ms]
        shell = ["sh", "-c", '"$0" "$@" > said', *map(str, words)]
        recording = record(shell, tmp_path / "r.iowhy", "--stacks", cwd=tmp_path)
    # On a busy machine the recorder's own time for names can be too short to read the lines, which say what is inlined.
    symbolize(recording, NAMES_S)
    return recording, [line.split() for line in said.read_text().splitlines()]


def _holds(
    recording: Recording, said: list[list[str]], *, computes: bool, short: bool = False
) -> None:
    synced = {name: int(ns) for name, ns, _ in said}
    on_cpu = {name: int(ns) for name, _, ns in said}
    truths = [(synced, SYNCED), (on_cpu, ON_CPU)]
    for truth, condition in truths if computes else truths[:1]:
        found = dict(ask(recording, WEIGHTS.format(condition=condition)))
        assert _shares(found) == pytest.approx(_shares(truth), abs=POINTS)
        # Of threads that end before their first point most are not sampled.
        assert short or sum(found.values()) == pytest.approx(sum(truth.values()), rel=0.1)
    ((whole, samples),) = ask(recording, WHOLE)
    assert samples > 100
    assert whole >= 0.95 * samples
    assert recording.manifest.lost() == 0


@pytest.mark.parametrize("made", MADE)
def test_each_path_gets_its_time_however_it_was_compiled(made: str, tmp_path: Path) -> None:
    unit_ms = UNIT_MS if made in {"no frame pointers", "inlined"} else 0
    _holds(*_recorded(MADE[made], "direct", unit_ms, tmp_path), computes=unit_ms > 0)


@pytest.mark.parametrize("how", HOW)
def test_each_path_gets_its_time_wherever_it_runs(how: str, tmp_path: Path) -> None:
    unit_ms = UNIT_MS if how == "processes" else 0
    _holds(
        *_recorded(MADE["no frame pointers"], how, unit_ms, tmp_path),
        computes=unit_ms > 0,
        short=how == "short",
    )
