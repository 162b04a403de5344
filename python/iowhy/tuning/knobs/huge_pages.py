"""Transparent huge pages: fewer faults and misses of the TLB for who computes over much memory."""

from collections.abc import Sequence
from pathlib import Path

from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, FileKnob, Kept, Value
from iowhy.whys import classes

_PATH = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_PART = 0.1


class HugePages(FileKnob, frozen=True):
    """For all programs; only for those that ask, if it is for all now."""

    name: str = "transparent_hugepage"

    def path(self, setting: Setting) -> Path | None:  # noqa: ARG002
        """Of the machine."""
        return _PATH if _PATH.exists() else None

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """The other one."""
        now = self.now(setting)
        if now is None:
            return ()
        then = "madvise" if now == "always" else "always"
        worth = _PART * clues.share(classes.USER, classes.KERNEL)
        return [Value(now, then, max(worth, clues.share(classes.MEMORY) if clues.known else 0.0))]

    def keep(self, then: str, setting: Setting) -> Kept:
        """A file of tmpfiles.d(5)."""
        place = "/etc/tmpfiles.d/iowhy-huge-pages.conf"
        return Kept(
            place,
            f"w {_PATH} - - - - {then}\n",
            f"systemd-tmpfiles --create {place}",
            f"rm {place} && echo {self.now(setting)} > {_PATH}",
        )


KNOB = HugePages()
