"""Read a tracing tool's text or file in a test."""

import importlib
from pathlib import Path

import duckdb
import pyarrow as pa

from benchmarks.arrow_tables import arrow_schema
from iowhy.recordings.schema import tables
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import formats
from iowhy.sources.names import Names
from iowhy.sources.paste import decode

FIXTURES = Path(__file__).parent / "fixtures" / "traces"


def read_text(module: str, text: str, command: tuple[str, ...] | None = None) -> Parsed:
    """What the format says of a paste of its own."""
    form = importlib.import_module(f"iowhy.sources.formats.{module}")
    return form.read(Block(decode(text.encode(), "test"), 1, "test", Names(), command))


def read_file(module: str, path: Path) -> Parsed:
    """What the format says of a file that it streams."""
    form = importlib.import_module(f"iowhy.sources.formats.{module}")
    with path.open("rb") as file:
        head = file.read(65536)
    known = next(one for one in formats() if one.stream is form.stream)
    assert known.sniff_head is not None and known.sniff_head(head) is not None, (
        f"{module} does not recognise {path.name}"
    )
    return form.stream(path, Names(), lambda _done, _total: None)


def fixture(module: str, name: str) -> Parsed:
    """The format on a fixture: streamed where it can be, else as a paste."""
    form = importlib.import_module(f"iowhy.sources.formats.{module}")
    if hasattr(form, "stream"):
        return read_file(module, FIXTURES / name)
    return read_text(module, (FIXTURES / name).read_text())


def arrow(parsed: Parsed, table: str) -> pa.Table:
    """A table of it with all columns of the schema."""
    schema = arrow_schema(tables()[table])
    rows = parsed.tables.get(table, [])
    if isinstance(rows, StoredRows):
        rows = rows.rows()
    return pa.Table.from_pylist(rows, schema=schema)


def rows(parsed: Parsed, table: str, sort: str = "ts_ns") -> list[dict[str, object]]:
    """The rows of a table, sorted."""
    found = arrow(parsed, table).to_pylist()
    return sorted(found, key=lambda row: (row.get(sort) is None, row.get(sort)))


def query(parsed: Parsed, sql: str) -> list[tuple[object, ...]]:
    """SQL over the tables of it, by their names."""
    with duckdb.connect() as connection:
        for table in parsed.tables:
            connection.register(table, arrow(parsed, table))
        return connection.execute(sql).fetchall()
