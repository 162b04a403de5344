"""A device by a few measured numbers: what it takes to answer a request, by its kind, size and place."""

import tomllib
from bisect import bisect_left
from functools import cache, cached_property
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct, field

from iowhy.errors import Problem
from iowhy.package_files import package_folder

#: Numbers beyond these are a slip of the hand.
_Time = Annotated[float, Meta(ge=0, le=60e6)]
_Way = Annotated[float, Meta(ge=0, le=1e18)]
_Rate = Annotated[float, Meta(gt=0, le=1e6)]
#: A device whose way to another place costs so many times what the next place does has an arm: it works on one request, the nearest.
_ARM = 4.0


class Device(Struct, frozen=True, forbid_unknown_fields=True, dict=True):
    """Times in µs, rates in MB/s.

    `access_us` are pairs of (distance in bytes from the end of the request before, time until the first byte is read), nearest
    first. A write is accepted in `write_us`, and its bytes at `cache_mb_per_s`. With `cache_mib` it then waits there to be
    carried out at `write_mb_per_s`, and a flush waits until all of that is: `drain_us` for the first place (most of a turn of
    a disk), the way to each further one, and `flush_us` more. `parallel` requests are worked on at once.
    """

    name: Annotated[str, Meta(min_length=1, max_length=60)]
    access_us: Annotated[tuple[tuple[_Way, _Time], ...], Meta(min_length=1, max_length=64)]
    read_mb_per_s: _Rate
    write_mb_per_s: _Rate
    write_us: _Time
    flush_us: _Time
    source: str = ""
    parallel: Annotated[int, Meta(ge=1, le=1024)] = 1
    cache_mib: Annotated[float, Meta(ge=0, le=1e6)] = 0.0
    cache_mb_per_s: _Rate | None = None
    drain_us: _Time = 0.0
    requests_per_s: Annotated[float, Meta(gt=0)] | None = None
    aliases: tuple[str, ...] = field(default=())

    @cached_property
    def _distances(self) -> list[float]:
        return [distance for distance, _ in self.access_us]

    @cached_property
    def has_arm(self) -> bool:
        """Whether the place of a request decides what it takes."""
        times = [time for _, time in self.access_us]
        return self.parallel == 1 and max(times) > _ARM * max(times[0], 1.0)

    def access_ns(self, distance: float) -> float:
        """Until the first byte is read, this far from the end of the request before: between two distances, on the line between."""
        pairs, at = self.access_us, bisect_left(self._distances, distance)
        if at == 0:
            return pairs[0][1] * 1e3
        if at == len(pairs):
            return pairs[-1][1] * 1e3
        (near, low), (far, high) = pairs[at - 1], pairs[at]
        return (low + (high - low) * (distance - near) / (far - near)) * 1e3

    def moved_ns(self, bytes_: float, *, read: bool) -> float:
        """In which the bytes pass."""
        return bytes_ * 1e3 / (self.read_mb_per_s if read else self.write_mb_per_s)

    def accepted_ns(self, bytes_: float) -> float:
        """Until a write is in its cache."""
        return self.write_us * 1e3 + bytes_ * 1e3 / (self.cache_mb_per_s or self.write_mb_per_s)


@cache
def presets() -> tuple[Device, ...]:
    """Usual kinds of devices, the slowest first."""
    text = (package_folder("iowhy.model") / "devices.toml").read_text("utf-8")
    found = tomllib.loads(text)["device"]
    return tuple(msgspec.convert(one, Device) for one in found)


def device_of(given: str) -> Device:
    """The device that a name of a preset, or a file of `iowhy device-model`, describes. Raises Problem."""
    for one in presets():
        if given in one.aliases:
            return one
    path = Path(given)
    try:
        made = msgspec.convert(tomllib.loads(path.read_text("utf-8")), Device)
    except FileNotFoundError:
        names = ", ".join(alias for one in presets() for alias in one.aliases[:1])
        raise Problem("no-such-device-model", given=given, names=names) from None
    except (OSError, ValueError, msgspec.ValidationError) as error:
        raise Problem("device-model-unreadable", path=path, error=error) from None
    if list(made.access_us) != sorted(set(made.access_us)):
        raise Problem("device-model-order", path=path)
    return made
