"""Commands with a setting that is wrong for them, real programs, and commands that no setting helps, for `benchmarks.tune_grid`."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from iowhy.experiments import groups
from iowhy.lab import shell
from iowhy.lab.disks import MIB, set_knob
from iowhy.lab.scenarios._work import make_file, work
from iowhy.lab.scenarios.network_wait import _client
from iowhy.lab.stage import Stage

#: A volume of a cloud: each access takes a millisecond, many at once are no trouble.
VOLUME = ("--access-us=1000", "--channels=32")
USUAL = {"read_ahead_kb": "128", "nr_requests": "256"}


class Made(Struct, frozen=True):
    """A command, what resets it, the CPU that it is bound to, and the group that it runs in."""

    argv: Sequence[str]
    prepare: tuple[str, ...] = ()
    cpu: int | None = None
    group: Path | None = None


class Case(Struct, frozen=True):
    """`make` prepares files in a folder and gives the command; `queue`: how the disk's settings are then. `cold`: files are not in memory."""

    name: str
    kind: str
    make: Callable[[Stage, Path], Made]
    device: str = "ssd"
    changes: tuple[str, ...] = ()
    queue: tuple[tuple[str, str], ...] = ()
    cold: bool = True


def _sh(script: str, *words: object) -> tuple[str, ...]:
    return ("sh", "-c", script, *map(str, words))


def _cat(mebibytes: int) -> Callable[[Stage, Path], Made]:
    return lambda _, folder: Made(("cat", str(make_file(folder / "data", mebibytes * MIB, 1))))


def _in_order(_: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 80 * MIB, 1)
    return Made(("dd", f"if={path}", "of=/dev/null", "bs=8K", "status=none"))


_TOUCH = """
import mmap, random, sys
chance = random.Random(1)
with open(sys.argv[1], "rb") as file, mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
    pages = len(data) // mmap.PAGESIZE
    print(sum(data[chance.randrange(pages) * mmap.PAGESIZE] for _ in range(int(sys.argv[2]))))
"""


def _mapped(_: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 512 * MIB, 1)
    return Made((sys.executable, "-I", "-S", "-c", _TOUCH, str(path), "250"))


def _scattered(_: Stage, folder: Path) -> Made:
    """Small parts of a file all over it, then one sync."""
    path = make_file(folder / "data", 128 * MIB, 1)
    code = "import os,sys; f=os.open(sys.argv[1],os.O_RDWR); [os.pwrite(f,b'x'*4096,i*32768) for i in range(4000)]; os.fsync(f)"
    return Made((sys.executable, "-I", "-S", "-c", code, str(path)))


def _next_to_readers(on: Stage, folder: Path) -> Made:
    path, others = (make_file(folder / one, 256 * MIB, 1) for one in ("data", "others"))
    on.neighbour(work("randread", file=others, threads=6, block="256K", for_seconds=600))
    return Made(work("randread", file=path, block="64K", reads=10))


def _next_to_writer(on: Stage, folder: Path) -> Made:
    on.neighbour(_sh('while :; do dd if=/dev/zero of="$0" bs=1M count=128 conv=fdatasync status=none; done', folder / "others"))  # fmt: skip
    return Made(_synced(folder, 30), prepare=(f"rm -f {folder}/log",))


def _synced(folder: Path, times: int) -> tuple[str, ...]:
    return work("seqwrite", file=folder / "log", bytes=times * 4096, block="4K", fsync_every=1)


def _many(_: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 256 * MIB, 1)
    return Made(work("randread", file=path, threads=32, block="4K", reads=100))


def _dirty(on: Stage, folder: Path) -> Made:
    vm = Path("/proc/sys/vm")
    for name in ("dirty_background_ratio", "dirty_ratio"):
        on.undo.write_file(vm / name)
    (vm / "dirty_bytes").write_text(str(16 * MIB))
    (vm / "dirty_background_bytes").write_text(str(8 * MIB))
    return Made(work("seqwrite", file=folder / "log", bytes=80 * MIB), (f"rm -f {folder}/log",))


def _grouped(on: Stage, controller: str, knob: str, value: str) -> Path:
    group = groups.make(controller, controller, on.undo)
    group.write(knob, value)
    return group.procs


def _io_limited(on: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 48 * MIB, 1)
    rate = f"{on.disks[0].number} {40 * MIB}"
    return Made(
        ("cat", str(path)), group=_grouped(on, "io", "blkio.throttle.read_bps_device", rate)
    )


def _memory_limited(on: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 128 * MIB, 1)
    group = _grouped(on, "memory", "memory.limit_in_bytes", str(96 * MIB))
    return Made(("cat", *[str(path)] * 4), group=group)


def _bound(_: Stage, __: Path) -> Made:
    return Made(work("spin", threads=2, cpu_seconds=0.6), cpu=0)


def _next_to_spinners(on: Stage, _: Path) -> Made:
    on.neighbour(work("spin", threads=4, cpu_seconds=600))
    return Made(work("spin", threads=2, cpu_seconds=0.4))


def _sqlite(_: Stage, folder: Path) -> Made:
    made = (
        "PRAGMA journal_mode=OFF; CREATE TABLE item(id INTEGER PRIMARY KEY, text BLOB);"
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000)"
        "INSERT INTO item SELECT i, randomblob(900) FROM n;"
    )
    shell.run(["sqlite3", str(folder / "shop.db"), made])
    asked = "SELECT count(*), sum(length(text)), max(substr(text, 7, 3)) FROM item"
    return Made(("sqlite3", str(folder / "shop.db"), asked))


