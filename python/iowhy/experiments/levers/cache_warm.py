"""The command's files read into the page cache before the trial."""

from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.experiments import cache
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting
from iowhy.recordings.allocated import allocated_bytes


class CacheWarm(Lever, frozen=True):
    """What the first touch of each page costs: the time saved when the files are cached already."""

    name: str = "cache-warm"
    resource: str = "a warm cache"
    bound: str = "cache"
    needs: str = "nothing; the files below the work directory and those of the recording"
    relieves: bool = True
    predicted_by: str = "in-memory"
    cost: int = 1
    only: Level | None = Level("warm", "warm", None, "having its files cached before")

    def refusal(self, setting: Setting) -> str | None:
        """The other trials must find the files uncached, and memory must hold them."""
        if setting.base_cache not in ("cold", "cold-machine"):
            return "the other trials run with a cache that is warm already: add --cache cold"
        wanted = allocated_bytes(cache.files_of(setting))
        free = cache.available_bytes()
        if wanted > free * 0.8:
            return f"the files' {wanted >> 20} MiB do not fit into {free >> 20} MiB of memory"
        return None

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """The cache is set right before the command starts, after --prepare."""
        yield Effect(cache="warm")


LEVER = CacheWarm()
