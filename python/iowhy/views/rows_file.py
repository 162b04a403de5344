"""A result as CSV, JSON or Parquet."""

import csv
import math
from collections.abc import Iterator, Sequence
from typing import IO

from iowhy.messages import json_text, printable
from iowhy.relations.relation import Column
from iowhy.reports.batches import Result

JSON_VERSION = 1
#: Rows of a row group: small ones would make a large file.
GROUP_ROWS = 100_000
#: What begins a formula in a spreadsheet (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def write_csv(result: Result, to: IO[str]) -> None:
    """RFC 4180 with a header line; unknown is empty, a list is joined by `|`.

    A terminal gets texts with their control characters made visible, a file or a pipe gets them as they are, but for
    those that a spreadsheet would take for a formula (`=cmd()`): a `'` comes before them, as it would be typed there.
    JSON and Parquet have them as they are.
    """
    writer = csv.writer(to, lineterminator="\n")
    cell = _shown if to.isatty() else _cell
    writer.writerow(map(cell, result.schema.names))
    for row in _rows(result):
        writer.writerow(map(cell, row))


def write_json(
    result: Result, to: IO[str], name: str | None = None, columns: Sequence[Column] = ()
) -> None:
    """One object: version, report, columns (name, unit, meaning), rows (one object each).

    Unknown is null, and so is a number that JSON does not have.
    """
    known = {column.name: column for column in columns}
    described = []
    for field in result.schema:
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
    for row in _rows(result):
        values = dict(zip(result.schema.names, map(_json, row), strict=True))
        to.write(separator + json_text(values))
        separator = ",\n"
    to.write("\n]}\n")


def write_parquet(
    result: Result, to: IO[bytes], name: str | None = None, columns: Sequence[Column] = ()
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
        for field in result.schema
    ]
    schema = pa.schema(fields, metadata={"report": name} if name else None)
    with pq.ParquetWriter(to, schema, compression="zstd") as writer:
        waiting: list[pa.RecordBatch] = []
        for batch in result.batches():
            waiting.append(batch)
            if sum(one.num_rows for one in waiting) >= GROUP_ROWS:
                writer.write_table(pa.Table.from_batches(waiting).cast(schema))
                waiting = []
        writer.write_table(pa.Table.from_batches(waiting, schema=result.schema).cast(schema))


def _rows(result: Result) -> Iterator[tuple[object, ...]]:
    """The rows, a batch at a time: a million rows are not turned to objects at once."""
    for batch in result.batches():
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
    if isinstance(value, str) and value.startswith(_FORMULA):
        return f"'{value}"
    return value


def _json(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
