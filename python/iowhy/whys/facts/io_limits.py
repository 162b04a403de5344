"""Limits of the control group on reads and writes, each next to what the command did on the device that it holds for."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.requests import Requests


class DeviceLimits(Struct, frozen=True):
    """`dev` and `device` are None in recordings that do not say it: then the requests are those of all devices."""

    dev: int | None
    device: str | None
    read_limit_bytes_per_s: float | None
    write_limit_bytes_per_s: float | None
    read_limit_per_s: float | None
    write_limit_per_s: float | None
    reads: int
    writes: int
    read_bytes: float
    write_bytes: float


_BY_DEVICE = """
SELECT l.dev, coalesce(d.name, (l.dev >> 20) || ':' || (l.dev & 1048575)) AS device, l.read_limit_bytes_per_s,
  l.write_limit_bytes_per_s, l.read_limit_per_s, l.write_limit_per_s, l.reads, l.writes, l.read_bytes,
  l.written_bytes AS write_bytes
FROM device_limits l LEFT JOIN devices d ON d.dev = l.dev
ORDER BY l.dev
"""

_TIGHTEST = """
SELECT CAST(NULL AS BIGINT) AS dev, NULL AS device, min(read_limit_bytes_per_s) AS read_limit_bytes_per_s,
  min(write_limit_bytes_per_s) AS write_limit_bytes_per_s, min(read_limit_per_s) AS read_limit_per_s,
  min(write_limit_per_s) AS write_limit_per_s, {reads} AS reads, {writes} AS writes,
  {read_bytes} AS read_bytes, {write_bytes} AS write_bytes
FROM group_totals
"""


def io_limits(relations: Relations, requests: Requests) -> tuple[DeviceLimits, ...]:
    """Those of each device; of a recording that has only the tightest on any, that."""
    if relations.has("io_limits"):
        return tuple(relations.read(DeviceLimits, _BY_DEVICE))
    if not relations.has("cgroup_samples"):
        return ()
    tightest = _TIGHTEST.format(
        reads=requests.reads, writes=requests.writes,
        read_bytes=requests.read_bytes, write_bytes=requests.write_bytes,
    )  # fmt: skip
    return tuple(relations.read(DeviceLimits, tightest))
