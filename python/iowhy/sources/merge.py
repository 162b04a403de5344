"""Merge the pieces of a table that several parts have."""

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from iowhy.recordings.stored_rows import StoredRows
from iowhy.recordings.writer import Rows, in_schema
from iowhy.sources.format import Part


def disambiguate(parts: Sequence[Part]) -> None:
    """Name the file in a measurement's subject when two files have an undated one of the same name.

    Two runs of a benchmark, before and after, are two numbers and not one with two values.
    """
    files: dict[tuple[object, object, object], set[str]] = defaultdict(set)
    undated = [
        (part, row)
        for part in parts
        for row in _plain_rows(part.parsed.tables.get("measurements", []))
        if row.get("ts_ns") is None
    ]
    for part, row in undated:
        files[row["tool"], row["subject"], row["metric"]].add(part.file)
    clashing = {key[:2] for key, names in files.items() if len(names) > 1}
    for part, row in undated:
        if (row["tool"], row["subject"]) in clashing:
            row["subject"] = f"{row['subject']} [{Path(part.file).name}]"


def _plain_rows(rows: list[dict[str, object]] | StoredRows) -> list[dict[str, object]]:
    return [] if isinstance(rows, StoredRows) else rows


def merge(table: str, pieces: Sequence[Rows]) -> Rows:
    """All pieces of one table as one."""
    if len(pieces) == 1:
        return pieces[0]
    if not any(isinstance(piece, StoredRows) for piece in pieces):
        return [row for piece in pieces if not isinstance(piece, StoredRows) for row in piece]
    stored = [in_schema(table, piece) for piece in pieces]
    return StoredRows.together([piece for piece in stored if piece is not None])
