"""`iowhy sql`: ask a recording anything."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from iowhy.cli.report import chosen_format, write
from iowhy.errors import Problem
from iowhy.recording import open_recording
from iowhy.reports.engine import query

EPILOG = """Examples:

  iowhy sql fio.iowhy "SELECT name, count(*) FROM syscalls GROUP BY name"

  iowhy sql fio.iowhy "DESCRIBE block_requests"

  iowhy sql fio.iowhy "SELECT * FROM request_sequence WHERE jump_bytes <> 0" --format parquet > x.parquet

  iowhy report --sql sync fio.iowhy | iowhy sql fio.iowhy -
"""


def command(
    recording: Annotated[Path, typer.Argument(help="A recording, NAME.iowhy.")],
    statement: Annotated[str, typer.Argument(help="One SELECT in DuckDB's SQL; - reads stdin.")],
    form: Annotated[
        str, typer.Option("--format", "-f", help="table, csv, json or parquet.")
    ] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, not to stdout.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help="Rows to print; 0: all. A table prints 40.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Every column, however wide.")] = False,
) -> None:
    """Run one SELECT over the tables of a recording (docs/recording.md). Nothing can be changed."""
    form = chosen_format("json" if as_json else form)
    if statement == "-":
        statement = sys.stdin.read()
    if not statement.strip():
        raise Problem('the SQL is empty; e.g. iowhy sql REC "SELECT count(*) FROM syscalls"')
    table = query(open_recording(recording), statement)
    write(table, form, output, limit, wide)
