"""What of the pages that calls read is in memory from an earlier call, by how much memory there is for file data."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from iowhy.relations.facts import RecordedFacts
from iowhy.relations.page_cache import Call, PageCache, run

#: Calls as `Memory` takes them.
CALLS = """
SELECT file, stream, first_page, last_page, coalesce(before_page, -9), end_page, writes, ahead, every, repeated, read_pages
FROM page_calls
ORDER BY place
"""
#: Of what is read once, what may be read again where all fits.
AGAIN = 0.01
#: Sizes are powers of two from so many doublings below all that is read.
_DOUBLINGS = 6
_NEAR = 1.02


class Size(Struct, frozen=True):
    """`hit_share` of the pages that calls read an earlier call has brought; `read_bytes` the device reads then, `again_bytes` more than with memory for all."""

    memory_bytes: int
    hit_share: float
    read_bytes: int
    again_bytes: int


class Memory:
    """A recording's calls, in page caches of any size."""

    def __init__(self, rows: Sequence[tuple[Any, ...]], page_bytes: int) -> None:
        self._calls = [Call._make((*row[:6], bool(row[6]), bool(row[7]))) for row in rows]
        self._every: int = rows[0][8] if rows else 1
        self._repeated: int = rows[0][9] if rows else 0
        self._read_pages: int = rows[0][10] if rows else 0
        self._page_bytes = page_bytes
        self._found: dict[int, Size] = {}

    def at(self, memory_bytes: int) -> Size:
        """With so much memory for file data."""
        if memory_bytes not in self._found:
            room = memory_bytes / self._page_bytes / self._every
            self._found[memory_bytes] = self._size(
                memory_bytes, run(self._calls, room, self._every)
            )
        return self._found[memory_bytes]

    @cached_property
    def all_bytes(self) -> int:
        """All that comes into memory."""
        return self._pages(len(self._ample.active) + len(self._ample.inactive))

    @cached_property
    def once_bytes(self) -> int:
        """What the device reads with as much memory."""
        return self._pages(self._ample.read)

    @cached_property
    def fits_bytes(self) -> int:
        """The smallest memory in which nothing is read again, but for 1 %; 0 if nothing is with any."""
        if not self._ample.hit:
            return 0
        low, high = 1, self.all_bytes
        for size in self._powers():
            low, high = (size, high) if not self._fits(size) else (low, min(high, size))
        while high > low * _NEAR and high - low > self._page_bytes:
            middle = round((low * high) ** 0.5)
            low, high = (low, middle) if self._fits(middle) else (middle, high)
        return high

    def sizes(self) -> tuple[Size, ...]:
        """Powers of two, the size that fits, and all that is read."""
        if not self._calls:
            return ()
        chosen = {*self._powers(), self.fits_bytes, self.all_bytes} - {0}
        return tuple(self.at(one) for one in sorted(chosen))

    def _powers(self) -> list[int]:
        top = (self.all_bytes - 1).bit_length()
        return [1 << one for one in range(max(20, top - _DOUBLINGS), top)]

    def _fits(self, memory_bytes: int) -> bool:
        return self.at(memory_bytes).again_bytes <= AGAIN * self.once_bytes

    @cached_property
    def _ample(self) -> PageCache:
        return run(self._calls, float("inf"), self._every)

    def _size(self, memory_bytes: int, made: PageCache) -> Size:
        asked = self._repeated + self._read_pages
        # What the sample lacks or has too much of is a few pages that are read all the time (Waldspurger et al., "Efficient MRC
        # Construction with SHARDS", FAST 2015).
        hit = self._repeated + self._read_pages - self._every * (made.asked - made.hit)
        again = max(0, made.read - self._ample.read)
        return Size(
            memory_bytes,
            max(0.0, hit / asked) if asked else 0.0,
            self._pages(made.read),
            self._pages(again),
        )

    def _pages(self, count: int) -> int:
        return count * self._every * self._page_bytes


def with_memory_sizes(facts: RecordedFacts, memory: Memory) -> RecordedFacts:
    """Facts that know the sizes."""
    found = memory.sizes()
    rows = tuple(
        (one.memory_bytes, one.hit_share, one.read_bytes, one.again_bytes) for one in found
    )
    return replace(facts, memory_sizes=rows)
