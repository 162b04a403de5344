"""Write a recording from rows in memory: for what other tools printed, and for tests."""

import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from iowhy.errors import Problem
from iowhy.recording.manifest import Kept, Manifest
from iowhy.recording.recording import Recording, open_recording
from iowhy.recording.schema import Table, tables

Rows: TypeAlias = Sequence[Mapping[str, object]] | pa.Table
"""The rows of one table: mappings from column to value, or an Arrow table."""


#: As the recorder makes them (store/src/folder.rs): what a text tells of a machine is its user's, too.
PRIVATE_DIRECTORY, PRIVATE_FILE = 0o700, 0o600


def write_recording(path: Path, manifest: Manifest, rows: Mapping[str, Rows]) -> Recording:
    """Write `rows` (by table) as a recording in a new directory `path`, and open it.

    A missing nullable column is NULL. Raises Problem for an unknown table or column, a missing
    required column or a value of the wrong type, and when `path` exists. The directory appears
    under its name only when it is whole.
    """
    known = tables()
    for name in rows:
        if name not in known:
            raise Problem(f"{name}: no such table in the schema")
    if path.exists():
        raise Problem(f"{path}: exists already; choose another name with -o, or remove it")
    filled = {name: _arrow(known[name], given) for name, given in rows.items()}
    counted = {name: Kept(kept=table.num_rows) for name, table in filled.items()}
    for name, kept in manifest.tables.items():
        counted[name] = Kept(counted.get(name, Kept()).kept, kept.lost)
    partial: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        for name, table in filled.items():
            if table.num_rows:
                (partial / name).mkdir(PRIVATE_DIRECTORY)
                file = partial / name / "000001.parquet"
                file.touch(PRIVATE_FILE)
                pq.write_table(table, file, compression="zstd")
        text = replace(manifest, tables=counted).as_json()
        (partial / "manifest.json").touch(PRIVATE_FILE)
        (partial / "manifest.json").write_text(text, encoding="utf-8")
        partial.rename(path)
    except OSError as error:
        if partial is not None:
            shutil.rmtree(partial, ignore_errors=True)
        raise Problem(f"{path}: cannot be written: {error.strerror or error}") from None
    return open_recording(path)


def in_schema(name: str, rows: Rows) -> pa.Table:
    """The rows of a table with exactly the columns of the schema. Raises Problem for what does not fit."""
    return _arrow(tables()[name], rows)


def _arrow(table: Table, rows: Rows) -> pa.Table:
    """`rows` with exactly the schema's columns, types and order."""
    if isinstance(rows, pa.Table):
        given = rows
        unknown = set(given.column_names) - {c.name for c in table.columns}
        length = given.num_rows
        columns = {name: given.column(name) for name in given.column_names}
    else:
        names = {name for row in rows for name in row}
        unknown = names - {c.name for c in table.columns}
        length = len(rows)
        columns = {name: [row.get(name) for row in rows] for name in names}
    if unknown:
        raise Problem(f"{table.name}: the schema has no column {', '.join(sorted(unknown))}")
    arrays = []
    for column in table.columns:
        values = columns.get(column.name)
        if values is None:
            array = pa.nulls(length, column.arrow_type)
        elif isinstance(values, (pa.ChunkedArray, pa.Array)):
            array = values.cast(column.arrow_type)
        else:
            try:
                array = pa.array(values, column.arrow_type)
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, TypeError) as error:
                raise Problem(f"{table.name}.{column.name}: {error}") from None
        if column.null is None and array.null_count:
            raise Problem(f"{table.name}.{column.name}: a value is missing and may not be")
        arrays.append(array)
    return pa.table(arrays, schema=table.arrow_schema)