def _files(folder: Path) -> Path:
    """Some files of 4 MiB."""
    (folder / "tree").mkdir()
    for number in range(24):
        make_file(folder / "tree" / str(number), 4 * MIB, number)
    return folder / "tree"


def _tar(_: Stage, folder: Path) -> Made:
    tree = _files(folder)
    return Made(("tar", "-C", str(folder), "-cf", str(folder / "out.tar"), tree.name))


def _text(path: Path, mebibytes: int) -> Path:
    """Lines of this machine's headers."""
    lines = b"".join(one.read_bytes() for one in sorted(Path("/usr/include").rglob("*.h")))
    path.write_bytes((lines * (mebibytes * MIB // len(lines) + 1))[: mebibytes * MIB])
    return path


def _xz(_: Stage, folder: Path) -> Made:
    return Made(("xz", "-1", "-k", "-f", str(_text(folder / "text", 16))))


def _git(_: Stage, folder: Path) -> Made:
    """All objects of a pack, which git reads by mapping it."""
    tree = _files(folder)
    git = f"git -C {tree} -c user.name=a -c user.email=a@b -c gc.auto=0 -c core.compression=0"
    made = f"{git} init -q && {git} add -A && {git} commit -qm one && {git} repack -adq --window=0"
    shell.run(["sh", "-c", made])
    return Made(("git", "-C", str(tree), "fsck", "--no-progress"))


def _rsync(_: Stage, folder: Path) -> Made:
    tree, out = _files(folder), folder / "out"
    return Made(("rsync", "-a", f"{tree}/", f"{out}/"), (f"rm -rf {out}",))


def _rocksdb(_: Stage, folder: Path) -> Made:
    """Two readers of memory, bound to one CPU."""
    words = ("db_bench", f"--db={folder}/base", "--num=50000")
    shell.run([*words, "--benchmarks=fillseq"])
    read = ("--benchmarks=readrandom", "--use_existing_db=1", "--threads=2", "--reads=100000")
    return Made((*words, *read), cpu=0)


def _network(on: Stage, _: Path) -> Made:
    return Made(_client(on).argv)


def _warm(_: Stage, folder: Path) -> Made:
    path = make_file(folder / "data", 128 * MIB, 1)
    return Made(("cat", *[str(path)] * 20))


CASES = (
    Case("readahead of 16 KiB", "scenario", _in_order, queue=(("read_ahead_kb", "16"),)),
    Case("a volume far away", "scenario", _cat(192), changes=VOLUME),
    Case("mapped at random", "scenario", _mapped, queue=(("read_ahead_kb", "4096"),)),
    Case("writes to a volume far away", "scenario", _scattered, changes=VOLUME, cold=False),
    Case("next to readers", "scenario", _next_to_readers, "hdd"),
    Case("syncs next to a writer", "scenario", _next_to_writer, "ssd", queue=(("wbt_lat_usec", "0"),)),
    Case("few requests at once", "scenario", _many, changes=VOLUME, queue=(("nr_requests", "4"),)),
    Case("few pages dirty", "scenario", _dirty, "hdd", ("--megabytes-per-s=60",), cold=False),
    Case("a group's limit of reads", "scenario", _io_limited),
    Case("a group's memory limit", "scenario", _memory_limited),
    Case("bound to one CPU", "scenario", _bound, cold=False),
    Case("CPUs that others use", "scenario", _next_to_spinners, cold=False),
    Case("sqlite3", "program", _sqlite, changes=VOLUME),
    Case("tar", "program", _tar, "hdd"),
    Case("xz", "program", _xz, cold=False),
    Case("git", "program", _git, changes=VOLUME),
    Case("rsync", "program", _rsync, changes=VOLUME),
    Case("db_bench", "program", _rocksdb, cold=False),
    Case("sleep", "control", lambda *_: Made(("sleep", "1")), cold=False),
    Case("computing", "control", lambda *_: Made(work("spin", threads=1, cpu_seconds=0.8)), cold=False),
    Case("network", "control", _network, cold=False),
    Case("warm", "control", _warm, cold=False),
)  # fmt: skip


def usual(on: Stage, case: Case) -> None:
    """The disk's settings as the kernel has them by default, or as the case has them."""
    queue = Path(f"/sys/block/{on.disks[0].name}/queue")
    turns = (queue / "rotational").read_text().strip() == "1"
    wbt = {"wbt_lat_usec": "75000" if turns else "2000"}
    for name, value in {**USUAL, **wbt, **dict(case.queue)}.items():
        if (queue / name).exists():
            set_knob(queue / name, value, on.undo)


@contextmanager
def inside(made: Made) -> Iterator[None]:
    """This process, and what it starts, is bound and limited as the command is."""
    all_cpus = os.sched_getaffinity(0)
    if made.cpu is not None:
        os.sched_setaffinity(0, {made.cpu})
    if made.group is not None:
        made.group.write_text(str(os.getpid()))
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cpus)
        if made.group is not None:
            (made.group.parents[1] / made.group.name).write_text(str(os.getpid()))
