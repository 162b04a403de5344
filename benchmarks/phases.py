"""Runs whose changes are known, and even ones: what `report phases` makes of them.

python -m benchmarks.phases FOLDER [NAME…]   (as root; recordings are kept in FOLDER)

A step notes when it begins, on the clock of recordings.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from iowhy.recordings import open_recording
from iowhy.relations import Relations

MIB = 1 << 20
#: As the issue asks: a cut counts as found this near to it.
NEAR_S = 0.2


def compute(folder: Path, until: float) -> None:  # noqa: ARG001
    number = 1
    while time.monotonic() < until:
        for _ in range(20_000):
            number = number * 1103515245 + 12345 & 0x7FFFFFFF


def compute_twice(folder: Path, until: float) -> None:
    child = os.fork()
    compute(folder, until)
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)


def sync(folder: Path, until: float) -> None:
    file = os.open(folder / "log", os.O_RDWR | os.O_CREAT)
    while time.monotonic() < until:
        os.pwrite(file, b"x" * 4096, 0)
        os.fdatasync(file)
    os.close(file)


def _data(folder: Path) -> Path:
    return folder / "data"


def _read(folder: Path, until: float, size: int, step: int) -> None:
    import mmap

    buffer = mmap.mmap(-1, size)
    file = os.open(_data(folder), os.O_RDONLY | os.O_DIRECT)
    whole, at = os.fstat(file).st_size // size, 0
    while time.monotonic() < until:
        os.preadv(file, [buffer], at % whole * size)
        at += step
    os.close(file)


def read_in_order(folder: Path, until: float) -> None:
    _read(folder, until, MIB, 1)


def read_anywhere(folder: Path, until: float) -> None:
    _read(folder, until, 4096, 7919)


def read_cached(folder: Path, until: float) -> None:
    with _data(folder).open("rb", buffering=0) as file:
        while time.monotonic() < until:
            file.seek(0)
            file.read(16 * MIB)


def rest(folder: Path, until: float) -> None:  # noqa: ARG001
    time.sleep(max(0.0, until - time.monotonic()))


def small_files(folder: Path, until: float) -> None:
    number = 0
    while time.monotonic() < until:
        path = folder / f"small{number % 50}"
        with path.open("wb") as file:
            file.write(b"x" * 2000)
            os.fsync(file.fileno())
        number += 1


def bursts(folder: Path, until: float) -> None:
    while time.monotonic() < until:
        read_anywhere(folder, min(until, time.monotonic() + 0.25))
        compute(folder, min(until, time.monotonic() + 0.25))


def tree(folder: Path, until: float) -> None:
    """Small files that are not in memory, one after the other."""
    below = folder / "tree"
    below.mkdir(exist_ok=True)
    names = [below / str(number) for number in range(300)]
    for name in names:
        if not name.exists():
            name.write_bytes(b"x" * 20_000)
    os.sync()
    while time.monotonic() < until:
        for name in names:
            file = os.open(name, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.read(file, 20_000)
            os.close(file)


STEPS: dict[str, Callable[[Path, float], None]] = {
    one.__name__: one
    for one in (
        compute, compute_twice, sync, read_in_order, read_anywhere, read_cached, rest, small_files, bursts, tree,
    )
}  # fmt: skip

#: Steps and their seconds.
CHANGES = {
    "read, compute, sync": "read_in_order:3 compute:3 sync:3",
    "one CPU, then two": "compute:4 compute_twice:3",
    "syncs around a rest": "sync:2 rest:3 sync:3",
    "random, then in order": "read_anywhere:3 read_in_order:4",
    "seven steps": "compute:1.5 read_anywhere:1.5 sync:1.5 rest:1.5 compute:1.5 sync:1.5 read_anywhere:1.5",
    "a short burst of syncs": "compute:5 sync:1.2 compute:5",
    "small files, then from memory": "small_files:3 read_cached:3",
    "from memory, then from the disk": "read_cached:3 read_in_order:3",
    "rest, two CPUs, rest": "rest:2 compute_twice:2 rest:2",
    "bursts, then even": "bursts:6 sync:4",
    "a minute with a second of reads": "compute:30 read_anywhere:1.5 compute:29",
    "syncs, then a tree": "sync:3 tree:4",
}
EVEN = {
    "syncs": "sync:8",
    "computing": "compute:6",
    "two CPUs": "compute_twice:6",
    "random reads": "read_anywhere:8",
    "reads in order": "read_in_order:8",
    "from memory": "read_cached:6",
    "small files": "small_files:8",
    "bursts": "bursts:10",
    "a cold tree": "tree:8",
    "rest": "rest:5",
    "compiler": "sh:for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do gcc -O2 -c big.c -o big.o; done",
    "rows of SQLite": "sh:sqlite3 db 'CREATE TABLE t(a, b)'; seq 6000 | "
    "sed 's/.*/INSERT INTO t VALUES(&, 1);/' | sqlite3 db",
}


def main(folder: Path, steps: str) -> None:
    """The steps, each with a line that says when it began."""
    for name, seconds in (one.split(":") for one in steps.split()):
        now = time.monotonic()
        print(time.monotonic_ns(), flush=True)
        STEPS[name](folder, now + float(seconds))


def recorded(steps: str, folder: Path, to: Path, *options: str) -> tuple[list[float], list[float]]:
    """When steps began, and phases, after the first of each; s after the start. The recording is kept in `to`."""
    if steps.startswith("sh:"):
        command = ["sh", "-c", f"cd {folder}; {steps[3:]}"]
    else:
        command = [sys.executable, "-m", "benchmarks.phases", "--steps", str(folder), steps]
    ran = subprocess.run(
        [sys.executable, "-m", "iowhy", "run", "-o", str(to), *options, "--", *command],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True,
    )  # fmt: skip
    with Relations(open_recording(to)) as relations:
        found = [one.begin_ns / 1e9 for one in relations.phases[1:]]
        start_ns = relations.facts.start_ns
    begun = [int(line) for line in ran.stdout.splitlines() if line.isdecimal()]
    return [(one - start_ns) / 1e9 for one in begun[1:]], found


def near(known: list[float], found: list[float]) -> bool:
    """Whether each change was found, and nothing else."""
    return len(known) == len(found) and all(
        abs(a - b) <= NEAR_S for a, b in zip(known, found, strict=True)
    )


def prepared(folder: Path) -> None:
    """The files that steps read."""
    _data(folder).write_bytes(os.urandom(MIB) * 256)
    body = "".join(f"int f{n}(int a) {{ return a * {n} + f(a); }}\n" for n in range(3000))
    (folder / "big.c").write_text(f"int f(int);\n{body}")
    os.sync()


def table(kept: Path, names: list[str]) -> None:
    kept.mkdir(exist_ok=True)
    for name, steps in {**CHANGES, **EVEN}.items():
        if names and name not in names:
            continue
        with tempfile.TemporaryDirectory(dir="/var/tmp") as made:
            prepared(Path(made))
            to = kept / f"{name.replace(' ', '-').replace(',', '')}.iowhy"
            known, found = recorded(steps, Path(made), to)
        right = near(known, found) if name in CHANGES else not found
        said = ["right" if right else "WRONG", name, _listed(known), _listed(found)]
        print("| " + " | ".join(said) + " |", flush=True)


def _listed(times: list[float]) -> str:
    return ", ".join(f"{one:.2f}" for one in times) or "none"


if __name__ == "__main__":
    if sys.argv[1:2] == ["--steps"]:
        main(Path(sys.argv[2]), sys.argv[3])
    else:
        table(Path(sys.argv[1]), sys.argv[2:])
