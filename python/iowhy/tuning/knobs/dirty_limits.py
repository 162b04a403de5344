"""How much memory may be dirty before writers wait."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from iowhy.experiments.lever import Effect, Level
from iowhy.experiments.setting import Setting
from iowhy.tuning.knob import Clues, FileKnob, Kept, Value, read, write
from iowhy.whys import classes

_VM = Path("/proc/sys/vm")
_MORE = "60"
_BEGIN = "30"
_FILES = ("dirty_bytes", "dirty_background_bytes", "dirty_ratio", "dirty_background_ratio")


class DirtyLimits(FileKnob, frozen=True):
    """Three fifths of memory: what is written is written later, and more is lost in a crash that was never synced."""

    name: str = "vm.dirty_ratio"

    def path(self, setting: Setting) -> Path | None:  # noqa: ARG002
        """Of the machine."""
        return _VM / "dirty_ratio"

    def also_resets(self, setting: Setting) -> Sequence[Path]:  # noqa: ARG002
        """Bytes and ratios clear each other; those in force are written back last."""
        in_bytes = read(_VM / "dirty_bytes") != "0"
        order = _FILES if in_bytes else (*_FILES[2:], *_FILES[:2])
        return [_VM / one for one in order if read(_VM / one) != "0"]

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """More."""
        now = self.now(setting)
        if now is None or now == _MORE:
            return ()
        held = max(clues.share(classes.THROTTLED), clues.trouble("dirty pages"))
        return [Value(now, _MORE, held if clues.known else 0.1)]

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """With the one from which writeback begins."""
        with super().apply(level, setting) as effect:
            write(_VM / "dirty_background_ratio", _BEGIN)
            yield effect

    def keep(self, then: str, setting: Setting) -> Kept:  # noqa: ARG002
        """A file of sysctl.d(5)."""
        place = "/etc/sysctl.d/90-iowhy-dirty.conf"
        was = " ".join(f"vm.{one}={read(_VM / one)}" for one in _FILES if read(_VM / one) != "0")
        return Kept(
            place,
            f"vm.dirty_ratio = {then}\nvm.dirty_background_ratio = {_BEGIN}\n",
            f"sysctl -p {place}",
            f"rm {place} && sysctl {was}",
        )


KNOB = DirtyLimits()
