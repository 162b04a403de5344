"""Does a recording hold the rows that its manifest counts? By the footers of its files, of which nothing else is read.

A table that was removed, a copy that was cut short, a file of another recording: what is made of such rows looks as sure as
what is made of all of them. Every command that reads a recording asks here.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from iowhy.invocation import typed
from iowhy.recordings.manifest import Manifest
from iowhy.recordings.schema import tables

#: Tables that one sentence names.
MOST_NAMED = 4


class Mismatch(Struct, frozen=True):
    """A table whose files hold another number of rows than the manifest counts."""

    table: str
    counted: int
    found: int

    @property
    def share(self) -> float:
        """The rows too few, or too many, of the larger number."""
        return abs(self.counted - self.found) / max(1, self.counted, self.found)

    @property
    def words(self) -> str:
        """It in words, after the table's name."""
        return f"{self.found:,} rows, the manifest counts {self.counted:,}"


def mismatches(
    manifest: Manifest, rows: Mapping[str, int], of: Collection[str] | None = None
) -> tuple[Mismatch, ...]:
    """The tables whose `rows` by their files' footers are not those of the manifest; `of` are the tables that were looked at, None: all.

    The manifest of a recording that was cut off, or still grows, counts the rows that were there when it was written: there may be more.
    One that counts no table at all promises nothing.
    """
    if not manifest.tables:
        return ()
    found = []
    for table in tables() if of is None else of:
        kept = manifest.tables.get(table)
        counted, there = 0 if kept is None else kept.kept, rows.get(table, 0)
        if there < counted or (manifest.complete and there > counted):
            found.append(Mismatch(table, counted, there))
    return tuple(found)


def in_words(found: Sequence[Mismatch], recording: Path) -> str:
    """One sentence on all of them, for who reads the recording."""
    more = len(found) - MOST_NAMED
    each = [f"{one.table}: {one.words}" for one in found[:MOST_NAMED]]
    each += [f"and {more} more tables"] if more > 0 else []
    return f"the recording is not whole ({'; '.join(each)}); `iowhy check {typed(recording)}` checks every file"
