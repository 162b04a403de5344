"""Files laid out in one piece: each rewritten in order into blocks allocated before."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from iowhy.errors import Problem
from iowhy.experiment import copies
from iowhy.experiment.lever import Level, Pulled
from iowhy.experiment.setting import Setting


@dataclass(frozen=True)
class Preallocate:
    """The command runs on a copy of the work directory whose files lie in one piece."""

    name: str = "preallocate"
    resource: str = "contiguous files"
    bound: str = "layout"
    needs: str = "room for a copy beside the work directory"
    relieves: bool = True
    unsafe: bool = False
    explicit: bool = False
    cost: int = 3

    def refusal(self, setting: Setting) -> str | None:
        """The copy must lie on the same filesystem."""
        parent = copies.sibling(setting)
        if setting.device is None:
            return f"{setting.directory} is not on a block device"
        if parent is None:
            return f"no room for a copy on the filesystem of {setting.directory}"
        return copies.refusal(setting, parent)

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Only one."""
        return (Level("in one piece", "whole", None, "laying its files out in one piece"),)

    @contextmanager
    def pull(self, level: Level, setting: Setting) -> Iterator[Pulled]:  # noqa: ARG002
        """A fresh copy for each trial."""
        parent = copies.sibling(setting)
        if parent is None:
            raise Problem(f"{self.name}: {self.refusal(setting)}")
        with copies.copied(setting, parent, preallocated=True) as pulled:
            yield pulled


LEVER = Preallocate()
