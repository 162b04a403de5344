"""Linux's page cache in little: which pages that calls read are in memory, by how many there is room for.

As in mm/workingset.c and mm/vmscan.c, without swap: a page comes to the inactive list, one that is used again there becomes active, the oldest
inactive ones leave; active ones become inactive while there are more of these, or while pages come back that had left a short while
ago. As in mm/readahead.c, more is read than was asked for. Of a sample of pages the room is as much smaller (Waldspurger et al.,
"Cache Modeling and Optimization using Miniature Simulations", ATC 2017).
"""

from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

#: Pages that the kernel frees at a time (SWAP_CLUSTER_MAX), and that it reads ahead at most by default (read_ahead_kb).
_BATCH, _AHEAD = 32, 32
_FILE_BITS = 40


class Call(NamedTuple):
    """Pages of one file that a call reads or writes (relation page_calls)."""

    file: int
    stream: int
    first: int
    last: int
    before: int
    end: int
    writes: bool
    ahead: bool


class PageCache:
    """`asked` and `hit` count pages that calls read, and those of them that an earlier call has used; `read` those that the device reads."""

    def __init__(self, room: float, every: int = 1) -> None:
        self.room, self.every = max(room, 1), every
        #: Whether a page was used since it came to its list.
        self.active, self.inactive = OrderedDict[int, bool](), OrderedDict[int, bool]()
        #: When a page left, in pages that had left or become active by then.
        self.left: dict[int, int] = {}
        self.clock, self.came_back = 0, False
        #: Of a sample, parts of pages.
        self.to_deactivate = self.to_evict = 0.0
        #: Pages that were read ahead and not asked for yet; those at which the next are read ahead.
        self.ahead, self.marks = set[int](), set[int]()
        #: By stream: where the last window began, its size, and how much of it was ahead.
        self.windows: dict[int, tuple[int, int, int]] = {}
        self.asked = self.hit = self.read = 0

    def call(self, one: Call) -> None:
        """A call reads or writes its pages."""
        base = one.file << _FILE_BITS
        active, inactive = self.active, self.inactive
        for number in range(one.first, one.last + 1):
            page = base + number
            if one.writes:
                if page not in inactive and page not in active:
                    self._add(page)
                self._use(page)
                continue
            self.asked += 1
            if page in active or page in inactive:
                if page in self.ahead:
                    self.ahead.discard(page)
                else:
                    self.hit += 1
                if page in self.marks:
                    self.marks.discard(page)
                    self._read_on(one, number)
                if number != one.before:
                    self._use(page)
                continue
            self.read += 1
            self._add(page)
            if one.ahead:
                self._read_ahead(one, number)
            else:
                self._bring(base, number + 1, one.last, one.end)
            self._use(page)

    def _use(self, page: int) -> None:
        if page in self.active:
            self.active[page] = True
        elif self.inactive.get(page):
            del self.inactive[page]
            self.active[page] = False
            self.clock += 1
        elif page in self.inactive:
            self.inactive[page] = True

    def _add(self, page: int) -> None:
        left = self.left.pop(page, None)
        if left is not None and self.clock - left <= len(self.active):
            self.active[page] = False
            self.clock += 1
            self.came_back = True
        else:
            self.inactive[page] = False
        if len(self.active) + len(self.inactive) > self.room:
            self._free()

    def _free(self) -> None:
        """Goes through both lists at the same pace, ever larger parts of them, until it has freed a batch (shrink_lruvec)."""
        came_back, self.came_back = self.came_back, False
        wanted = max(_BATCH, self.every)
        for priority in range(12, -1, -1):
            low = came_back or len(self.inactive) < len(self.active)
            active = (len(self.active) * self.every) >> priority if low else 0
            inactive = (len(self.inactive) * self.every) >> priority
            while active > 0 or inactive > 0:
                self._deactivate(min(active, _BATCH))
                self._evict(min(inactive, _BATCH))
                wanted -= min(inactive, _BATCH)
                if wanted <= 0:
                    return
                active, inactive = active - _BATCH, inactive - _BATCH

    def _deactivate(self, pages: int) -> None:
        self.to_deactivate += max(pages, 0) / self.every
        while self.to_deactivate >= 1 and self.active:
            self.to_deactivate -= 1
            page, used = self.active.popitem(last=False)
            self.inactive[page] = used

    def _evict(self, pages: int) -> None:
        self.to_evict += max(pages, 0) / self.every
        while self.to_evict >= 1 and self.inactive:
            self.to_evict -= 1
            page, _ = self.inactive.popitem(last=False)
            self.left[page] = self.clock
            self.clock += 1
            self.ahead.discard(page)
            self.marks.discard(page)

    def _there(self, page: int) -> bool:
        return page in self.active or page in self.inactive

    def _read_ahead(self, one: Call, number: int) -> None:
        """A page was not there (page_cache_sync_ra)."""
        asked, base = one.last - number + 1, one.file << _FILE_BITS
        before = one.before if number == one.first else number - 1
        if number == 0 or number - before in (0, 1) or asked > _AHEAD:
            size = _first_size(asked)
            ahead = size - asked if size > asked else size // 2
        else:
            there = 0
            while there < min(_AHEAD, number) and self._there(base + number - 1 - there):
                there += 1
            if there <= asked:
                self._bring(base, number + 1, one.last, one.end)
                return
            size = min((2 * there if there == number else there) + asked, _AHEAD)
            ahead = 1
        self.windows[one.stream] = number, size, ahead
        self._bring(base, number, number + size - 1, one.end, number + size - ahead)

    def _read_on(self, one: Call, number: int) -> None:
        """A page was there at which the next are to be read (page_cache_async_ra)."""
        start, size, ahead = self.windows.get(one.stream, (0, 0, 0))
        base = one.file << _FILE_BITS
        if number == start + size - ahead:
            start, size = start + size, _next_size(size)
        else:
            start = number + 1
            while start <= number + _AHEAD and self._there(base + start):
                start += 1
            if start > number + _AHEAD:
                return
            size = _next_size(start - number + one.last - number + 1)
        self.windows[one.stream] = start, size, size
        self._bring(base, start, start + size - 1, one.end, start)

    def _bring(self, base: int, first: int, last: int, end: int, mark: int = -1) -> None:
        for number in range(first, min(last, end) + 1):
            page = base + number
            if not self._there(page):
                self.read += 1
                self._add(page)
                self.ahead.add(page)
                if number == mark:
                    self.marks.add(page)


def _first_size(asked: int) -> int:
    size = 1 << (asked - 1).bit_length()
    if size <= _AHEAD // 32:
        return 4 * size
    return min(2 * size, _AHEAD) if size <= _AHEAD // 4 else _AHEAD


def _next_size(size: int) -> int:
    if size < _AHEAD // 16:
        return 4 * size
    return 2 * size if size <= _AHEAD // 2 else _AHEAD


def run(calls: Sequence[Call], room: float, every: int = 1) -> PageCache:
    """All calls, with room for so many pages of the sample."""
    made = PageCache(room, every)
    for one in calls:
        made.call(one)
    return made
