"""A mount option changed for the trial: on the lab's own filesystems only."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments.command import Place, run
from iowhy.experiments.device import mount_of
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting
from iowhy.undo import MARKER_FILE, opposite_option


class MountOption(Lever, frozen=True):
    """Levels are options, as in mount-option=nobarrier. Never on a filesystem that is not ours.

    A filesystem is ours when a directory above its mount point carries the marker file of the lab.
    """

    name: str = "mount-option"
    resource: str = "the mount option"
    bound: str = "mount-option"
    needs: str = "root and a work directory on a filesystem of iowhy lab"
    relieves: bool = True
    explicit: bool = True

    def refusal(self, setting: Setting) -> str | None:
        """Not one of ours: no."""
        found = mount_of(setting.directory)
        if found is None or not is_ours(Path(found.point)):
            return f"{setting.directory} is not on a filesystem that iowhy lab made"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:
        """Each option that can be put back."""
        found = mount_of(setting.directory)
        if not asked:
            raise Problem("mount-option-missing", name=self.name)
        if found is not None:
            for option in asked:
                if opposite_option(option, found.options) is None:
                    raise Problem("undo-unknown-option", name=self.name, option=option)
        return tuple(Level(option, option, None, f"mounting with {option}") for option in asked)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Remounts with the option, and back."""
        found = mount_of(setting.directory)
        if found is None or not is_ours(Path(found.point)):
            raise Problem("lever-refused", name=self.name, refusal=self.refusal(setting))
        back = opposite_option(level.key, found.options)
        if back is None:
            raise Problem("undo-unknown-key", name=self.name, key=level.key)
        with setting.undo.scope():
            setting.undo.remount(found.point, back)
            command = ["mount", "-o", f"remount,{level.key}", found.point]
            done = run(command, Place(setting.directory), setting.undo, capture=True)
            if done.status != 0:
                raise Problem(
                    "mount-option-refused",
                    name=self.name,
                    key=level.key,
                    output=done.output.strip()[-300:],
                )
            yield Effect()


def is_ours(point: Path) -> bool:
    """Whether a directory above the mount point carries the marker of a directory of ours."""
    return any((parent / MARKER_FILE).is_file() for parent in point.parents)


LEVER = MountOption()
