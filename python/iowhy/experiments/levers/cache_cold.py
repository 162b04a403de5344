"""The command's files dropped from the page cache before the trial."""

from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting


class CacheCold(Lever, frozen=True):
    """What the cache saves: the time added when the files must be read from the device."""

    name: str = "cache-cold"
    resource: str = "a cold cache"
    bound: str = "cache"
    needs: str = "nothing; the files below the work directory"
    cost: int = 1
    only: Level | None = Level(
        "cold", "cold", None, "dropping its files from the cache before", takes=True
    )

    def refusal(self, setting: Setting) -> str | None:
        """The other trials must not be cold already."""
        if setting.base_cache in ("cold", "cold-machine"):
            return "the other trials run with a cold cache already (--cache)"
        if setting.device is None:
            return f"{setting.directory} is in memory"
        return None

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """The cache is set right before the command starts, after --prepare."""
        yield Effect(cache="cold")


LEVER = CacheCold()
