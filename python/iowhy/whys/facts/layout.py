"""Where the files are: extents after (else before) the command, and who allocated them."""

from msgspec import Struct

from iowhy.relations import Relations


class File(Struct, frozen=True):
    """As the relation file_layout has it; `bytes` have a place on the device.

    `writers` and `interleaved` are of its allocations: distinct threads, and the share that another thread
    made than the one before.
    """

    dev: int
    ino: int
    path: str | None
    extents: int
    bytes: int
    mean_extent_bytes: float
    sequentiality: float
    allocations: int | None
    writers: int | None
    interleaved: float | None


class Layout(Struct, frozen=True):
    """The files whose extents were read, most extents first (at most 50)."""

    files: tuple[File, ...]

    def file(self, dev: int, ino: int) -> File | None:
        """One file's layout."""
        return next((f for f in self.files if (f.dev, f.ino) == (dev, ino)), None)


_FILES = """
SELECT l.dev, l.ino, f.path, l.extents, l.bytes, l.mean_extent_bytes, l.sequentiality, l.allocations,
  l.allocating_threads AS writers, l.interleaved_share AS interleaved
FROM file_layout AS l LEFT JOIN named_files AS f ON f.dev = l.dev AND f.ino = l.ino
WHERE l.latest AND l.bytes > 0
ORDER BY l.extents DESC, l.bytes DESC, l.dev, l.ino LIMIT 50
"""


def measure(relations: Relations) -> Layout:
    """From the relation file_layout."""
    return Layout(tuple(relations.read(File, _FILES)) if relations.has("extents") else ())
