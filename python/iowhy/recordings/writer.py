"""Write a recording from rows in memory: for what other tools printed, and for tests."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec.structs import replace

from iowhy.errors import Problem
from iowhy.recordings.arrays import masked, objects
from iowhy.recordings.manifest import MANIFEST, Kept, Manifest, read_manifest
from iowhy.recordings.recording import Recording
from iowhy.recordings.schema import Column, Table, tables
from iowhy.recordings.stored_rows import StoredRows
from iowhy.written_files import PRIVATE_DIRECTORY, PRIVATE_FILE

Rows: TypeAlias = Sequence[Mapping[str, object]] | StoredRows
"""The rows of one table: mappings from column to value, or rows that are stored."""


def write_recording(path: Path, manifest: Manifest, rows: Mapping[str, Rows]) -> Recording:
    """Write `rows` (by table) as a recording in a new directory `path`, and open it.

    A missing nullable column is NULL. Raises Problem for an unknown table or column, a missing
    required column or a value of the wrong type, and when `path` exists. The directory appears
    under its name only when it is whole.
    """
    known = tables()
    for name in rows:
        if name not in known:
            raise Problem("no-such-table", name=name)
    if path.exists():
        raise Problem("recording-exists", path=path)
    filled = {name: in_schema(name, given) for name, given in rows.items()}
    counted = {
        name: Kept(kept=0 if table is None else len(table)) for name, table in filled.items()
    }
    for name, kept in manifest.tables.items():
        counted[name] = Kept(counted.get(name, Kept()).kept, kept.lost)
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        for name, table in filled.items():
            if table is not None:
                (partial / name).mkdir(PRIVATE_DIRECTORY)
                write_rows(table, partial / name / "000001.parquet")
        text = replace(manifest, tables=counted).as_json()
        (partial / MANIFEST).touch(PRIVATE_FILE)
        (partial / MANIFEST).write_text(text, encoding="utf-8")
        partial.rename(path)
    except OSError as error:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        raise Problem("cannot-be-written", path=path, error=error.strerror or error) from None
    return Recording(path, read_manifest(path / MANIFEST))


def write_rows(table: StoredRows, path: Path) -> None:
    """As a new file of a recording, its user's alone. Raises OSError."""
    import duckdb

    path.touch(PRIVATE_FILE)
    try:
        table.write(path)
    except duckdb.IOException as error:
        raise OSError(str(error).splitlines()[0]) from None


def in_schema(name: str, rows: Rows) -> StoredRows | None:
    """The rows of a table with exactly the columns of the schema, None if there are none.

    Raises Problem for what does not fit.
    """
    table = tables()[name]
    if not isinstance(rows, StoredRows):
        arrays = arrays_of(table, rows)
        return StoredRows.of(arrays, _types(table)) if len(rows) else None
    unknown = set(rows.columns) - {c.name for c in table.columns}
    if unknown:
        raise Problem("no-such-column", name=table.name, unknown=", ".join(sorted(unknown)))
    if not len(rows):
        return None
    needed = [c for c in table.columns if c.null is None]
    for column in needed:
        if column.name not in rows.columns or rows.value(f'count(*) - count("{column.name}")'):
            raise _missing(table, column)
    return rows.select(
        {
            c.name: f"CAST({_quoted(c) if c.name in rows.columns else 'NULL'} AS {c.sql_type})"
            for c in table.columns
        }
    )


def _quoted(column: Column) -> str:
    return f'"{column.name}"'


def _missing(table: Table, column: Column) -> Problem:
    return Problem("value-missing", name=table.name, column=column.name)


def _types(table: Table) -> dict[str, str]:
    return {c.name: c.sql_type for c in table.columns}


def arrays_of(table: Table, rows: Sequence[Mapping[str, object]]) -> dict[str, Any]:
    """A table's columns as arrays of numpy. Raises Problem for what the schema has not, or rules out."""
    unknown = {name for row in rows for name in row} - {c.name for c in table.columns}
    if unknown:
        raise Problem("no-such-column", name=table.name, unknown=", ".join(sorted(unknown)))
    arrays = {}
    for column in table.columns:
        values = [row.get(column.name) for row in rows]
        if column.null is None and None in values:
            raise _missing(table, column)
        try:
            arrays[column.name] = _KINDS[column.type](values)
        except (TypeError, ValueError, OverflowError) as error:
            raise Problem(
                "column-value-wrong", name=table.name, column=column.name, error=error
            ) from None
    return arrays


def _numbers(values: list[Any]) -> Any:
    """Whole numbers, masked if there is none."""
    _must_be(values, int, float, np.integer, np.floating)
    whole = [0 if value is None else int(value) for value in values]
    for value, as_whole in zip(values, whole, strict=True):
        if value is not None and value != as_whole:
            raise ValueError(f"{value!r} is not a whole number")
    return masked(np.array(whole, np.int64), values)


def _fractions(values: list[Any]) -> Any:
    _must_be(values, int, float, np.integer, np.floating)
    known = [0.0 if value is None else float(value) for value in values]
    return masked(np.array(known, np.float64), values)


def _truths(values: list[Any]) -> Any:
    _must_be(values, bool, np.bool_)
    return masked(np.array([bool(value) for value in values]), values)


def _texts(values: list[Any]) -> Any:
    _must_be(values, str)
    for value in values:
        if value is not None:
            value.encode()  # a lone surrogate is no text
    return objects(values)


def _lists(of: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """Lists whose items are checked by `of`."""

    def lists(values: list[Any]) -> Any:
        _must_be(values, list, tuple)
        of([item for value in values if value is not None for item in value])
        return objects([None if value is None else list(value) for value in values])

    return lists


def _must_be(values: list[Any], *kinds: type) -> None:
    """Raises TypeError for a value of another type; True is not a number."""
    for kind in set(map(type, values)) - {type(None)}:
        if not issubclass(kind, kinds) or (kind is bool and bool not in kinds):
            found = next(value for value in values if type(value) is kind)
            raise TypeError(f"{found!r} is a {kind.__name__}")


_KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "int": _numbers,
    "float": _fractions,
    "bool": _truths,
    "text": _texts,
    "ints": _lists(_numbers),
    "texts": _lists(_texts),
}
