"""The stage of one trial: a scratch directory, disks and filesystems in it, limits, neighbours.

Nothing outside the scratch directory is written to. All of it goes away with the undo session.
"""

import os
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct, field

from iowhy.errors import Problem
from iowhy.experiments import groups
from iowhy.invocation import as_root
from iowhy.lab import disks, filesystems, shell
from iowhy.lab.disks import MIB, Disk
from iowhy.lab.filesystems import Filesystem
from iowhy.messages import say
from iowhy.undo import MARK_VARIABLE, Undo, recover

DEFAULT_PARENT = Path("/var/tmp")


class Choice(Struct, frozen=True):
    """What the user may choose of a trial. `scale` multiplies the bytes and counts of a scenario."""

    fs: str
    device: str
    seed: int = 1
    scale: float = 1.0

    def size(self, mebibytes: float, step_bytes: int = 4 * MIB) -> int:
        """A scaled size in bytes, a multiple of the step and at least one."""
        return max(1, round(mebibytes * MIB * self.scale / step_bytes)) * step_bytes

    def count(self, number: int) -> int:
        """A scaled count, at least 1."""
        return max(1, round(number * self.scale))


class Stage(Struct):
    """Where a scenario prepares its trial."""

    folder: Path
    choice: Choice
    undo: Undo
    disks: list[Disk] = field(default_factory=list)
    filesystems: list[Filesystem] = field(default_factory=list)
    _neighbours: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def disk(self, mebibytes: int, kind: str | None = None, changes: Sequence[str] = ()) -> Disk:
        """Makes a disk of the chosen kind, or of `kind`; unpaced until :meth:`start_clock`."""
        kind = kind or self.choice.device
        if kind == "file":
            _check_space(self.folder, mebibytes * MIB)
        folder = self.folder / f"disk{len(self.disks)}"
        made = disks.make(kind, mebibytes * MIB, folder, self.undo, tuple(changes))
        self.disks.append(made)
        return made

    def filesystem(
        self,
        disk: Disk,
        kind: str | None = None,
        options: Sequence[str] = (),
        mkfs: Sequence[str] = (),
    ) -> Filesystem:
        """Makes and mounts a filesystem of the chosen kind, or of `kind`, on a disk."""
        path = self.folder / f"fs{len(self.filesystems)}"
        made = filesystems.make(kind or self.choice.fs, disk, path, self.undo, options, mkfs)
        self.filesystems.append(made)
        return made

    def scratch_filesystem(self, mebibytes: int, **more: Sequence[str]) -> Filesystem:
        """A disk of the chosen kind with a filesystem of the chosen kind, which may need a larger one."""
        least = filesystems.LEAST_MIB.get(self.choice.fs, 0)
        return self.filesystem(self.disk(max(mebibytes, least)), **more)  # type: ignore[arg-type]

    def limited(self, controller: str, knobs: Mapping[str, Mapping[int, str]]) -> tuple[str, ...]:
        """The words to put before a command so that it runs in a new control group.

        `knobs` is a value by version of cgroups (1 or 2) by name of the knob; a knob that the version at hand
        does not have is left out of its mapping.
        """
        group = groups.make(controller, controller, self.undo)
        for knob, values in knobs.items():
            if group.version in values:
                group.write(knob, values[group.version])
        return ("sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group.procs))

    def neighbour(self, argv: Sequence[str]) -> None:
        """Starts a program next to the command; it is killed in the end."""
        _, mark = self.undo.kill_marked()
        self._neighbours.append(
            subprocess.Popen(
                argv,
                env={**os.environ, MARK_VARIABLE: mark},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        )

    def start_clock(self) -> None:
        """From now on emulated disks take their time."""
        for disk in self.disks:
            disk.pace(True)

    def stop_clock(self) -> None:
        """Ends the neighbours and lets emulated disks answer at once, so that the end is quick."""
        for neighbour in self._neighbours:
            neighbour.kill()
            neighbour.wait()
        for disk in self.disks:
            disk.pace(False)


@contextmanager
def stage(choice: Choice, parent: Path | None = None) -> Iterator[Stage]:
    """A stage in a scratch directory below `parent`, taken away at the end.

    What an earlier lab left behind (killed, say) is cleaned first. Raises Problem without the rights.
    """
    check_rights()
    parent = parent or DEFAULT_PARENT
    if not parent.is_dir():
        raise Problem("lab-no-such-directory", parent=parent)
    left = recover()
    if left:
        say(f"put back what a run that was killed had left: {len(left)} actions")
    with Undo.session("lab") as undo:
        made = Stage(undo.scratch_directory(parent, "iowhy-lab"), choice, undo)
        try:
            yield made
        finally:
            made.stop_clock()


def check_rights() -> None:
    """Raises Problem when this machine or user cannot run the lab, and says what it takes."""
    if os.geteuid() != 0:
        raise Problem("lab-needs-root", as_root=as_root())
    if not Path("/dev/loop-control").exists():
        raise Problem("lab-loop-devices-missing")
    shell.need("losetup", "mount")


def _check_space(folder: Path, need_bytes: int) -> None:
    found = os.statvfs(folder)
    free = found.f_bavail * found.f_frsize
    if free < need_bytes + 64 * MIB:
        raise Problem(
            "lab-space-short", path=folder, need_bytes=need_bytes // MIB + 64, free=free // MIB
        )
