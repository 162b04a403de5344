"""How near `iowhy tune` comes to the best of all its settings: each tried on its own, and pairs of those that helped.

python -m benchmarks.tune_grid run FOLDER [CASE…]    as root, on a quiet machine, about two minutes each; what is there already stays
python -m benchmarks.tune_grid judge FOLDER          a row for each case

`run` records the command and tunes it as a user does. It then runs it with each value of each setting that tune could ever choose here
(settings that lose data in a crash need leave, and are left out), each run after its reset, in random order, and again with the quicker half;
then with pairs of what helped; then the best of them and what tune chose, four times more each: the table is of those runs, medians.
"""

import json
import random
import re
import statistics
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec import json as msgjson

from benchmarks.tune_cases import CASES, Case, Made, inside, usual
from iowhy.experiments.cache import files_below, set_state
from iowhy.experiments.condition import BASELINE, Condition, LevelFailed
from iowhy.experiments.executor import LiveExecutor
from iowhy.experiments.job import Job
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Profile, Setting
from iowhy.lab.stage import Choice, Stage, stage
from iowhy.tuning.knob import Clues
from iowhy.tuning.knobs import knobs
from iowhy.tuning.search import Try
from iowhy.whys import classes

#: A share of the time that is worth a setting.
HELPS = 0.05
#: Of what the best of the grid saves.
ENOUGH = 0.9
_ALL = dict.fromkeys(classes.ALL, 1.0)
#: Whatever a recording may say, one of these has each value that a setting could be given.
CLUES = (
    Clues(),
    Clues(troubles={"jumps": 1.0}),
    Clues(_ALL, known=True),
    Clues(_ALL, {"neighbours": 1.0}, known=True),
)
_PAIRS_OF, _FINALISTS, _FINAL_RUNS, _MIB = 3, 3, 4, 2048


class Grid(Struct, frozen=True):
    """Seconds of the first runs by setting, and of the last ones; `refused`: why some could not be tried."""

    first: dict[str, list[float]]
    last: dict[str, list[float]]
    refused: dict[str, str]


class Both(Lever, frozen=True):
    """Two settings at once."""

    of: tuple[Try, ...] = ()

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """One after the other."""
        with ExitStack() as stack:
            done = [
                stack.enter_context(knobs()[one.knob].apply(one.level, setting)) for one in self.of
            ]
            argv = next((one.argv for one in done if one.argv is not None), None)
            yield Effect(in_child=tuple(hook for one in done for hook in one.in_child), argv=argv)


def main(argv: list[str]) -> int:
    """Status 1 where tune comes less near than promised."""
    what, kept, names = argv[0], Path(argv[1]), argv[2:]
    if what == "judge":
        return judge(kept)
    kept.mkdir(parents=True, exist_ok=True)
    for case in CASES:
        said, grid = kept / f"{case.name}.tune.json", kept / f"{case.name}.grid.json"
        last = said if case.kind == "control" else grid
        if (names and case.name not in names) or last.exists():
            continue
        with stage(Choice(fs="ext4", device=case.device)) as on:
            there = on.filesystem(on.disk(_MIB, changes=case.changes)).path
            usual(on, case)
            made = case.make(on, there)
            on.filesystems[0].sync()
            set_state("cold" if case.cold else "warm", files_below(there))
            on.start_clock()
            with inside(made):
                said.write_bytes(tuned(made, there))
                best = json.loads(said.read_bytes() or b"{}").get("best")
                if case.kind != "control":
                    grid.write_bytes(msgjson.encode(searched(case, made, there, on, best)))
        print(case.name, best, flush=True)
    return 0


def tuned(made: Made, there: Path) -> bytes:
    """What tune says, with the recording beside it that it chooses by."""
    iowhy = (sys.executable, "-m", "iowhy")
    quiet = {"stdout": subprocess.DEVNULL, "cwd": there}
    for line in made.prepare:
        subprocess.run(("sh", "-c", line), check=True)
    subprocess.run((*iowhy, "run", "-o", "before.iowhy", "--", *made.argv), check=True, **quiet)  # type: ignore[call-overload]
    words = [word for line in made.prepare for word in ("--prepare", line)]
    run = subprocess.run(
        (*iowhy, "tune", "--json", *words, "--", *made.argv), cwd=there, stdout=subprocess.PIPE
    )
    return run.stdout


