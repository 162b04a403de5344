"""Scratch block devices: loop devices on a file or in memory, compressed memory, emulated disks.

Every one is journalled before it is made, so that it goes away on every way out.
"""

import json
import os
import re
import select
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.lab import shell
from iowhy.sources import live
from iowhy.undo import MARK_VARIABLE, Undo

MIB = 1 << 20

#: Kinds of devices and what they are, for help texts.
KINDS = {
    "file": "a loop device on a file in the scratch directory: the speed of the disk below",
    "memory": "a loop device on a file in memory",
    "zram": "compressed memory without a loop device: calls cost the caller's CPU time",
    "hdd": "an emulated mechanical disk: seeks, rotation, 150 MB/s, volatile write cache",
    "ssd": "an emulated flash disk: 80 µs, 4 channels, 500 MB/s, 1 ms to flush",
    "flush-slow": "an emulated flash disk that takes 20 ms to flush",
}
EMULATED = ("hdd", "ssd", "flush-slow")

#: Patience for an emulated disk to come up; it takes milliseconds where nothing is wrong.
_READY_S = 10.0


class Disk(Struct, frozen=True):
    """A scratch block device. `folder` holds the control files of an emulated disk, else None."""

    kind: str
    path: Path
    size_bytes: int
    folder: Path | None = None

    @property
    def name(self) -> str:
        """Its name in /sys/block."""
        return self.path.name

    @property
    def number(self) -> str:
        """Its numbers as the kernel writes them, `major:minor`."""
        return Path(f"/sys/block/{self.name}/dev").read_text().strip()

    def pace(self, on: bool) -> None:
        """Turns the timing of an emulated disk on or off, so that preparing takes no time."""
        if self.folder is not None:
            with self._serving():
                (self.folder / "control").write_text("pace on" if on else "pace off")

    def statistics(self) -> dict[str, object] | None:
        """What an emulated disk was asked for and did since it was made, else None."""
        if self.folder is None:
            return None
        with self._serving():
            found: dict[str, object] = json.loads((self.folder / "statistics").read_text())
        return found

    @contextmanager
    def _serving(self) -> Iterator[None]:
        """Asks the program that emulates the disk: one that was killed is not a missing file."""
        try:
            yield
        except OSError as error:
            raise Problem("disk-gone", path=self.path, error=error.strerror) from None


def make(
    kind: str, size_bytes: int, folder: Path, undo: Undo, changes: tuple[str, ...] = ()
) -> Disk:
    """Makes a disk of a kind of :data:`KINDS` with its files in `folder` (empty or not yet there).

    `changes` are options of iowhy-disk that replace figures of an emulated one, e.g. `--flush-ms=5`.
    Raises Problem when the kind is unknown or the machine refuses.
    """
    if kind not in KINDS:
        raise Problem("device-unknown", kind=kind, kinds=", ".join(KINDS))
    folder.mkdir(mode=0o700, exist_ok=True)
    if kind == "zram":
        return _zram(size_bytes, undo)
    if kind in EMULATED:
        return _emulated(kind, size_bytes, folder, undo, changes)
    if kind == "memory":
        _check_memory(size_bytes)
        undo.umount(folder)
        shell.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size_bytes + 64 * MIB}", "tmpfs", str(folder)]
        )
    image = folder / "image"
    with image.open("wb") as file:
        os.truncate(file.fileno(), size_bytes)
    return Disk(kind, _loop(image, undo), size_bytes)


def _loop(backing: Path, undo: Undo) -> Path:
    undo.losetup_detach(backing)
    try:
        found = shell.run(["losetup", "--find", "--show", "--direct-io=on", str(backing)])
    except Problem:
        # Memory (tmpfs) before Linux 6.6 has no direct I/O.
        found = shell.run(["losetup", "--find", "--show", str(backing)])
    return Path(found.strip())


def _emulated(
    kind: str, size_bytes: int, folder: Path, undo: Undo, changes: tuple[str, ...]
) -> Disk:
    _check_memory(size_bytes // 2)
    program = live.program("iowhy-disk")
    _, mark = undo.kill_marked()
    undo.umount(folder)
    serving = subprocess.Popen(
        [str(program), "--mount", str(folder), "--profile", kind, "--size", str(size_bytes),
         "--unpaced", *changes],
        env={**os.environ, MARK_VARIABLE: mark},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A signal to the terminal's foreground group must not pull the disk from under its filesystem.
        start_new_session=True,
    )  # fmt: skip
    assert serving.stdout is not None
    assert serving.stderr is not None
    ready, _, _ = select.select([serving.stdout], [], [], _READY_S)
    if not ready or not serving.stdout.readline():
        serving.kill()
        _, said = serving.communicate()
        raise Problem("disk-not-started", said=said.decode(errors="replace").strip())
    disk = Disk(kind, _loop(folder / "disk", undo), size_bytes, folder)
    # As a disk of its kind would appear. A loop device keeps its knobs for its next user: they are put back.
    for knob, value in (
        ("scheduler", "mq-deadline"),
        ("max_sectors_kb", "512"),
        ("rotational", "1" if kind == "hdd" else "0"),
    ):
        set_knob(Path(f"/sys/block/{disk.name}/queue/{knob}"), value, undo)
    return disk


def set_knob(path: Path, value: str, undo: Undo) -> None:
    """Writes a knob of a scratch device, journalled. Raises Problem when the kernel refuses."""
    try:
        old = path.read_text()
        # A choice of several is shown with the one in force in brackets.
        chosen = re.search(r"\[(\S+)\]", old)
        undo.write_file(path, old=chosen[1] if chosen else old)
        path.write_text(value)
    except OSError as error:
        raise Problem("knob-refused", path=path, value=value, error=error.strerror) from None


def _zram(size_bytes: int, undo: Undo) -> Disk:
    control = Path("/sys/class/zram-control")
    if not (control / "hot_add").exists():
        raise Problem("zram-missing")
    _check_memory(size_bytes)
    number = (control / "hot_add").read_text().strip()
    undo.write_file(control / "hot_remove", old=number)
    Path(f"/sys/block/zram{number}/disksize").write_text(str(size_bytes))
    return Disk("zram", Path(f"/dev/zram{number}"), size_bytes)


def _check_memory(size_bytes: int) -> None:
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            available = int(line.split()[1]) * 1024
            # Half for the rest of the machine: a lab must not be the memory pressure that it shows.
            if available < 2 * size_bytes:
                raise Problem(
                    "lab-memory-short",
                    value=2 * size_bytes // MIB,
                    available=available // MIB,
                )
