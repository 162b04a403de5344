"""What a device is on: the layers between a filesystem and the disks, and which disk of an array answers late."""

from msgspec import Struct

from iowhy.relations import Relations

#: What made a mapped device (the first word of its uuid), in the words of who uses it.
_MADE_BY = {"LVM": "LVM", "CRYPT": "dm-crypt", "mpath": "multipath"}
#: Deeper is nothing that anybody builds; a recording that says so is damaged.
_DEEPEST = 8


class Answers(Struct, frozen=True):
    """One device's requests of one direction: how many, and how long one takes from queue to completion (ns)."""

    dev: int
    op: str
    requests: int
    mean_ns: float


class _Device(Struct, frozen=True):
    dev: int
    name: str
    raid_level: str | None
    mapper_name: str | None
    mapper_kind: str | None

    @property
    def words(self) -> str:
        if self.mapper_name is not None:
            made_by = _MADE_BY.get(self.mapper_kind or "")
            return f"{made_by or 'device-mapper'} {self.mapper_name}"
        return self.name if self.raid_level is None else f"{self.name} ({self.raid_level})"


class Layers(Struct, frozen=True):
    """`shown`: the device and all below it, in words; `members`: what an array in it consists of, by name;
    `answers`: how its members answer."""

    shown: str
    members: dict[int, str]
    answers: tuple[Answers, ...]


def below(relations: Relations, dev: int | None) -> Layers | None:
    """What is below a device; None where nothing does, or it is not known."""
    if dev is None or not relations.has("device_layers"):
        return None
    under: dict[int, list[int]] = {}
    for upper, lower in relations.rows(
        "SELECT dev, below_dev FROM device_layers ORDER BY dev, below_dev"
    ):
        under.setdefault(upper, []).append(lower)
    if dev not in under:
        return None
    found = relations.read(
        _Device, "SELECT dev, name, raid_level, mapper_name, mapper_kind FROM devices"
    )
    named = {one.dev: one for one in found}
    members = _members(under, dev)
    return Layers(
        _in_words(named, under, dev),
        {member: _words(named, member) for member in members},
        _answers(relations, members),
    )


def _words(named: dict[int, _Device], dev: int) -> str:
    return named[dev].words if dev in named else f"{dev >> 20}:{dev & 0xFFFFF}"


def _in_words(
    named: dict[int, _Device], under: dict[int, list[int]], dev: int, depth: int = 0
) -> str:
    lower = under.get(dev, []) if depth < _DEEPEST else []
    on = ", ".join(_in_words(named, under, one, depth + 1) for one in lower)
    return f"{_words(named, dev)} on {on}" if on else _words(named, dev)


def _members(under: dict[int, list[int]], dev: int) -> list[int]:
    """The devices of the topmost array at or below a device; none where each layer is on one."""
    for _ in range(_DEEPEST):
        lower = under.get(dev, [])
        if len(lower) != 1:
            return lower
        dev = lower[0]
    return []


def _answers(relations: Relations, members: list[int]) -> tuple[Answers, ...]:
    if not members or not relations.has("block_requests"):
        return ()
    return tuple(
        relations.read(
            Answers,
            f"""SELECT dev, op, CAST(sum(requests - unseen) AS BIGINT) AS requests,
              sum(time_ns) / sum(requests - unseen) AS mean_ns
            FROM request_totals
            WHERE op IN ('read', 'write') AND owner_kind <> 'flush' AND dev IN ({", ".join(map(str, members))})
            GROUP BY dev, op HAVING sum(requests - unseen) > 0
            ORDER BY op, dev""",
        )
    )
