"""Makes the data of the set in a folder: `python -m benchmark.make FOLDER [NAME…]`, as root; what is there already stays.

Cases that are run take some seconds each and need a quiet machine.
"""

import contextlib
import json
import os
import random
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import patch

from msgspec import toml

from benchmark.cases import ENOUGH, PROGRAMS, SAVED, Case, Program, cases
from benchmarks.programs.__main__ import tried
from iowhy.errors import Problem
from iowhy.lab.scenario import Plan
from iowhy.lab.scenarios import scenario
from iowhy.lab.stage import Choice, Stage, stage
from iowhy.lab.trial import record_plan
from iowhy.recordings import open_recording
from tests.docs.recordings import FOLDER as KEPT
from tests.sources import machines
from tests.torture.thinnings import remove, thin_table

#: Who is next to a command, and costs it nothing: what is idle alone is taken, and no disk of the scratch ones.
BESIDE = {
    "cpus": "for _ in $(seq $(nproc)); do chrt -i 0 sh -c 'while :; do :; done' & done; wait",
    "disk": "while :; do dd if=/dev/zero of=other bs=256K count=64 oflag=direct conv=notrunc 2>&-; done",
}


def make(one: Case, to: Path) -> None:
    """One case's recording or text."""
    if "tool" in one.made:
        to.write_text(_text(one.made))
    elif "scenarios" in one.made:
        _recorded(one.made, to)
    elif "program" in one.made:
        _of_program(one.made["program"], to)
    else:
        _unpacked(one.made["kept"], to)
        if "way" in one.made:
            _without(to, one.made)


def _text(made: dict[str, str]) -> str:
    machine = machines.Machine(**json.loads(made["machine"]))
    before = machines.SAMPLES
    machines.SAMPLES = int(made.get("samples", before))
    try:
        return machines.TOOLS[made["tool"]].text(machine)
    finally:
        machines.SAMPLES = before


def _unpacked(name: str, to: Path) -> None:
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        with zipfile.ZipFile(KEPT / f"{name}.iowhy.zip") as packed:
            packed.extractall(folder)
        (found,) = Path(folder).iterdir()
        found.rename(to)


def _without(path: Path, made: dict[str, str]) -> None:
    """All rows of a sensor's tables are gone, with the sums of them: without a word, as lost, or as never recorded."""
    file = path / "manifest.json"
    manifest = json.loads(file.read_text())
    for table in made["without"].split():
        if manifest["tables"].get(table, {}).get("kept"):
            remove(path, table, manifest, itself=False)
            thin_table(path, table, 1.0, "even", made["way"], manifest, random.Random(1))
    for one in manifest["sensors"]:
        if made["way"] == "off" and one["name"] == made["sensor"]:
            one["ran"], one["why"] = False, "not permitted"
    file.write_text(json.dumps(manifest))


def _recorded(made: dict[str, str], to: Path) -> None:
    """Runs scenarios one after the other, as one command."""
    chosen = [scenario(name) for name in made["scenarios"].split()]
    fs, device = made.get("fs", chosen[0].filesystems[0]), made.get("device", chosen[0].devices[0])
    with stage(Choice(fs, device, int(made["seed"]))) as on:
        variants = [
            one.variant(made["variant"]) if "variant" in made else one.broken for one in chosen
        ]
        plans = [one.prepare(on) for one in variants]
        for filesystem in on.filesystems:
            filesystem.sync()
            if any(plan.cold for plan in plans):
                filesystem.cool()
            elif any(plan.cold is False for plan in plans):
                filesystem.warm()
        _next_to(on, made.get("beside"))
        out = on.folder / to.name
        on.start_clock()
        status, _, _ = record_plan(_one(plans), out, on.undo.kill_marked()[1])
        on.stop_clock()
        if status != 0:
            raise Problem("trial-failed", argv=made["scenarios"], status=status)
        open_recording(out)
        shutil.copytree(out, to)


def _of_program(name: str, to: Path) -> None:
    """Tries a real program with and without its remedy; without one that saves time it is no case."""
    with tempfile.TemporaryDirectory(dir=to.parent) as folder:
        with patch.dict(os.environ, {"PROGRAMS_KEEP": folder}):
            row = tried(name, toml.decode((PROGRAMS / f"{name}.toml").read_text(), type=Program))
        kept = json.loads(SAVED.read_text()) | {name: round(row["saved"], 2)}
        SAVED.write_text(json.dumps(dict(sorted(kept.items())), indent=1) + "\n")
        if row["saved"] < ENOUGH:
            raise OSError(f"its remedy saves {row['saved']:.0%}, less than {ENOUGH:.0%}")
        (Path(folder) / name / "broken.iowhy").rename(to)


def _next_to(on: Stage, name: str | None) -> None:
    if name is not None:
        on.neighbour(("sh", "-c", f'cd "$0" && {BESIDE[name]}', str(on.folder)))


def _one(plans: Sequence[Plan]) -> Plan:
    """All of them, one after the other."""
    if len(plans) == 1:
        return plans[0]
    parts = []
    for plan in plans:
        words = [
            "env",
            *(f"{name}={value}" for name, value in (plan.env or {}).items()),
            *plan.argv,
        ]
        parts.append(f"(cd {shlex.quote(str(plan.cwd or '/'))} && exec {shlex.join(words)})")
    return Plan(("sh", "-c", " && ".join(parts)))


def main(folder: Path, names: Sequence[str]) -> int:
    """Makes what is missing; 1 if some could not be made, which are named."""
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for one in cases():
        to = folder / one.file
        if to.exists() or (names and one.name not in names):
            continue
        if {"scenarios", "program"} & one.made.keys() and os.geteuid() != 0:
            continue
        print(one.name, flush=True)
        try:
            make(one, to)
        except (Problem, OSError, subprocess.SubprocessError) as error:
            failed += 1
            print(f"{one.name}: {error}", file=sys.stderr, flush=True)
            with contextlib.suppress(OSError):
                shutil.rmtree(to, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
