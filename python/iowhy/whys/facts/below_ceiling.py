"""What is known of a device and of what it is on that a ceiling of it is measured by: its driver's limits, its model, its own counts."""

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations import Relations

#: Models of providers' volumes (Amazon, Google, Alibaba), as their drivers show them: all that these do is what was bought.
MODELS = (
    "Amazon Elastic Block Store",
    "PersistentDisk",
    "nvme_card-pd",
    "Alibaba Cloud Elastic Block Storage",
)
#: Deeper is nothing that anybody builds; a recording that says so is damaged.
_DEEPEST = 8
#: Of the time that a volume counts, at its limit, from which that shows it; below NONE it counts that it was not.
COUNTED = 0.1
NONE = 0.001


class Below(Struct, frozen=True):
    """A device. `at_once`: requests that its driver gives it at a time; None: it does not say. Of an array, the model is that of its
    members, if they have one."""

    dev: int
    name: str | None
    below_dev: int | None
    rotational: bool | None
    size_bytes: int | None
    model: str | None
    at_once: int | None

    @property
    def bought(self) -> bool:
        """Whether it says that it is a provider's volume, which does what was bought."""
        return any(one in (self.model or "") for one in MODELS)


_DEVICES = """
SELECT dev, any_value(name) AS name, any_value(below_dev) AS below_dev, any_value(rotational) AS rotational,
  any_value(size_bytes) AS size_bytes, any_value(model) AS model, any_value(least(driver_requests, queue_requests)) AS at_once
FROM devices GROUP BY dev
"""


def stack(relations: Relations, dev: int) -> list[Below]:
    """The device and, one after the other, what each is on, as long as that is one device."""
    known = {one.dev: one for one in relations.read(Below, _DEVICES)}
    found = [known.get(dev) or Below(dev, None, None, None, None, None, None)]
    while found[-1].below_dev in known and len(found) < _DEEPEST:
        found.append(known[found[-1].below_dev])
    models = {known[one].model for one in members(relations, found[-1].dev) if one in known}
    if len(models) == 1:
        found[-1] = replace(found[-1], model=models.pop())
    return found


def members(relations: Relations, dev: int) -> list[int]:
    """The devices that an array consists of; empty: it is none."""
    if not relations.has("device_layers"):
        return []
    found = relations.values(int, f"SELECT DISTINCT below_dev FROM device_layers WHERE dev = {dev}")
    return found if len(found) > 1 else []


def part(relations: Relations, dev: int, below: int) -> float:
    """Of the bytes that the lower device moved, those that the upper one did."""
    moved: dict[int, float | None] = dict(
        relations.rows(
            f"""SELECT dev, CAST(sum(coalesce(read_bytes, 0) + coalesce(written_bytes, 0)) AS DOUBLE) FROM disk_steps
            WHERE dev IN ({dev}, {below}) GROUP BY dev"""
        )
    )
    return min(1.0, (moved.get(dev) or 0.0) / max(moved.get(below) or 0.0, 1.0))


class OwnCount(Struct, frozen=True):
    """What a volume counts itself: for how long more was asked of it than was bought."""

    dev: int
    span_ns: int
    volume_requests_ns: int
    volume_bytes_ns: int
    machine_requests_ns: int
    machine_bytes_ns: int

    @property
    def most_ns(self) -> int:
        """At the limit that it was at for the longest."""
        return max(self.volume_requests_ns, self.volume_bytes_ns, self.of_machine_ns)

    @property
    def of_machine_ns(self) -> int:
        """At a limit of the machine, for all of its volumes."""
        return max(self.machine_requests_ns, self.machine_bytes_ns)

    @property
    def of_machine(self) -> bool:
        """Whether that is one of the machine, and not of the volume."""
        return self.of_machine_ns > max(self.volume_requests_ns, self.volume_bytes_ns)

    @property
    def counts(self) -> str:
        """What that limit counts."""
        moved = max(self.volume_bytes_ns, self.machine_bytes_ns)
        return "bytes" if moved == self.most_ns else "requests"

    @property
    def share(self) -> float:
        """Of the time, at that limit."""
        return min(1.0, self.most_ns / self.span_ns)

    @property
    def at_limit(self) -> bool:
        """Whether that shows the ceiling."""
        return self.share >= COUNTED

    @property
    def never(self) -> bool:
        """Whether it was at none."""
        return self.share < NONE


def own_count(relations: Relations, dev: int) -> OwnCount | None:
    """What a volume counts, of an array the member that is at a limit for longest; None: it does not count, or nothing could read it."""
    if not relations.has("volume_limits"):
        return None
    known = {one.dev: one for one in relations.read(OwnCount, "SELECT * FROM counted_limits")}
    found = [known[one] for one in (dev, *members(relations, dev)) if one in known]
    return max(found, key=lambda one: one.share, default=None)
