"""What the files of a recording would become in memory, by their footers, before anything of them is read.

A file of some kilobytes can be for gigabytes: one value repeated a million times, zeros packed a thousandfold. What the
recorder writes takes 30 times its size at most; the bounds are far above that.
"""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.recordings.allocated import allocated_bytes

#: Rows of a whole recording: two hours at 600,000 calls a second.
MOST_ROWS = 1 << 32
#: Of a whole recording: each costs some time to find.
MOST_FILES = 100_000
MOST_ROW_GROUPS = 1_000_000
#: Footers of all files together, or one in so many bytes of the files where that is more: DuckDB keeps them parsed, once for each thread
#: that asks, in some twenty times as many bytes that no limit of its memory counts. The recorder's are 2 KiB of 400 KiB each.
MOST_FOOTER_BYTES, FOOTERS_OF = 12 << 20, 64
#: A column of one row group, unpacked: the recorder's have 128 Ki rows, 1 MiB of numbers.
MOST_CHUNK_BYTES = 512 << 20
#: A text, where the footer tells how long the longest is. Paths have 4 KiB at most (PATH_MAX of limits.h).
MOST_VALUE_BYTES = 1 << 20
#: Bytes in memory for one in the file, of files that take more than UNASKED_BYTES there.
MOST_EXPANSION = 4_096
UNASKED_BYTES = 1 << 30
_VALUE_BYTES = 8


class FileSize(Struct, frozen=True):
    """One file by its footer. `value_bytes`: its longest value, 0 if not reported."""

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

    def problem(self) -> Problem | None:
        """Why it is not read, None if it is."""
        if self.memory_bytes > max(UNASKED_BYTES, MOST_EXPANSION * self.file_bytes):
            return Problem(
                "unpacks-to-too-much",
                file=self.file,
                size=self.file_bytes,
                mib=self.memory_bytes >> 20,
                times=MOST_EXPANSION,
            )
        if self.chunk_bytes > MOST_CHUNK_BYTES:
            mib = self.chunk_bytes >> 20
            return Problem("column-too-large", file=self.file, mib=mib, most=MOST_CHUNK_BYTES >> 20)
        if self.value_bytes > MOST_VALUE_BYTES:
            size = self.value_bytes
            return Problem("value-too-large", file=self.file, size=size, most=MOST_VALUE_BYTES)
        return None


def must_be_bounded(found: list[FileSize]) -> None:
    """Raises Problem for a recording, or a file of it, that is beyond what is read."""
    for subject, size, most in (
        ("files", len(found), MOST_FILES),
        ("rows", sum(one.rows for one in found), MOST_ROWS),
        ("row groups", sum(one.row_groups for one in found), MOST_ROW_GROUPS),
    ):
        if size > most:
            raise Problem(
                "recording-too-large", file=found[0].file, size=size, subject=subject, most=most
            )
    for one in found:
        problem = one.problem()
        if problem is not None:
            raise problem


def footers_must_be_bounded(files: Iterable[str]) -> None:
    """Raises Problem for files whose footers are too long to be parsed. What cannot be opened is said by who reads it."""
    long = {file: length for file in files if (length := _footer_bytes(file))}
    all_ = sum(long.values())
    if all_ <= MOST_FOOTER_BYTES or all_ * FOOTERS_OF <= allocated_bytes(map(Path, long)):
        return
    longest = max(long, key=lambda file: long[file])
    others = "" if len(long) == 1 else " and others"
    raise Problem(
        "footers-too-large",
        longest=longest,
        others=others,
        all=all_ >> 20,
        most_footer_bytes=MOST_FOOTER_BYTES >> 20,
        footers_of=FOOTERS_OF,
    )


def _footer_bytes(file: str) -> int:
    """As the end of the file says (Parquet's File Format: the length before the last four bytes), no more than the file has."""
    with suppress(OSError), Path(file).open("rb") as opened:
        end = opened.seek(0, 2)
        opened.seek(max(end - 8, 0))
        return min(int.from_bytes(opened.read(4), "little"), end)
    return 0