def searched(case: Case, made: Made, there: Path, on: Stage, chosen: str | None) -> Grid:
    """The whole grid, and what tune chose."""
    state = "cold" if case.cold else "as-is"
    setting = Setting(made.argv, there, on.undo, Profile(1.0, 1.0), base_cache=state)
    job = Job(tuple(made.argv), there, prepare=made.prepare, cache=state, timeout_s=30)
    tries, refused = every(setting)
    known: dict[str, Lever] = {name: knobs()[one.knob] for name, one in tries.items()}
    grid = _Runs(LiveExecutor(job, setting, on.undo, known=known), refused)
    alone = {name: Condition(name, one.level) for name, one in tries.items()}
    grid.run([BASELINE, *alone.values()], 1)
    quicker = grid.ranked()[: len(alone) // 2]
    grid.run([BASELINE, *(alone[name] for name in quicker)], 1)
    base = min(grid.first["baseline"])
    helped = [name for name in grid.ranked() if min(grid.first[name]) < (1 - HELPS) * base]
    best: dict[str, str] = {}
    for name in helped:
        best.setdefault(tries[name].knob, name)
    few = list(best.values())[:_PAIRS_OF]
    pairs = [(a, b) for at, a in enumerate(few) for b in few[at + 1 :]]
    for pair in pairs:
        # A scheduler first: it brings its own depth.
        of = sorted((tries[one] for one in pair), key=lambda one: one.knob != "scheduler")
        name = " + ".join(one.name for one in of)
        known[name] = Both(name=name, of=tuple(of))
        alone[name] = Condition(name, Level(name, name, None))
    grid.run([one for name, one in alone.items() if " + " in name], 2)
    last = [name for name in dict.fromkeys([chosen, *grid.ranked()[:_FINALISTS]]) if name in alone]
    first = grid.first
    grid.first = {}
    grid.run([BASELINE, *(alone[name] for name in last)], _FINAL_RUNS)
    return Grid(first, grid.first, refused)


def every(setting: Setting) -> tuple[dict[str, Try], dict[str, str]]:
    """Each setting with each value that it could be given here, by name; those that cannot be set, and why."""
    tries: dict[str, Try] = {}
    refused: dict[str, str] = {}
    for knob in knobs().values():
        why = "loses data in a crash" if knob.unsafe else knob.refusal(setting)
        if why is not None:
            refused[knob.name] = why
            continue
        for value in (one for clues in CLUES for one in knob.values(setting, clues)):
            one = Try(knob.name, value, knob.level(value))
            tries.setdefault(one.name, one)
    return tries, refused


class _Runs(Struct):
    executor: LiveExecutor
    refused: dict[str, str]
    first: dict[str, list[float]] = {}

    def run(self, conditions: Sequence[Condition], times: int) -> None:
        """So many of each, in random order each time."""
        order = random.Random(1)
        for _ in range(times):
            for one in order.sample(conditions, len(conditions)):
                name = one.lever or one.name
                if name in self.refused:
                    continue
                try:
                    took = self.executor.run(one).wall_s
                except LevelFailed as failed:
                    self.refused[name] = str(failed)
                    self.first.pop(name, None)
                else:
                    self.first.setdefault(name, []).append(took)

    def ranked(self) -> list[str]:
        """Names, the quickest first."""
        names = [name for name in self.first if name != "baseline"]
        return sorted(names, key=lambda name: min(self.first[name]))


def judge(folder: Path) -> int:
    """A row for each: the best of the grid and what it saves, what tune chose and what that saves, in the same runs."""
    print("| case | alone | best of the grid | saves | tune's | saves | of the best | tries |")
    print("|---|--:|---|--:|---|--:|--:|--:|")
    good, wanted, silent, controls = 0, 0, 0, 0
    for case in CASES:
        paths = [folder / f"{case.name}.{one}.json" for one in ("grid", "tune")]
        if not paths[1].exists():
            continue
        said = json.loads(paths[1].read_text() or '{"best": "no answer", "tried": []}')
        if case.kind == "control":
            controls, silent = controls + 1, silent + (said["best"] is None)
        if not paths[0].exists():
            print(f"| {case.name} | | | | {said['best'] or 'nothing'} | | | {len(said['tried'])} |")
            continue
        grid = msgjson.decode(paths[0].read_bytes(), type=Grid)
        row = _judged(grid, said["best"])
        if row.saves < HELPS:
            controls, silent = controls + 1, silent + (said["best"] is None)
        else:
            wanted, good = wanted + 1, good + (row.of_best >= ENOUGH)
        print(f"| {case.name} | {row} | {len(said['tried'])} |", flush=True)
    print(f"{good} of {wanted} reach {ENOUGH:.0%} of the best; of {controls} that nothing helps it says so of {silent}")  # fmt: skip
    return 0 if good == wanted and silent == controls else 1


class _Row(Struct, frozen=True):
    base_s: float
    best: str
    saves: float
    chosen: str | None
    chosen_saves: float

    @property
    def of_best(self) -> float:
        return self.chosen_saves / self.saves

    def __str__(self) -> str:
        if self.saves < HELPS:
            return f"{self.base_s:.2f} s | nothing | | {self.chosen or 'nothing'} | |"
        row = (
            f"{self.base_s:.2f} s | {self.best} | {self.saves:.0%} | {self.chosen or 'nothing'} "
            f"| {self.chosen_saves:.0%} | {self.of_best:.0%}"
        )
        return re.sub(r" -k -f /\S+(?=`)", "", row)


def _judged(grid: Grid, chosen: str | None) -> _Row:
    middle = {name: statistics.median(took) for name, took in grid.last.items()}
    base = middle.pop("baseline")
    best = min(middle, key=lambda name: middle[name], default="nothing")
    saved = {name: 1 - took / base for name, took in middle.items()}
    return _Row(base, best, saved.get(best, 0.0), chosen, saved.get(chosen or "", 0.0))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
