"""A result as CSV, JSON or Parquet."""

import csv
import math
from collections.abc import Iterator, Sequence
from itertools import chain, islice
from typing import IO

from iowhy.messages import json_text, without_controls
from iowhy.relations.sql_header import Column
from iowhy.reports import parquet_file
from iowhy.reports.batches import Result

JSON_VERSION = 1
#: Types that the tables have; others are said as DuckDB does.
_TYPES = {
    "BIGINT": "int64",
    "INTEGER": "int32",
    "DOUBLE": "double",
    "BOOLEAN": "bool",
    "VARCHAR": "string",
    "BIGINT[]": "list<l: int64>",
    "VARCHAR[]": "list<l: string>",
}
#: What begins a formula in a spreadsheet (OWASP, "CSV Injection").
_FORMULA = ("=", "+", "-", "@")


def write_csv(result: Result, to: IO[str]) -> None:
    """RFC 4180 with a header line; unknown is empty, a list is joined by `|`.

    Control characters in texts, also a line's end, are made visible (`\\x1b`), to a file or a pipe too: `cat` would hand
    them to a terminal, and programs that read line by line would take a name's second line for a row. What a spreadsheet
    would take for a formula (`=cmd()`) has a `'` before it, as it would be typed there. JSON and Parquet have the texts
    exactly.
    """
    writer = csv.writer(to, lineterminator="\n")
    writer.writerow(map(_cell, result.columns))
    for row in _rows(result):
        writer.writerow(map(_cell, row))


def write_json(
    result: Result, to: IO[str], name: str | None = None, columns: Sequence[Column] = ()
) -> None:
    """One object: version, report, columns (name, unit, meaning), rows (one object each).

    Unknown is null, and so is a number that JSON does not have.
    """
    known = {column.name: column for column in columns}
    described = []
    for field, kind in result.types.items():
        column = known.get(field)
        described.append(
            {
                "name": field,
                "type": _TYPES.get(kind, kind.lower()),
                "unit": column.unit if column else None,
                "meaning": column.meaning if column else None,
            }
        )
    head = {"version": JSON_VERSION, "report": name, "columns": described}
    rows = _rows(result)
    first = list(islice(rows, 1))  # what cannot be read at all leaves no half of an object
    to.write(json_text(head)[:-1] + ', "rows": [')
    separator = "\n"
    for row in chain(first, rows):
        values = dict(zip(result.columns, map(_json, row), strict=True))
        to.write(separator + json_text(values))
        separator = ",\n"
    to.write("\n]}\n")


def write_parquet(
    result: Result, to: IO[bytes], name: str | None = None, columns: Sequence[Column] = ()
) -> None:
    """Parquet whose key-value metadata has the report, and `columns`: JSON, the unit and the meaning of each."""
    known = {column.name: column for column in columns}
    about = {
        one: {"unit": known[one].unit, "meaning": known[one].meaning}
        for one in result.columns
        if one in known
    }
    metadata = {"report": name} if name else {}
    if about:
        metadata["columns"] = json_text(about)
    parquet_file.write(result, to, metadata)


def _rows(result: Result) -> Iterator[tuple[object, ...]]:
    """The rows, a batch at a time: a million rows are not in memory at once."""
    for batch in result.batches():
        yield from batch


def _cell(value: object) -> object:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        # Numbers below 0 are no formula.
        formula = bool(value) and isinstance(value[0], str)
        return _text("|".join(map(str, value)), formula)
    return _text(value) if isinstance(value, str) else value


def _text(value: str, may_be_formula: bool = True) -> str:
    text = without_controls(value)
    return f"'{text}" if may_be_formula and text.startswith(_FORMULA) else text


def _json(value: object) -> object:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
