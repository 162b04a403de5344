"""A slower device: a control group's limit on the command's own requests."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from iowhy.errors import Problem
from iowhy.experiments import groups
from iowhy.experiments.device import Best, Device
from iowhy.experiments.in_child import enter_group
from iowhy.experiments.lever import Effect, Level, Lever, percent
from iowhy.experiments.setting import Setting
from iowhy.quantities import share

_BURST_S = 0.15
"""What the kernel lets pass at once, in seconds of the allowed rate (measured: 0.1 to 0.2)."""

_MATERIAL = 0.05
"""A device that is needed for less of the run than this does not bind it, burst or not."""


class IoThrottle(Lever, frozen=True):
    """A level of 0.5 allows half the bytes and half the requests per second of the device's best.

    The kernel lets a burst pass at full speed. What counts is therefore how much longer the command's own bytes
    and requests must have taken, which for short runs is much less than what was asked for.

    Under control groups of version 1 only the command's own requests are limited: what kernel workers
    write back for it later is not, so buffered writing hardly feels this lever there.
    """

    name: str = "io-throttle"
    resource: str = "the disk"
    bound: str = "disk"
    needs: str = "root and the io (v2) or blkio (v1) controller"

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
        values = [share(self.name, text) for text in asked] or [0.5]
        return tuple(Level(percent(value), str(value), value) for value in values)

    @contextmanager
    def apply(self, level: Level, setting: Setting) -> Iterator[Effect]:
        """Limits reads and writes alike, in bytes and in requests."""
        device, best = setting.device, setting.best()
        if device is None:
            raise Problem("not-block-device", name=self.name, directory=setting.directory)
        rate = max(4096, round(best.bytes_per_s * float(level.key)))
        requests = max(1, round(best.requests_per_s * float(level.key)))
        with setting.undo.scope():
            group = groups.make("io", "io", setting.undo)
            limit(group, device, rate, requests)

            def after(wall_s: float) -> Mapping[str, float]:
                group.held()
                moved = transferred(group, device)
                if moved is None:
                    return {}
                left = factor_left(moved, wall_s, best, float(level.key))
                if left > 1.1 * float(level.key):
                    setting.note(
                        f"{self.name} {level.label}: much of what the command reads and writes passed in "
                        "a burst, which the kernel does not hold; a longer run shows more"
                    )
                return {"throttled_bytes_per_s": moved[0] / max(wall_s, 1e-3), "factor": left}

            yield Effect(in_child=(enter_group(group.procs),), after=after)


def transferred(group: groups.Group, device: Device) -> tuple[int, int] | None:
    """Bytes and requests of a group at a device (io.stat; blkio.throttle.*), None where not reported."""
    number = f"{device.major}:{device.minor}"
    if group.version == 2:
        for line in (group.read("io.stat") or "").splitlines():
            name, *pairs = line.split()
            if name == number:
                values = {key: int(value) for key, _, value in (p.partition("=") for p in pairs)}
                return (
                    values.get("rbytes", 0) + values.get("wbytes", 0),
                    values.get("rios", 0) + values.get("wios", 0),
                )
        return 0, 0
    sums = []
    for knob in ("io_service_bytes", "io_serviced"):
        text = group.read(f"blkio.throttle.{knob}")
        if text is None:
            return None
        words = [line.split() for line in text.splitlines()]
        sums.append(
            sum(int(w[2]) for w in words if w[:1] == [number] and w[1:2] in (["Read"], ["Write"]))
        )
    return sums[0], sums[1]


def factor_left(moved: tuple[int, int], wall_s: float, best: Best, level: float) -> float:
    """The share of the device that was really left to a command that moved these bytes and requests."""
    at_best_s = max(moved[0] / best.bytes_per_s, moved[1] / best.requests_per_s)
    if at_best_s < _MATERIAL * wall_s:
        return level
    held_s = at_best_s / level - _BURST_S
    return min(1.0, at_best_s / held_s) if held_s > at_best_s else 1.0


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
