"""The work directory in memory: what would remain with an infinitely fast disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from iowhy.experiments import copies
from iowhy.experiments.cache import available_bytes, files_below
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting
from iowhy.recordings.allocated import allocated_bytes

_MEMORY = Path("/dev/shm")


class FastDevice(Lever, frozen=True):
    """The command runs on a copy in memory; the original is not touched in these trials."""

    name: str = "fast-device"
    resource: str = "the disk"
    bound: str = "disk"
    needs: str = "memory for a copy of the work directory"
    relieves: bool = True
    only: Level | None = Level("in memory", "memory", None, "having its files in memory")

    def refusal(self, setting: Setting) -> str | None:
        """The copy must fit well, and the original must not be in memory already."""
        if setting.device is None:
            return f"{setting.directory} is not on a block device"
        wanted, free = allocated_bytes(files_below(setting.directory)), available_bytes()
        if wanted > free * 0.4:
            return f"the work directory's {wanted >> 20} MiB are too much for {free >> 20} MiB free"
        return copies.refusal(setting, _MEMORY)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """A fresh copy for each trial."""
        with copies.copied(setting, _MEMORY) as effect:
            yield effect


LEVER = FastDevice()
