"""A slower device: a control group's limit on the command's own requests."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiment import groups
from iowhy.experiment.device import Device
from iowhy.experiment.lever import Level, Pulled, percent, share
from iowhy.experiment.process import enter_group
from iowhy.experiment.setting import Setting


@dataclass(frozen=True)
class IoThrottle:
    """A level of 0.5 allows half the bytes and half the requests per second of the device's best.

    Under control groups of version 1 only the command's own requests are limited: what kernel workers
    write back for it later is not, so buffered writing hardly feels this lever there.
    """

    name: str = "io-throttle"
    resource: str = "the disk"
    bound: str = "disk"
    needs: str = "root and the io (v2) or blkio (v1) controller"
    relieves: bool = False
    unsafe: bool = False
    explicit: bool = False
    cost: int = 3

    def refusal(self, setting: Setting) -> str | None:
        """Needs a device and a group that can limit it."""
        if setting.device is None:
            return f"{setting.directory} is not on a block device"
        found = groups.find("io")
        if isinstance(found, str):
            return found
        if found.version == 1 and not (found.parent / "blkio.throttle.write_bps_device").exists():
            return "the blkio controller here has no throttling"
        if not os.access(setting.directory, os.W_OK):
            return f"may not write to {setting.directory}, which measuring the device needs"
        return None

    def levels(self, setting: Setting, asked: tuple[str, ...]) -> tuple[Level, ...]:  # noqa: ARG002
        """Shares of the device's best."""
        values = [share(text, self.name) for text in asked] or [0.5]
        return tuple(Level(percent(value), str(value), value) for value in values)

    @contextmanager
    def pull(self, level: Level, setting: Setting) -> Iterator[Pulled]:
        """Limits reads and writes alike, in bytes and in requests."""
        device, best = setting.device, setting.best()
        if device is None:
            raise Problem(f"{self.name}: {setting.directory} is not on a block device")
        rate = max(4096, round(best.bytes_per_s * float(level.key)))
        requests = max(1, round(best.requests_per_s * float(level.key)))
        with setting.undo.scope():
            group = groups.make("io", "io", setting.undo)
            limit(group, device, rate, requests)
            yield Pulled(in_child=(enter_group(group.procs),))


def limit(group: groups.Group, device: Device, rate: int, requests: int) -> None:
    """Writes the limits in the form of the group's version (cgroup-v2.rst, blkio-controller.rst)."""
    number = f"{device.major}:{device.minor}"
    if group.version == 2:
        text = f"{number} rbps={rate} wbps={rate} riops={requests} wiops={requests}"
        group.write("io.max", text)
        return
    for knob, value in (
        ("read_bps", rate),
        ("write_bps", rate),
        ("read_iops", requests),
        ("write_iops", requests),
    ):
        group.write(str(Path(f"blkio.throttle.{knob}_device")), f"{number} {value}")


LEVER = IoThrottle()
