"""Files laid out in one piece: each rewritten in order into blocks allocated before."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments import copies
from iowhy.experiments.cache import files_below
from iowhy.experiments.condition import LevelFailed
from iowhy.experiments.device import device_of
from iowhy.experiments.lever import CannotAct, Effect, Level, Lever
from iowhy.experiments.setting import Setting


class Preallocate(Lever, frozen=True):
    """The command runs on a copy of the work directory whose files are in one piece.

    A level is a directory for the copy, on another filesystem where its own is full or has free space in
    small pieces only; that should be on a disk of the same kind, or the answer is about the disk.
    """

    name: str = "preallocate"
    resource: str = "contiguous files"
    bound: str = "layout"
    needs: str = "room for a copy next to the work directory, or in the directory that it is given"
    relieves: bool = True

    def refusal(self, setting: Setting) -> str | None:
        """Files in memory have no layout that costs time."""
        if setting.device is None:
            return f"{setting.directory} is not on a block device"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:
        """One: next to the work directory; else each directory given."""
        phrase = "laying its files out in one piece"
        if not asked:
            return (Level("in one piece", str(self._room(setting)), None, phrase),)
        found = []
        for text in asked:
            place = Path(text).absolute()
            if not place.is_dir():
                raise Problem("copy-not-a-directory", name=self.name, text=text)
            if setting.directory in (place, *place.parents):
                raise Problem("copy-in-the-work-directory", name=self.name, text=text)
            if device_of(place) is None:
                raise Problem("copy-not-on-a-disk", name=self.name, text=text)
            why = copies.refusal(setting, place)
            if why is not None:
                raise CannotAct("copy-refused", why=why)
            label = "in one piece" if len(asked) == 1 else f"in {text}"
            found.append(Level(label, str(place), None, phrase))
        return tuple(found)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """A fresh copy for each trial. LevelFailed where free space is too scattered for it."""
        with copies.copied(setting, Path(level.key), preallocated=True) as effect:
            if effect.files_at is None:
                yield effect
                return
            before, after = copies.pieces(setting.directory), copies.pieces(effect.files_at)
            if before is not None and after is not None:
                least = len(files_below(setting.directory))
                if after > max(before / 2, 2 * least):
                    raise LevelFailed(
                        "copy-in-more-pieces", after=after, before=before, name=self.name
                    )

            def reached(_wall_s: float) -> Mapping[str, float]:
                if before is None or after is None:
                    return {}
                return {"pieces_before": before, "pieces": after}

            effect.after = reached
            yield effect

    def _room(self, setting: Setting) -> Path:
        parent = copies.sibling(setting)
        why = (
            f"no room for a copy on the filesystem of {setting.directory}"
            if parent is None
            else copies.refusal(setting, parent)
        )
        if parent is None or why is not None:
            raise CannotAct("copy-on-another-filesystem", why=why, name=self.name)
        return parent


LEVER = Preallocate()
