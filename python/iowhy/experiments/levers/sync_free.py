"""Sync calls that return at once, on a copy of the work directory."""

from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.errors import Problem
from iowhy.experiments import copies
from iowhy.experiments.in_child import ignore_syncs, sync_filter_refusal
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting


class SyncFree(Lever, frozen=True):
    """What fsync, fdatasync, msync, sync_file_range, sync and syncfs cost.

    Nothing that the command writes is safe against a power cut, so it needs --allow-unsafe and never
    touches the original below the work directory (what it writes elsewhere is its own).
    """

    name: str = "sync-free"
    resource: str = "syncing"
    bound: str = "sync"
    needs: str = "--allow-unsafe, seccomp filters, room for a copy next to the work directory"
    relieves: bool = True
    predicted_by: str = "no-syncs"
    unsafe: bool = True
    only: Level | None = Level("no syncing", "off", None, "leaving out all syncing")

    def refusal(self, setting: Setting) -> str | None:
        """Never without leave; and the copy must be on the same filesystem."""
        if not setting.allow_unsafe:
            return "data written without syncing can be lost; with --allow-unsafe iowhy runs it on a copy"
        parent = copies.sibling(setting)
        if parent is None:
            return f"no room for a copy on the filesystem of {setting.directory}"
        return sync_filter_refusal() or copies.refusal(setting, parent)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """A fresh copy for each trial."""
        parent = copies.sibling(setting)
        if parent is None or not setting.allow_unsafe:
            raise Problem("lever-refused", name=self.name, refusal=self.refusal(setting))
        with copies.copied(setting, parent) as effect:
            effect.in_child = (ignore_syncs(),)
            yield effect


LEVER = SyncFree()
