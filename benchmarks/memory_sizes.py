"""How near `report memory-sizes` comes: programs recorded once with ample memory, then run again under limits.

python -m benchmarks.memory_sizes FOLDER [PROGRAM…]    as root; recordings and rows stay in FOLDER, what is there is not made again

Predicted is the share of the pages that calls read which an earlier call has brought into memory, by the report of the one recording.
Measured, in a memory control group with so much more than the program takes for itself: one minus the pages that a call asked for and
that had to be read (on demand, or ahead of it), of the pages that calls asked for, as the kernel counts them. `read`:
what the disk of these files reads, by the model and by the kernel's counters of the disk. `fits`: the smallest memory in which
nothing is read again, to 1 % of what is read.
"""

import shutil
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from benchmarks.memory_programs import PROGRAMS, Program
from iowhy.experiments import groups
from iowhy.lab.scenario import Plan
from iowhy.lab.stage import Choice, Stage, stage
from iowhy.lab.trial import record_plan
from iowhy.recordings import open_recording
from iowhy.relations import Relations, recorded_facts
from iowhy.relations.compose import compose
from iowhy.relations.memory_sizes import CALLS, Memory
from iowhy.relations.relation import tables_in
from iowhy.reports.filters import Filters, resolve

#: Of all that is read once, the memory for file data of each run.
LIMITS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.65, 0.8, 1.1)
#: Of the size that fits as predicted: where it is looked for.
AROUND = (0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2)
POINTS, NEAR, AGAIN = 0.05, 0.1, 0.01
#: From this share of its limit on a group is full.
_FULL = 0.97
_PAGE = 4096
_SECTOR = 512


class Measured(Struct, frozen=True):
    """One run: what its limit left to files (None: no limit), what the program took for itself while that was full, and pages: asked for by reads, not there, read by the disk."""

    memory_bytes: int | None
    own_bytes: int
    cached_bytes: int
    asked: int
    missed: int
    device: int


class Taken(Struct):
    """What a group's memory was taken by, in time."""

    own: list[int] = []
    cached: list[int] = []


def main(argv: list[str]) -> int:
    """Status 1 where fewer than nine of ten programs are as near as promised."""
    folder, *names = argv
    Path(folder).mkdir(exist_ok=True)
    print(
        "program\tmemory_mib\tpredicted\tmeasured\tpoints\tread_mib\tmeasured\tcached_mib\town_mib",
        flush=True,
    )
    near = [_program(one, Path(folder)) for one in PROGRAMS if one.name in names or not names]
    print(
        f"{sum(near)} of {len(near)} programs within {POINTS:.0%} at each size and {NEAR:.0%} of what fits"
    )
    return 0 if sum(near) >= 0.9 * len(near) else 1


def _program(program: Program, folder: Path) -> bool:
    """Makes what is not there yet, and judges it."""
    kept, rows = folder / f"{program.name}.iowhy", folder / f"{program.name}.json"
    if not rows.exists():
        with stage(Choice(fs="ext4", device="file")) as made:
            runs = _measure(program, made, kept)
        rows.write_bytes(msgspec.json.encode(runs))
    return _judge(program, kept, msgspec.json.decode(rows.read_bytes(), type=list[Measured]))


def _measure(program: Program, on: Stage, kept: Path) -> list[Measured]:
    filesystem = on.scratch_filesystem(2048)
    # The kernel's default, which a loop device does not have on every disk.
    Path(f"/sys/block/{on.disks[0].name}/queue/read_ahead_kb").write_text("128")
    argv = program.make(on, filesystem.path)
    shutil.rmtree(kept, ignore_errors=True)
    # Libraries are then in memory that is another group's.
    _run(on, argv, on.folder / "before.iowhy", None)
    runs = [_run(on, argv, kept, None)]
    own = runs[0].own_bytes
    if program.mapped:
        return runs
    memory = _of_its_files(kept)
    all_bytes, fits_bytes = memory.all_bytes, memory.fits_bytes
    sizes = [int(one * all_bytes) for one in LIMITS]
    runs += [_limited(on, argv, size, own) for size in sizes]
    low, high = 0, len(AROUND)
    while low < high:
        at = (low + high) // 2
        runs.append(_limited(on, argv, int(AROUND[at] * fits_bytes), own))
        low, high = (low, at) if _again(runs[-1], runs[0]) <= AGAIN else (at + 1, high)
    return runs


def _again(run: Measured, ample: Measured) -> float:
    """Pages that the disk reads more than once, of those that it reads with ample memory."""
    return run.device / max(run.asked, 1) * ample.asked / max(ample.device, 1) - 1


def _limited(on: Stage, argv: Sequence[str], size: int, own: int) -> Measured:
    return _run(on, argv, on.folder / f"limited-{time.monotonic_ns()}.iowhy", size + own)


