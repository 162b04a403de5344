"""What live tests do with the machine: record a command, make a filesystem that nobody else uses."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from iowhy.recordings import Recording, open_recording
from iowhy.sources.live import RECORDER, program

MKFS = {
    # No lazy initialisation: a kernel thread would write in the background for minutes.
    "ext4": ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0,nodiscard"],
    "xfs": ["mkfs.xfs", "-q", "-f", "-K"],
    "btrfs": ["mkfs.btrfs", "-q", "-f", "-K"],
}


def record(
    argv: Sequence[str | Path],
    out: Path,
    *options: str,
    cwd: Path | None = None,
    status: int | None = 0,
    stdin: bytes = b"",
) -> Recording:
    """Record `argv` and open the recording; the command must end with `status` (None: any)."""
    done = subprocess.run(
        [program(RECORDER), "run", "-o", out, *options, "--", *argv],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        timeout=240,
        check=False,
    )
    assert status is None or done.returncode == status, (done.returncode, done.stderr.decode())
    return open_recording(out)


def python(code: str, *arguments: str | Path) -> list[str | Path]:
    """The command that runs `code` in Python without site packages (they read many files)."""
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def work(*arguments: str | Path) -> list[str | Path]:
    """The command that runs one of the lab's own workloads."""
    return [program("iowhy-work"), *arguments]


@dataclass(frozen=True)
class Filesystem:
    """A mounted scratch filesystem: where, on which loop device, and its device number (s_dev)."""

    mount: Path
    disk: str
    dev: int


@contextmanager
def filesystem(
    kind: str,
    folder: Path,
    *,
    bytes_: int = 512 * 2**20,
    options: str = "noatime",
    made: Sequence[str] = (),
) -> Iterator[Filesystem]:
    """A filesystem on a loop device over a file in `folder`, that nothing else writes to.

    `made`: more options of mkfs.
    """
    with (
        loop_device(folder / f"{kind}.img", bytes_) as disk,
        _mounted(kind, disk, folder, options, made) as scratch,
    ):
        yield scratch


@contextmanager
def in_memory(
    kind: str,
    folder: Path,
    *,
    bytes_: int = 1536 * 2**20,
    options: str = "noatime",
    made: Sequence[str] = (),
) -> Iterator[Filesystem]:
    """A filesystem on compressed memory, whose pages of zeros take none.

    For what counts pages, not requests: such a disk reads a page faster than any other, but the
    kernel does not trace its requests. Without zram it is a loop device over a file in memory.
    """
    zram = Path("/sys/class/zram-control/hot_add")
    image = Path("/dev/shm") / f"iowhy-test-{os.getpid()}.img"
    with (
        _compressed(bytes_) if zram.exists() else loop_device(image, bytes_) as disk,
        _mounted(kind, disk, folder, options, made) as scratch,
    ):
        yield scratch


@contextmanager
def served_by_python(folder: Path, delay_ms: float, *mode: str) -> Iterator[tuple[Path, int]]:
    """A filesystem that a process serves (fuse_names.py): where it is mounted, and that process."""
    mount = folder / "names"
    mount.mkdir()
    server_program = Path(__file__).with_name("fuse_names.py")
    with subprocess.Popen(
        [sys.executable, server_program, mount, str(delay_ms), *mode], stdout=subprocess.PIPE
    ) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"mounted\n"
        try:
            yield mount, server.pid
        finally:
            run("umount", str(mount))


@dataclass(frozen=True)
class Emulated:
    """ext4 on an emulated disk: where it is mounted, on which loop device, and who serves it."""

    mount: Path
    disk: str
    server: "subprocess.Popen[bytes]"


@contextmanager
def emulated(folder: Path, *options: str) -> Iterator[Emulated]:
    """ext4 on an emulated flash disk (options as iowhy-disk takes them), which may be silenced by stopping who serves it."""
    served, mount = folder / "disk", folder / "mount"
    served.mkdir()
    mount.mkdir()
    argv = [program("iowhy-disk"), "--mount", served, "--profile", "ssd", "--size", "256M"]
    with (
        subprocess.Popen([*argv, *options], stdout=subprocess.PIPE) as server,
        ExitStack() as after,
    ):
        after.callback(server.terminate)
        assert server.stdout is not None
        assert server.stdout.readline()
        disk = run("losetup", "--find", "--show", "--direct-io=on", str(served / "disk")).strip()
        after.callback(run, "losetup", "-d", disk)
        run(*MKFS["ext4"], disk)
        run("mount", "-o", "noatime", disk, str(mount))
        after.callback(run, "umount", "-l", str(mount))
        after.callback(server.send_signal, signal.SIGCONT)
        yield Emulated(mount, disk, server)


