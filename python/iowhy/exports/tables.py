"""A recording's tables as files for other programs, one file each."""

import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from iowhy.recordings import Recording
from iowhy.recordings.query_errors import is_query_error
from iowhy.recordings.schema import tables
from iowhy.recordings.sql_text import text_literal
from iowhy.reports.batches import Result
from iowhy.reports.engine import queries
from iowhy.reports.parquet_file import FORM


def write_csv_tables(
    recording: Recording, folder: Path, write: Callable[[Result, IO[str]], None]
) -> None:
    """Writes each table that has rows to `folder`/NAME.csv, by `write`.

    Columns are those of docs/recording.md. Raises Problem for a recording that cannot be read, and OSError.
    """
    with queries(recording) as ask:
        for name in _with_rows(recording):
            file = folder / f"{name}.csv"
            with file.open("x", encoding="utf-8", newline="") as out:
                write(ask(f"SELECT * FROM main.{name}"), out)


def write_parquet_tables(recording: Recording, folder: Path) -> None:
    """The same as Parquet, by the database itself: no row passes through here. Raises as write_csv_tables."""
    files = {name: folder.resolve() / f"{name}.parquet" for name in _with_rows(recording)}
    with recording.opened(written=list(files.values())) as opened:
        opened.need(tables())
        for name, file in files.items():
            copy = f"COPY (SELECT * FROM main.{name}) TO {text_literal(str(file))}"
            about = f"KV_METADATA {{report: {text_literal(name)}}}"
            try:
                opened.connection.execute(f"{copy} ({FORM}, {about})")
            except Exception as error:
                # What names another file is about the recording.
                if is_query_error(error) and str(file) in str(error):
                    raise _as_os_error(str(error)) from None
                raise


def _as_os_error(text: str) -> OSError:
    """What DuckDB says of a file that it cannot write: the number of the system's error is within."""
    number = re.search(r'"errno":"(\d+)"', text)
    if number is None:
        return OSError(text.splitlines()[0])
    return OSError(int(number[1]), os.strerror(int(number[1])))


def _with_rows(recording: Recording) -> Sequence[str]:
    """The tables that have rows, in the schema's order."""
    with recording.opened() as opened:
        counts = opened.row_counts()
    return [name for name in tables() if counts.get(name)]
