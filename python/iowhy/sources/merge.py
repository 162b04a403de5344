"""Merge the pieces of a table that several parts have."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pyarrow as pa

from iowhy.recording.schema import tables as schema_tables
from iowhy.sources.paste import Part


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


def _plain_rows(rows: list[dict[str, object]] | pa.Table) -> list[dict[str, object]]:
    return [] if isinstance(rows, pa.Table) else rows


def merge(
    table: str, pieces: Sequence[list[dict[str, object]] | pa.Table]
) -> list[dict[str, object]] | pa.Table:
    """All pieces of one table as one."""
    if len(pieces) == 1:
        return _fitting(table, pieces[0])
    if not any(isinstance(piece, pa.Table) for piece in pieces):
        return [row for piece in pieces for row in cast(list[dict[str, object]], piece)]
    schema = schema_tables()[table].arrow_schema
    arrow = [
        piece if isinstance(piece, pa.Table) else pa.Table.from_pylist(piece, schema=schema)
        for piece in pieces
    ]
    return pa.concat_tables([_fitting(table, piece) for piece in arrow], promote_options="default")


def _fitting(
    table: str, piece: list[dict[str, object]] | pa.Table
) -> list[dict[str, object]] | pa.Table:
    """An Arrow table with the schema's types, so that pieces of one table can be joined."""
    if not isinstance(piece, pa.Table) or table not in schema_tables():
        return piece
    schema = schema_tables()[table].arrow_schema
    fields = [schema.field(name) for name in piece.column_names if name in schema.names]
    unknown = [name for name in piece.column_names if name not in schema.names]
    if unknown:
        return piece
    return piece.cast(pa.schema(fields))
