"""A result as CSV, JSON or Parquet."""

import csv
import math
from collections.abc import Iterator, Sequence
from typing import IO, TYPE_CHECKING

from iowhy.messages import json_text, printable
from iowhy.relations.relation import Column

if TYPE_CHECKING:  # slow to import, and needed for Parquet alone
    import pyarrow as pa

JSON_VERSION = 1
BATCH_ROWS = 10_000


def write_csv(table: "pa.Table", to: IO[str]) -> None:
    """RFC 4180 with a header line; unknown is empty, a list is joined by `|`.

    A terminal gets texts with their control characters made visible, a file or a pipe gets them as they are.
    """
    writer = csv.writer(to, lineterminator="\n")
    cell = _shown if to.isatty() else _cell
    writer.writerow(map(cell, table.column_names))
    for row in _rows(table):
        writer.writerow(map(cell, row))


def write_json(
    table: "pa.Table", to: IO[str], name: str | None = None, columns: Sequence[Column] = ()
) -> None:
    """One object: version, report, columns (name, unit, meaning), rows (one object each).

    Unknown is null, and so is a number that JSON does not have.
    """
    known = {column.name: column for column in columns}
    described = []
    for field in table.schema:
        column = known.get(field.name)
        described.append(
            {
                "name": field.name,
                "type": str(field.type),
                "unit": column.unit if column else None,
                "meaning": column.meaning if column else None,
            }
        )
    head = {"version": JSON_VERSION, "report": name, "columns": described}
    to.write(json_text(head)[:-1] + ', "rows": [')
    separator = "\n"
    for row in _rows(table):
        values = dict(zip(table.column_names, map(_json, row), strict=True))
        to.write(separator + json_text(values))
        separator = ",\n"
    to.write("\n]}\n")


def write_parquet(
    table: "pa.Table", to: IO[bytes], name: str | None = None, columns: Sequence[Column] = ()
) -> None:
    """Parquet whose columns carry their unit and meaning as metadata."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    known = {column.name: column for column in columns}
    fields = [
        field.with_metadata(
            {"unit": known[field.name].unit, "meaning": known[field.name].meaning}
            if field.name in known
            else {}
        )
        for field in table.schema
    ]
    schema = pa.schema(fields, metadata={"report": name} if name else None)
    pq.write_table(table.cast(schema), to, compression="zstd")


def _rows(table: "pa.Table") -> Iterator[tuple[object, ...]]:
    """The rows, a batch at a time: a table of a million rows is not turned to objects at once."""
    for batch in table.to_batches(max_chunksize=BATCH_ROWS):
        columns = [column.to_pylist() for column in batch.columns]
        yield from zip(*columns, strict=True)


def _shown(value: object) -> object:
    cell = _cell(value)
    return printable(cell) if isinstance(cell, str) else cell


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, list):
        return "|".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return value


def _json(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
