"""Requests and flushes on the way to a device."""

from collections.abc import Iterator
from typing import Self

from .base import DISK, FILE, FS, KIB, MS, START, Rows


class Device(Rows):
    """What reaches the device."""

    def device(self, dev: int = DISK, name: str = "sda", **more: object) -> Self:
        """A block device."""
        return self.add("devices", dev=dev, name=name, **more)

    def requests(
        self,
        count: int,
        *,
        op: str = "read",
        bytes_: int = 4 * KIB,
        service: int = MS,
        depth: int = 1,
        jump: bool = False,
        own: bool | None = True,
        kind: str = "data",
        ino: int | None = FILE,
        dev: int = DISK,
        flags: tuple[str, ...] = (),
        tgid: int = 10,
        first: int = 0,
        pages: Iterator[int] | None = None,
    ) -> Self:
        """`count` requests over the whole run, in batches of `depth`, each in flight for `service`.

        `pages` are where they begin in the file.
        """
        batches = -(-count // depth)
        period = self.elapsed // batches
        sector = 2048 if not jump else 0
        made = 0
        for batch in range(batches):
            at = START + batch * period + first
            for _ in range(min(depth, count - made)):
                if jump:
                    sector = self.random.randrange(0, 1 << 24) * 8
                self.add(
                    "block_requests",
                    queue_ns=at,
                    issue_ns=at,
                    complete_ns=at + service,
                    dev=dev,
                    sector=None if op == "flush" else sector,
                    bytes=0 if op == "flush" else bytes_,
                    op=op,
                    flags=list(flags),
                    tgid=tgid,
                    tid=tgid,
                    owner_dev=None if ino is None else FS,
                    owner_ino=ino,
                    owner_page=None if pages is None else next(pages),
                    owner_kind=kind,
                    in_scope=own,
                    error=0,
                )
                sector += bytes_ // 512
                made += 1
        return self

    def flushes(self, count: int, service: int) -> Self:
        """Cache flushes, as the block layer shows them: no data, submitted by a kernel worker."""
        return self.requests(
            count,
            op="flush",
            service=service,
            own=None,
            kind="flush",
            ino=None,
            flags=("preflush",),
        )
