"""The advice on programs, tried: each case broken and fixed on a scratch disk, and the broken one recorded and judged.

python -m benchmarks.programs [NAME]...      as root; prints a row for each, and keeps it in python/iowhy/whys/tried.toml

A case is `NAME.toml` in this folder: the program, what is wrong, the device and filesystem, `prepare`, `before` (each run), `broken`,
`fixed` and `after` (all) as shell scripts, in which $M is the mounted filesystem, $S a scratch folder, $P a Python with requirements.txt and $PYSPARK one with
pyspark. `causes` are
the right ones; `cold` empties the cache before each run, `warm` is what
the remedy reads before the fixed one. At last the fixed one, or `well` where the remedy leaves something that is wrong, runs from memory
on the disk without its delays: then nothing is wrong but what it computes.
"""

import fcntl
import json
import os
import shlex
import shutil
import string
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from msgspec import Struct, toml

from iowhy.lab.scenario import FINE
from iowhy.lab.stage import Choice, stage

HERE = Path(__file__).parent
TRIED = HERE.parents[1] / "python/iowhy/whys/tried.toml"
#: With what requirements.txt lists.
PYTHON = os.environ.get("PROGRAMS_PYTHON", sys.executable)
IOWHY = (sys.executable, "-m", "iowhy")
TIMES = 2


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """A program in one situation."""

    program: str
    what: str
    version: str
    causes: tuple[str, ...]
    broken: str
    fixed: str
    prepare: str = ""
    before: str = ""
    after: str = ""
    warm: str = ""
    well: str = ""
    device: str = "ssd"
    fs: str = "ext4"
    mib: int = 700
    cold: bool = False


def main(names: list[str]) -> int:
    """Try the cases of these names, or all; status 1 where a cause or a bound was wrong."""
    wrong = 0
    for file in sorted(HERE.glob("*.toml")):
        if names and file.stem not in names:
            continue
        row = tried(file.stem, toml.decode(file.read_text(), type=Case))
        print(json.dumps(row, ensure_ascii=False), flush=True)
        wrong += not (row["right"] and row["near"])
        keep(row)
    return 1 if wrong else 0


def tried(name: str, case: Case) -> dict[str, Any]:
    """One case, its row."""
    with stage(Choice(fs=case.fs, device=case.device)) as on:
        filesystem = on.scratch_filesystem(case.mib)
        env = {
            **os.environ,
            "M": str(filesystem.path),
            "S": str(on.folder),
            "P": PYTHON,
            "PYSPARK": sys.executable,
            "LC_ALL": "C",
        }
        _shell(case.prepare, env)

        def run(script: str, *before: str, fixed: bool = False, well: bool = False) -> float:
            for disk in on.disks:
                disk.pace(False)
            _shell(case.before, env)
            if case.cold and not well:
                filesystem.cool()
            if fixed:
                _shell(case.warm, env)
            if not well:
                on.start_clock()
            began = time.monotonic()
            subprocess.run([*before, *_typed(script, env)], env=env, check=True, **_QUIET)
            return time.monotonic() - began

        recordings = [on.folder / f"{how}.iowhy" for how in ("broken", "fixed", "well")]
        try:
            with _lock():
                times = [(run(case.broken), run(case.fixed, fixed=True)) for _ in range(TIMES)]
                for at, recording in enumerate(recordings):
                    recorder = (*IOWHY, "run", "-q", "-o", str(recording), "--")
                    script = (case.broken, case.fixed, case.well or case.fixed)[at]
                    run(script, *recorder, fixed=at == 1, well=at == 2)
        finally:
            _shell(case.after, env)
        verdicts = [_judged(recording) for recording in recordings]
        version = subprocess.run(
            ["bash", "-c", case.version], env=env, capture_output=True, text=True
        ).stdout
        if "PROGRAMS_KEEP" in os.environ:
            kept = Path(os.environ["PROGRAMS_KEEP"]) / name
            shutil.rmtree(kept, ignore_errors=True)
            for recording in recordings:
                shutil.copytree(recording, kept / recording.name)
    return _row(name, case, verdicts, times, version.strip(), str(filesystem.path))


@contextmanager
def _lock() -> Iterator[None]:
    """Alone among those that hold the same file (PROGRAMS_LOCK)."""
    if "PROGRAMS_LOCK" not in os.environ:
        yield
        return
    with Path(os.environ["PROGRAMS_LOCK"]).open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _judged(recording: Path) -> dict[str, Any]:
    said = subprocess.run(
        [*IOWHY, "why", "--json", str(recording)], capture_output=True, text=True, check=True
    )
    found: dict[str, Any] = json.loads(said.stdout)
    return found


_QUIET: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}


def _typed(script: str, env: dict[str, str]) -> list[str]:
    """As a person types it: a single command, or a script."""
    if set(script.strip()) & set(";|&<>*?\n"):
        return ["bash", "-c", script]
    return [string.Template(word).safe_substitute(env) for word in shlex.split(script)]


def _shell(script: str, env: dict[str, str]) -> None:
    if script:
        subprocess.run(["bash", "-ec", script], env=env, check=True, **_QUIET)


def _row(
    name: str,
    case: Case,
    verdicts: list[dict[str, Any]],
    times: list[tuple[float, float]],
    version: str,
    folder: str,
) -> dict[str, Any]:
    broken, fixed = (min(one[at] for one in times) for at in (0, 1))
    saved = max(0.0, 1 - fixed / broken)
    cause, share, could, fix = _first(verdicts[0])
    left, _, left_save, _ = _first(verdicts[1])
    well, _, well_save, _ = _first(verdicts[2], FINE)
    return {
        "name": name, "program": case.program, "version": version, "what": case.what, "cause": cause,
        "share": share, "could_save": could, "saved": round(saved, 3), "broken_s": round(broken, 3), "fixed_s": round(fixed, 3),
        "fix": fix.replace(folder, "/data"), "left": left, "left_save": left_save,
        "right": cause in case.causes, "near": abs(could - saved) <= 0.15, "well": well, "well_save": well_save,
    }  # fmt: skip


def _first(
    verdict: dict[str, Any], fine: tuple[str, ...] = ("healthy",)
) -> tuple[str, float, float, str]:
    """The first finding of what is not fine: its cause, its share, what could be saved, and its first fix."""
    for one in verdict["findings"]:
        if one["cause"] not in fine:
            fixes = one["fixes"] or [{"do": {"sentence": ""}}]
            return (
                one["cause"],
                round(one["share"], 3),
                round(one["gain"], 3),
                fixes[0]["do"]["sentence"],
            )
    return "", 0.0, 0.0, ""


def keep(row: dict[str, Any]) -> None:
    """The row instead of the one that is there of this case."""
    rows = toml.decode(TRIED.read_text())["tried"] if TRIED.exists() else []
    others = [one for one in rows if one["name"] != row["name"]]
    every = sorted([*others, row], key=lambda one: (one["program"].lower(), one["name"]))
    TRIED.write_text(
        "# What was tried, by `python -m benchmarks.programs`: docs/programs.md shows it.\n\n"
        + "\n".join(
            "[[tried]]\n"
            + "".join(f"{k} = {json.dumps(v, ensure_ascii=False)}\n" for k, v in one.items())
            for one in every
        )
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
