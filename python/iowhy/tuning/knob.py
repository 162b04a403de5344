"""What a module in `iowhy.tuning.knobs` provides.

A module there holds `KNOB` and is found by being there: adding one touches nothing else but its test and its row in the page.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.experiments.condition import LevelFailed
from iowhy.experiments.device import mount_of
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting
from iowhy.mounts import Mount
from iowhy.undo.kinds.entry import Failed
from iowhy.undo.kinds.mounts import remount
from iowhy.whys import classes


class Clues(Struct, frozen=True):
    """What a recording knows: shares of the time by class and by trouble (of causes), what changes of `iowhy what-if` leave of the time, and
    the share in reads past the page cache.

    Without a recording (`known` is false) each setting that can act may help.
    """

    shares: Mapping[str, float] = {}
    troubles: Mapping[str, float] = {}
    predicted: Mapping[str, float] = {}
    direct_reads: float = 0.0
    known: bool = False
    allow_unsafe: bool = False

    def share(self, *names: str) -> float:
        """The share of the time in these classes; half of it, where nothing is known."""
        return sum(self.shares.get(name, 0.0) for name in names) if self.known else 0.5

    def trouble(self, name: str) -> float:
        """The largest share that a cause of this trouble explains."""
        return self.troubles.get(name, 0.0)

    @property
    def storage(self) -> float:
        """The share that waits for storage."""
        return self.share(*classes.STORAGE)

    @property
    def next_to_others(self) -> float:
        """The share that others on the device take."""
        return self.trouble("neighbours")


class Kept(Struct, frozen=True):
    """A file that makes a setting last: `place` is where it belongs, `apply` what reads it now, `undo` what takes it back."""

    place: str
    text: str
    apply: str
    undo: str


class Value(Struct, frozen=True):
    """A value to try: `worth` is the share of the time that it could save at most."""

    now: str
    then: str
    worth: float


class Knob(Lever, frozen=True):
    """A setting that may make the command faster. ``unsafe`` knobs may lose data in a crash, and ask for --allow-unsafe.

    ``bounded_by`` is the change of `iowhy what-if` that no value of it can beat. ``about_others``: it puts the command before
    others, and is judged next to them.
    """

    relieves: bool = True
    bounded_by: str = ""
    about_others: bool = False

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """Values that could help, most promising first; empty without such a setting."""
        raise NotImplementedError

    def keep(self, then: str, setting: Setting) -> Kept:
        """What makes it last."""
        raise NotImplementedError

    def level(self, value: Value) -> Level:
        """Of a value, as trials name it."""
        return Level(f"{value.now} → {value.then}", value.then, None)


class FileKnob(Knob, frozen=True):
    """One that is a file of /sys or /proc."""

    def path(self, setting: Setting) -> Path | None:
        """Its path; None without one."""
        raise NotImplementedError

    def also_resets(self, setting: Setting) -> Sequence[Path]:  # noqa: ARG002
        """Files that the kernel resets when this one is written."""
        return ()

    def now(self, setting: Setting) -> str | None:
        """Its value; None without one."""
        path = self.path(setting)
        return None if path is None else read(path)

    def refusal(self, setting: Setting) -> str | None:
        """Needs the file, and the right to write it."""
        path = self.path(setting)
        if path is None or read(path) is None:
            return "there is no such setting here"
        try:
            path.open("r+").close()
        except OSError as error:
            return f"{path}: {error.strerror}"
        return None

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Writes it for the time of the trial."""
        path = self.path(setting)
        assert path is not None
        with setting.undo.scope():
            for other in (*self.also_resets(setting), path):
                old = read(other)
                if old is not None:
                    setting.undo.write_file(other, old)
            write(path, level.key)
            written = read(path)

            def held(_: float) -> Mapping[str, float]:
                if read(path) != written:
                    raise Problem("setting-changed-by-another", path=path)
                return {}

            yield Effect(after=held)


class MountKnob(Knob, frozen=True):
    """An option of the filesystem that the data are on."""

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Remounts with the option, and back."""
        found = mount_of(setting.directory)
        assert found is not None
        with setting.undo.scope():
            setting.undo.remount(found.point, self.undone_by(found))
            try:
                remount(found.point, level.key)
            except Failed as error:
                raise LevelFailed("could-not-set", error=error) from None
            yield Effect()

    def back(self, mount: Mount) -> str:
        """The option in force now."""
        raise NotImplementedError

    def undone_by(self, mount: Mount) -> str:
        """The option with which mount(8) puts it back."""
        return self.back(mount)

    def keep(self, then: str, setting: Setting) -> Kept:
        """A line of fstab(5)."""
        found = mount_of(setting.directory)
        assert found is not None
        options = [one for one in dict.fromkeys(found.options) if one != self.back(found)]
        line = f"{found.source} {found.point} {found.kind} {','.join([*options, then])} 0 2\n"
        return Kept(
            "/etc/fstab",
            line,
            f"put this line into /etc/fstab instead of the one of {found.point}, then: mount -o remount,{then} {found.point}",
            f"put the old line back, then: mount -o remount,{self.undone_by(found)} {found.point}",
        )


def queue_file(setting: Setting, name: str) -> Path | None:
    """A file of the queue of the device that the data are on, where the kernel has it."""
    device = setting.device
    if device is None:
        return None
    path = Path(f"/sys/block/{device.name}/queue/{name}").resolve()
    return path if path.exists() else None


def kept_for_device(name: str, then: str, setting: Setting) -> Kept:
    """A rule of udev(7) that sets a file of a queue."""
    device = setting.device
    assert device is not None
    place = f"/etc/udev/rules.d/99-iowhy-{name.replace('_', '-')}.rules"
    rule = f'ACTION=="add|change", SUBSYSTEM=="block", KERNEL=="{device.name}", ATTR{{queue/{name}}}="{then}"\n'
    now = read(Path(f"/sys/block/{device.name}/queue/{name}")) or ""
    return Kept(
        place,
        rule,
        f"udevadm control --reload && udevadm trigger --action=change /sys/block/{device.name}",
        f"rm {place} && udevadm control --reload && echo {now} > /sys/block/{device.name}/queue/{name}",
    )


def read(path: Path) -> str | None:
    """A knob's value: of several words the one in brackets."""
    try:
        text = path.read_text().strip()
    except OSError:
        return None
    chosen = [word.strip("[]") for word in text.split() if word.startswith("[")]
    return chosen[0] if chosen else text


def choices(path: Path) -> list[str]:
    """The words that it may be."""
    try:
        return path.read_text().replace("[", "").replace("]", "").split()
    except OSError:
        return []


def write(path: Path, value: str) -> None:
    """Raises LevelFailed that names it."""
    try:
        path.write_text(value)
    except OSError as error:
        raise LevelFailed("knob-refused", path=path, value=value, error=error.strerror) from None
