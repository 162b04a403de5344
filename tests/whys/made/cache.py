"""What the page cache is asked for and what it has."""

from typing import Self

from .base import FILE, FS, START, STEP, Rows


class Cache(Rows):
    """Page cache events."""

    def cache(
        self,
        *,
        lookups: int,
        misses: int = 0,
        readahead: int = 0,
        used: int | None = None,
        refaults: int | None = 0,
        ino: int = FILE,
        steps: int = 40,
    ) -> Self:
        """Page cache events, evenly over the run."""
        for step in range(steps):
            self.add(
                "page_cache",
                ts_ns=START + step * (self.elapsed // steps),
                interval_ns=self.elapsed // steps,
                tgid=10,
                dev=FS,
                ino=ino,
                lookup_pages=lookups // steps,
                demand_miss_pages=misses // steps,
                readahead_pages=readahead // steps,
                prefetched_hit_pages=(readahead if used is None else used) // steps,
                refault_pages=None if refaults is None else refaults // steps,
                evicted_pages=0,
                estimated=False,
            )
        return self

    def evicted(
        self,
        pages: int,
        *,
        reclaimed: int,
        tgid: int = 10,
        comm: str | None = None,
        ino: int = FILE,
    ) -> Self:
        """Pages of the file that a process took out of the cache, `reclaimed` of them for want of memory."""
        if comm is not None:
            self.add("neighbours", tgid=tgid, comm=comm)
        return self.add(
            "page_cache",
            ts_ns=START,
            interval_ns=self.elapsed,
            tgid=tgid,
            dev=FS,
            ino=ino,
            evicted_pages=pages,
            reclaimed_pages=reclaimed,
            estimated=False,
        )

    def passes(self, ratios: list[float], pages: int, ino: int = FILE) -> Self:
        """Passes over a file of `pages`, each with its hit ratio."""
        steps = 10
        for number, ratio in enumerate(ratios):
            for step in range(steps):
                at = (number * steps + step) * (self.elapsed // (steps * len(ratios)))
                added = round(pages / steps * (1 - ratio))
                self.add(
                    "page_cache",
                    ts_ns=START + at,
                    interval_ns=STEP,
                    tgid=10,
                    dev=FS,
                    ino=ino,
                    lookup_pages=pages // steps,
                    demand_miss_pages=added // 8,
                    readahead_pages=added - added // 8,
                    prefetched_hit_pages=added - added // 8,
                    refault_pages=added if number else 0,
                    estimated=False,
                )
        return self
