"""How near predictions for another device come: scenarios recorded on each kind of disk, each kind measured, all pairs.

python -m benchmarks.predictions record FOLDER [SCENARIO…]    as root, on a quiet machine; what is there already stays
python -m benchmarks.predictions judge FOLDER                 a row for each pair, then how many are near
"""

import statistics
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from iowhy.lab import trial
from iowhy.lab.scenarios import scenarios
from iowhy.lab.stage import Choice, stage
from iowhy.model.device_kind import Device, device_of
from iowhy.model.device_timing import as_toml, measured
from iowhy.model.predictions import predicted
from iowhy.model.recorded import recorded
from iowhy.recordings import open_recording
from iowhy.relations import Relations

#: Emulated ones, and the machine's own disk, memory behind a loop device and compressed memory.
KINDS = ("hdd", "ssd", "flush-slow", "file", "memory", "zram")
#: Where hardly anything but CPU time is left, which is less where waits are short: not to be seen in a recording.
IN_MEMORY = ("memory", "zram")
#: Programs that wait for a device, each by other requests.
PROGRAMS = (
    "sqlite-journal",
    "mmap-random",
    "postgres-commits",
    "redis-always",
    "rocksdb-sync",
    "smallfiles",
    "dd-direct",
    "stream",
    "parallel-readers",
    "node-log",
    "git-status",
    "git-add",
    "partial-writes",
)
_NEAR, _MEDIAN = 0.30, 0.15


def main(argv: list[str]) -> int:
    """Status 1 where predictions are further off than promised."""
    what, folder, *names = argv
    if what == "record":
        record(Path(folder), names or PROGRAMS)
        return 0
    return judge(Path(folder))


def record(folder: Path, names: Sequence[str]) -> None:
    """`KIND.toml` and `SCENARIO-KIND.iowhy` of each."""
    folder.mkdir(exist_ok=True)
    for kind in KINDS:
        if not (folder / f"{kind}.toml").exists():
            with stage(Choice(fs="ext4", device=kind)) as made:
                place = made.scratch_filesystem(512).path
                made.start_clock()
                (folder / f"{kind}.toml").write_text(as_toml(measured(place)))
    there = {one.name: one for one in scenarios()}
    for name in names:
        for kind in KINDS:
            keep = folder / f"{name}-{kind}.iowhy"
            if keep.exists():
                continue
            choice = Choice(fs="ext4", device=kind)
            try:
                done = trial.run(there[name], there[name].broken, choice, keep=keep)
            except Exception:  # the others are worth having
                traceback.print_exc()
                continue
            print(f"{name} on {kind}: {done.seconds:.2f} s", file=sys.stderr, flush=True)


def judge(folder: Path) -> int:
    """Prints pairs: predicted and true seconds without the recorder; then how near, by what is predicted."""
    models = {kind: device_of(str(folder / f"{kind}.toml")) for kind in KINDS}
    print("scenario\tfrom\tto\twas_s\tpredicted_s\ttrue_s\terror")
    errors: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for name in PROGRAMS:
        took = {kind: _seconds(folder / f"{name}-{kind}.iowhy") for kind in KINDS}
        for kind in (one for one in KINDS if took[one] is not None):
            others = [one for one in KINDS if one != kind and took[one] is not None]
            found = _predicted(folder / f"{name}-{kind}.iowhy", [models[one] for one in others])
            for other, after in zip(others, found, strict=True):
                error = "none" if after is None else f"{after / took[other] - 1:+.2f}"
                print(
                    f"{name}\t{kind}\t{other}\t{took[kind]:.3f}\t{after}\t{took[other]:.3f}\t{error}"
                )
                if after is not None:
                    errors[other].append(abs(after / took[other] - 1))
    for kind, some in errors.items():
        print(f"to {kind}: {_near(some)}")
    waited_for = [one for kind, some in errors.items() if kind not in IN_MEMORY for one in some]
    print(f"to what is waited for: {_near(waited_for)}")
    print(f"all: {_near([one for some in errors.values() for one in some])}")
    good = statistics.median(waited_for) <= _MEDIAN
    return 0 if good and sum(one <= _NEAR for one in waited_for) >= 0.9 * len(waited_for) else 1


def _near(errors: list[float]) -> str:
    near = sum(one <= _NEAR for one in errors) / len(errors)
    return f"{len(errors)} pairs, median error {statistics.median(errors):.0%}, {near:.0%} within {_NEAR:.0%}"


def _seconds(path: Path) -> float | None:
    """How long a run took without the recorder; None if there is none."""
    if not path.exists():
        return None
    with Relations(open_recording(path)) as relations:
        return recorded(relations).elapsed_ns / 1e9


def _predicted(path: Path, devices: list[Device]) -> list[float | None]:
    """Seconds with each of the devices; None where the model does not repeat the run."""
    with Relations(open_recording(path)) as relations:
        found = predicted(path.stem, recorded(relations), relations, devices).predictions
    return [one.after_s for one in found if one.id.startswith("device:")] or [None] * len(devices)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
