"""How often the journal is committed without a sync."""

from collections.abc import Sequence

from iowhy.experiments.device import mount_of
from iowhy.experiments.setting import Setting
from iowhy.mounts import Mount
from iowhy.tuning.knob import Clues, MountKnob, Value
from iowhy.whys import classes

_USUAL_S = {"ext4": 5, "ext3": 5, "btrfs": 30}
_THEN = "commit=60"
_PART = 0.2


class CommitInterval(MountKnob, frozen=True):
    """Once a minute: a crash loses up to a minute of what was not synced."""

    name: str = "commit"
    unsafe: bool = True

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """One, on filesystems that have it."""
        found = mount_of(setting.directory)
        if found is None or found.kind not in _USUAL_S or self.back(found) == _THEN:
            return ()
        waits = clues.share(classes.WRITE, classes.SYNC, classes.THROTTLED)
        return [Value(self.back(found), _THEN, _PART * waits)]

    def back(self, mount: Mount) -> str:
        """The interval in force: the filesystem's own is not shown."""
        shown = next((one for one in mount.options if one.startswith("commit=")), None)
        return shown or f"commit={_USUAL_S.get(mount.kind, 5)}"


KNOB = CommitInterval()