@contextmanager
def loop_device(image: Path, bytes_: int) -> Iterator[str]:
    """A loop device, which may have partitions, over a file that is made for it; its path."""
    with image.open("wb") as file:
        file.truncate(bytes_)
    try:
        disk = run("losetup", "--partscan", "--find", "--show", str(image)).strip()
        try:
            yield disk
        finally:
            run("losetup", "--detach", disk)
    finally:
        image.unlink()


@contextmanager
def swap_on(folder: Path) -> Iterator[str]:
    """A disk that the machine swaps to; its name."""
    with loop_device(folder / "swap.img", 256 << 20) as disk:
        run("mkswap", disk)
        run("swapon", disk)
        try:
            yield Path(disk).name
        finally:
            run("swapoff", disk)


@contextmanager
def _compressed(bytes_: int) -> Iterator[str]:
    control = Path("/sys/class/zram-control")
    number = (control / "hot_add").read_text().strip()  # reading it makes a device
    device = Path(f"/sys/block/zram{number}")
    try:
        (device / "disksize").write_text(str(bytes_))
        yield f"/dev/zram{number}"
    finally:
        (device / "reset").write_text("1")
        (control / "hot_remove").write_text(number)


@contextmanager
def _mounted(
    kind: str, disk: str, folder: Path, options: str, made: Sequence[str] = ()
) -> Iterator[Filesystem]:
    mount = folder / f"{kind}.mount"
    mount.mkdir(exist_ok=True)
    run(*MKFS[kind], *made, disk)
    run("mount", "-o", options, disk, str(mount))
    try:
        run("sync", "-f", str(mount))
        yield Filesystem(mount, Path(disk).name, number(mount))
    finally:
        run("umount", str(mount))


def number(mount: Path) -> int:
    """The device number (major << 20 | minor) of a mounted filesystem, as the kernel keeps it.

    From mountinfo: what stat(2) tells of a btrfs file is the number of its subvolume.
    """
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields = line.split()
        if fields[4] == str(mount):
            major, minor = fields[2].split(":")
            return int(major) << 20 | int(minor)
    raise AssertionError(f"{mount} is not mounted")


def disk_number(name: str) -> int:
    """The kernel's device number of the disk called `name`."""
    major, minor = Path(f"/sys/block/{name}/dev").read_text().strip().split(":")
    return int(major) << 20 | int(minor)


def disk_counters(name: str) -> dict[str, int]:
    """The counters of one disk from /proc/diskstats."""
    for line in Path("/proc/diskstats").read_text().splitlines():
        if line.split()[2] == name:
            return counters(line)
    raise AssertionError(f"no disk {name} in /proc/diskstats")


def counters(line: str) -> dict[str, int]:
    """The counters of a line of /proc/diskstats (Documentation/admin-guide/iostats.rst)."""
    values = [int(field) for field in line.split()[3:]]
    return {
        "reads": values[0],
        "read_bytes": values[2] * 512,
        "writes": values[4],
        "written_bytes": values[6] * 512,
        "discards": values[11],
        "discarded_bytes": values[13] * 512,
        "flushes": values[15],
    }


def control_groups(prefix: str) -> set[Path]:
    """Those whose name begins with it; others' come and go meanwhile."""
    folders = os.walk("/sys/fs/cgroup")
    return {
        Path(at) / name for at, names, _ in folders for name in names if name.startswith(prefix)
    }


def run(*argv: str) -> str:
    """Run a command that must succeed; its output."""
    done = subprocess.run(argv, input="", capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, (argv, done.stdout, done.stderr)
    return done.stdout


def ask(recording: Recording, statement: str, *parameters: object) -> list[tuple[object, ...]]:
    """The rows of an SQL statement over a recording."""
    with recording.connected() as connection:
        return connection.execute(statement, parameters).fetchall()


def evicted_by_others(recording: Recording, dev: int, ino: int) -> int:
    """Pages of a file that processes other than the recorded ones took out of the cache."""
    counted = one(
        recording,
        "SELECT coalesce(sum(evicted_pages), 0)::BIGINT FROM page_cache WHERE dev = ? AND ino = ?"
        " AND (tgid IS NULL OR tgid NOT IN (SELECT tgid FROM threads))",
        dev,
        ino,
    )
    return int(str(counted))


def one(recording: Recording, statement: str, *parameters: object) -> object:
    """The one value of an SQL statement over a recording."""
    rows = ask(recording, statement, *parameters)
    assert len(rows) == 1 and len(rows[0]) == 1, rows
    return rows[0][0]
