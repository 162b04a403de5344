"""Times of access: with relatime a first read of the day writes the inode."""

from collections.abc import Sequence

from iowhy.experiments.device import mount_of
from iowhy.experiments.setting import Setting
from iowhy.mounts import Mount
from iowhy.tuning.knob import Clues, MountKnob, Value
from iowhy.whys import classes

_OPTIONS = ("noatime", "relatime", "strictatime")
_PART = 0.1
"""Of the waits to read: inodes are a small part of what is read, and written later."""


class AccessTimes(MountKnob, frozen=True):
    """Without them."""

    name: str = "noatime"

    def values(self, setting: Setting, clues: Clues) -> Sequence[Value]:
        """Off, unless they are."""
        found = mount_of(setting.directory)
        if found is None or setting.device is None or "noatime" in found.options:
            return ()
        many = clues.trouble("metadata")
        return [
            Value(self.back(found), "noatime", max(_PART * clues.share(classes.READ), many / 4))
        ]

    def back(self, mount: Mount) -> str:
        """The one in force; strictatime is shown by none."""
        return next((one for one in _OPTIONS if one in mount.options), "strictatime")

    def undone_by(self, mount: Mount) -> str:
        """relatime alone leaves noatime in force."""
        now = self.back(mount)
        return "atime,relatime" if now == "relatime" else now


KNOB = AccessTimes()
