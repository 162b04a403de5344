"""Files: where they lie, what allocated them, what the journal and writeback do with them."""

from typing import Self

from .base import FILE, FS, START, Rows


class Files(Rows):
    """Files and their file system."""

    def file(self, ino: int, path: str, size: int = 0, kind: str = "file") -> Self:
        """A file on the one file system."""
        return self.add("files", dev=FS, ino=ino, path=path, kind=kind, size_bytes=size)

    def extents(self, count: int, bytes_: int, *, ino: int = FILE, scattered: bool = True) -> Self:
        """A file of `count` extents, apart from each other or one behind the other."""
        at = 1 << 30
        for number in range(count):
            self.add(
                "extents",
                phase="after",
                dev=FS,
                ino=ino,
                logical_bytes=number * bytes_,
                physical_bytes=at,
                bytes=bytes_,
                flags=[],
            )
            at += bytes_ * (3 if scattered else 1)
        return self

    def allocations(self, count: int, threads: int, ino: int = FILE) -> Self:
        """Blocks allocated by several threads in turn."""
        for number in range(count):
            self.add(
                "allocations",
                ts_ns=START + number,
                tgid=10,
                tid=10 + number % threads,
                dev=FS,
                ino=ino,
                logical_block=number,
                physical_block=number * 3,
                blocks=1,
            )
        return self

    def commits(self, count: int, length: int, **phases: int) -> Self:
        """Journal commits evenly over the run."""
        for number in range(count):
            self.add(
                "journal_commits",
                ts_ns=START + number * (self.elapsed // count),
                dur_ns=length,
                dev=FS,
                kind="jbd2",
                transaction=number,
                **phases,
            )
        return self

    def passes_of_writeback(
        self, count: int, inodes: int, pages: int, reason: str = "background"
    ) -> Self:
        """Writeback passes over inodes in turn."""
        for number in range(count):
            self.add(
                "writeback",
                ts_ns=START + number * (self.elapsed // count),
                dev=FS,
                ino=1000 + number % inodes,
                reason=reason,
                pages_written=pages,
            )
        return self
