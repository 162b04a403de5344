"""What the files of a recording would become in memory, by their footers, before anything of them is read.

A file of some kilobytes can stand for gigabytes: one value told a million times, zeros packed a thousandfold. What the
recorder writes takes 30 times its size at most; the bounds are far above that.
"""

from iowhy.data_class import dataclass
from iowhy.errors import Problem

#: Rows of a whole recording: two hours at 600,000 calls a second.
MOST_ROWS = 1 << 32
#: Of a whole recording: each costs some time to find.
MOST_FILES = 100_000
MOST_ROW_GROUPS = 1_000_000
#: A column of one row group, unpacked: the recorder's have 128 Ki rows, 1 MiB of numbers.
MOST_CHUNK_BYTES = 512 << 20
#: A text, where the footer tells how long the longest is. Paths have 4 KiB at most (PATH_MAX of limits.h).
MOST_VALUE_BYTES = 1 << 20
#: Bytes in memory for one in the file, of files that take more than UNASKED_BYTES there.
MOST_EXPANSION = 4_096
UNASKED_BYTES = 1 << 30
_VALUE_BYTES = 8


@dataclass(frozen=True)
class FileSize:
    """One file by its footer. `value_bytes`: its longest value, 0 where that is not told."""

    file: str
    file_bytes: int
    rows: int
    columns: int
    row_groups: int
    unpacked_bytes: int
    chunk_bytes: int
    value_bytes: int

    @property
    def memory_bytes(self) -> int:
        """What it takes in memory at least."""
        return max(self.unpacked_bytes, self.rows * self.columns * _VALUE_BYTES)

    def problem(self) -> str | None:
        """Why it is not read, None where it is."""
        if self.memory_bytes > max(UNASKED_BYTES, MOST_EXPANSION * self.file_bytes):
            return (
                f"{self.file_bytes:,} bytes that would be {self.memory_bytes >> 20:,} MiB in memory, more than "
                f"{MOST_EXPANSION:,} times as much"
            )
        if self.chunk_bytes > MOST_CHUNK_BYTES:
            return (
                f"a column of {self.chunk_bytes >> 20:,} MiB in one row group, more than "
                f"{MOST_CHUNK_BYTES >> 20:,} MiB"
            )
        if self.value_bytes > MOST_VALUE_BYTES:
            return f"a value of {self.value_bytes:,} bytes, more than {MOST_VALUE_BYTES:,}"
        return None


def must_be_bounded(found: list[FileSize]) -> None:
    """Raises Problem for a recording, or a file of it, that is beyond what is read."""
    for subject, size, most in (
        ("files", len(found), MOST_FILES),
        ("rows", sum(one.rows for one in found), MOST_ROWS),
        ("row groups", sum(one.row_groups for one in found), MOST_ROW_GROUPS),
    ):
        if size > most:
            raise Problem(f"{found[0].file} and others: {size:,} {subject}, more than {most:,}")
    for one in found:
        problem = one.problem()
        if problem is not None:
            raise Problem(f"{one.file}: {problem}; iowhy writes no such file, and reads none")
