"""No I/O limit: the command runs outside the control group that limits it."""

from collections.abc import Iterator
from contextlib import contextmanager

from iowhy.experiments import groups
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level, Lever
from iowhy.experiments.setting import Setting

#: What limits a device's bytes and requests: one line for each device (cgroup-v2.rst, blkio-controller.rst).
_KNOBS = {
    1: tuple(f"blkio.throttle.{way}_{what}_device" for way in ("read", "write") for what in ("bps", "iops")),
    2: ("io.max",),
}  # fmt: skip


class IoUnlimited(Lever, frozen=True):
    """The command enters a group at the top of the hierarchy, which has no limits, for its trials.

    Under version 2 that takes the group's other limits away too. What is above a container's own top stays.
    """

    name: str = "io-unlimited"
    resource: str = "I/O without a limit"
    bound: str = "limit"
    needs: str = "root, and a control group around the command that limits its I/O"
    relieves: bool = True
    predicted_by: str = "no-io-limit"
    only: Level | None = Level("no limit", "none", None, "taking the I/O limit away")

    def refusal(self, setting: Setting) -> str | None:
        """Needs a limit around us on the device, and the rights to leave its group."""
        device = setting.device
        if device is None:
            return f"{setting.directory} is not on a block device"
        found = groups.find_top("io")
        if isinstance(found, str):
            return found
        number = f"{device.major}:{device.minor}"
        if not any(_limits(text, number) for text in groups.around("io", _KNOBS[found.version])):
            return groups.no_limit(f"I/O on {device.name}")
        return None

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:  # noqa: ARG002
        """One group for each trial."""
        with setting.undo.scope():
            group = groups.make_at_top("io", "unlimited", setting.undo)
            yield Effect(in_child=(enter_group(group.procs),))


def _limits(text: str, number: str) -> bool:
    """Whether lines of limits have one of this device."""
    for line in text.splitlines():
        words = line.split()
        values = [word.rpartition("=")[2] for word in words[1:]]
        if words[:1] == [number] and any(value not in ("max", "0") for value in values):
            return True
    return False


LEVER = IoUnlimited()
