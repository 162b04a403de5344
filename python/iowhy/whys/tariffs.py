"""Limits of volumes as providers sell them, as data (`tariffs.toml`): a ceiling can only ever match one, never show it."""

from functools import cache

from msgspec import Struct, toml

from iowhy.package_files import package_folder

#: A ceiling is measured within 3 %, and matches within that.
NEAR = 0.03
GIB = 1 << 30


class Tariff(Struct, frozen=True, forbid_unknown_fields=True):
    """What one kind of volume is held at. `per_gib` and `base` give requests a second by the volume's size, from `least` to `most`.

    `compared`: its figures with those of the page that is its source.
    """

    name: str
    source: str
    requests_per_s: tuple[float, ...] = ()
    bytes_per_s: tuple[float, ...] = ()
    per_gib: float | None = None
    base: float = 0.0
    least: float = 0.0
    most: float = float("inf")
    compared: bool = False

    def requests(self, size_bytes: int | None) -> tuple[float, ...]:
        """Its limits of requests a second, for a volume of this size."""
        if self.per_gib is None or size_bytes is None:
            return self.requests_per_s
        sized = self.base + self.per_gib * size_bytes / GIB
        return (*self.requests_per_s, min(self.most, max(self.least, sized)))


class _File(Struct, forbid_unknown_fields=True):
    tariff: list[Tariff]


@cache
def tariffs() -> tuple[Tariff, ...]:
    """All that are known."""
    text = (package_folder("iowhy.whys") / "tariffs.toml").read_text("utf-8")
    return tuple(toml.decode(text, type=_File).tariff)


def matching(
    counts: str, requests_per_s: float, bytes_per_s: float, size_bytes: int | None
) -> tuple[str, ...]:
    """The names of those that have this limit."""
    found = []
    for one in tariffs():
        by_requests = counts != "bytes" and near(requests_per_s, one.requests(size_bytes))
        if by_requests or (counts != "requests" and near(bytes_per_s, one.bytes_per_s)):
            found.append(one.name)
    return tuple(found)


def near(rate: float, limits: tuple[float, ...]) -> bool:
    """Whether a measured rate is one of these."""
    return any(abs(rate - limit) <= NEAR * limit for limit in limits)