def _run(on: Stage, argv: Sequence[str], out: Path, limit: int | None) -> Measured:
    """One cold run in a group of its own."""
    group = groups.make("memory", "memory", on.undo)
    if limit is not None:
        group.write("memory.limit_in_bytes", str(limit // _PAGE * _PAGE))
    on.filesystems[0].sync()
    on.filesystems[0].cool()
    device = on.disks[0].name
    before = _read_sectors(device)
    words = ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group.procs), *argv)
    with _watched(group.path) as taken:
        status, _, _ = record_plan(Plan(words), out, on.undo.kill_marked()[1])
    if status:
        raise SystemExit(f"status {status}: {' '.join(argv)[:200]}")
    read = (_read_sectors(device) - before) * _SECTOR // _PAGE
    with Relations(open_recording(out)) as relations:
        asked, missed = _counted(relations)
    own, left = max(taken.own, default=0), None
    if limit is not None:
        # While it is full: what the program takes for itself then is not left to files.
        full = [own + files for own, files in zip(taken.own, taken.cached, strict=True)]
        at = [one for one, used in enumerate(full) if used >= _FULL * limit]
        own = sum(taken.own[one] for one in at) // len(at) if at else own
        left = limit - own
    return Measured(left, own, max(taken.cached, default=0), asked, missed, read)


def _counted(relations: Relations) -> tuple[int, int]:
    """Pages that calls asked for, and those of them that had to be read."""
    found = relations.rows(
        "SELECT coalesce(sum(lookup_pages), 0), coalesce(sum(hit_pages), 0) FROM file_cache "
        f"WHERE lookup_pages > 0 AND dev = {_dev(relations)}"
    )
    asked, hit = found[0]
    return int(asked), int(asked) - int(hit)


def _of_its_files(kept: Path) -> Memory:
    """What was recorded of the files that it made; libraries are in memory before it begins."""
    recording = open_recording(kept)
    with recording.opened() as opened:
        facts = recorded_facts(recording, opened)
        selection = resolve(Filters(file="/fs0/"), recording.manifest, facts)
        sql = compose(CALLS, selection.facts(facts), selection)
        opened.need(tables_in(sql))
        return Memory(opened.connection.execute(sql).fetchall(), facts.page_bytes)


def _dev(relations: Relations) -> int:
    """The filesystem of its files."""
    found = relations.value(
        int,
        "SELECT dev FROM file_cache JOIN named_files USING (dev, ino) WHERE path LIKE '%/fs0/%' "
        "GROUP BY dev ORDER BY sum(lookup_pages) DESC LIMIT 1",
    )
    return -1 if found is None else found


def _read_sectors(device: str) -> int:
    return int(Path(f"/sys/block/{device}/stat").read_text().split()[2])


@contextmanager
def _watched(group: Path) -> Iterator[Taken]:
    """What is in memory.stat while it runs, many times a second."""
    taken, done = Taken(), threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            used = int((group / "memory.usage_in_bytes").read_text())
            words = (group / "memory.stat").read_text().split()
            stat = dict(zip(words[::2], map(int, words[1::2]), strict=True))
            files = stat["cache"] - stat.get("shmem", 0)
            if used > files > 0:
                taken.own.append(used - files)
                taken.cached.append(files)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield taken
    finally:
        done.set()
        thread.join()


def _said_as_unknown(program: Program, kept: Path, ample: Measured) -> bool:
    """Whether the report names what was read for mapped files, whose use it does not see."""
    with Relations(open_recording(kept)) as relations:
        mapped = relations.value(
            int, "SELECT CAST(sum(added_pages) AS BIGINT) FROM file_cache WHERE major_faults > 0"
        )
    print(
        f"{program.name}\tunknown: mapped, {(mapped or 0) * _PAGE / 2**20:.0f} of {ample.device * _PAGE / 2**20:.0f} MiB read",
        flush=True,
    )
    return mapped is not None and mapped >= 0.9 * ample.device


def _judge(program: Program, kept: Path, runs: list[Measured]) -> bool:
    if program.mapped:
        return _said_as_unknown(program, kept, runs[0])
    memory = _of_its_files(kept)
    found = [memory.at(run.memory_bytes or 0) for run in runs[1 : len(LIMITS) + 1]]
    fits_bytes = memory.fits_bytes
    ample, *limited = runs
    good = True
    for run, size in zip(limited, found, strict=False):
        predicted, hit = size.hit_share, 1 - run.missed / max(run.asked, 1)
        good = good and abs(predicted - hit) <= POINTS
        print(
            f"{program.name}\t{size.memory_bytes / 2**20:.0f}\t{predicted:.3f}\t{hit:.3f}\t{100 * (predicted - hit):+.1f}"
            f"\t{size.read_bytes / 2**20:.0f}\t{run.device * _PAGE / 2**20:.0f}\t{run.cached_bytes / 2**20:.0f}\t{run.own_bytes / 2**20:.0f}",
            flush=True,
        )
    fitting = [run.memory_bytes or 0 for run in limited if _again(run, ample) <= AGAIN]
    fits = min(fitting, default=0)
    near = bool(fits) and abs(fits_bytes / fits - 1) <= NEAR
    print(
        f"{program.name}\tfits\t{fits_bytes / 2**20:.0f}\t{fits / 2**20:.0f}\t{'near' if near else 'FAR'}",
        flush=True,
    )
    return good and near


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
