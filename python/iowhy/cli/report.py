"""`iowhy report`: one view of a recording, or the list of them."""

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer
from rich.text import Text

from iowhy.errors import Problem
from iowhy.recording import open_recording
from iowhy.relations.relation import Column
from iowhy.reports import Filters, export, find, reports, run, statement
from iowhy.reports.report import user_folder
from iowhy.views import result
from iowhy.views.terminal import console, printable

FORMATS = ("table", "csv", "json", "parquet")
ROWS = 40  # of a table on a terminal: the heaviest come first

EPILOG = """Examples:

  iowhy report

  iowhy report syscalls fio.iowhy

  iowhy report events fio.iowhy --since 1.5s --until 1.6s --pid 4711

  iowhy report files fio.iowhy --file '*.db' --format csv > files.csv
"""


def command(
    name: Annotated[
        str | None, typer.Argument(help="A report; without it, the list of reports.")
    ] = None,
    recording: Annotated[Path | None, typer.Argument(help="A recording, NAME.iowhy.")] = None,
    since: Annotated[
        str | None,
        typer.Option(help="From here on: seconds after the start (12, 250ms, 2m), or a time."),
    ] = None,
    until: Annotated[str | None, typer.Option(help="Up to here, as --since.")] = None,
    pid: Annotated[
        list[int] | None, typer.Option("-p", "--pid", help="Process or thread; may be repeated.")
    ] = None,
    file: Annotated[
        str | None,
        typer.Option(help="Files: a part of the path, or a pattern with * and ? for all of it."),
    ] = None,
    form: Annotated[
        str, typer.Option("--format", "-f", help="table, csv, json or parquet.")
    ] = "table",
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write to this file, not to stdout.")
    ] = None,
    limit: Annotated[
        int | None, typer.Option(help=f"Rows to print; 0: all. A table prints {ROWS}.")
    ] = None,
    wide: Annotated[bool, typer.Option("--wide", help="Every column, however wide.")] = False,
    sql: Annotated[
        bool, typer.Option("--sql", help="Print the SQL instead of running it.")
    ] = False,
) -> None:
    """Show one view of a recording. Own reports: SQL files in ~/.config/iowhy/reports."""
    form = chosen_format("json" if as_json else form)
    if name is None or (recording is None and name not in reports()):
        if name is not None:
            open_recording(name)  # a recording alone asks for the list; anything else is a mistake
        _list(form)
        return
    if recording is None:
        raise Problem(f"report {name}: of which recording? `iowhy report {name} NAME.iowhy`")
    report = find(name)
    rec = open_recording(recording)
    filters = Filters(since, until, tuple(pid or ()), file)
    if sql:
        print(statement(rec, report, filters))
        return
    _row_count(limit)
    table = run(rec, report, filters)
    if form == "table" and output is None:
        heading = Text(f"{report.title}", style="bold")
        heading.append(f"  {report.question}", style="not bold dim")
        console().print(heading, soft_wrap=True)
    write(table, form, output, limit, wide, report.name, report.columns)


def chosen_format(form: str) -> str:
    """`form` when it is one of FORMATS. Raises Problem else."""
    if form not in FORMATS:
        raise Problem(f"--format {form}: choose {', '.join(FORMATS)}")
    return form


def _row_count(limit: int | None) -> None:
    if limit is not None and limit < 0:
        raise Problem(f"--limit {limit}: give a number of rows, or 0 for all")


def write(
    table: pa.Table,
    form: str,
    output: Path | None,
    limit: int | None,
    wide: bool = False,
    name: str | None = None,
    columns: tuple[Column, ...] = (),
) -> None:
    """Write a result to stdout or `output` in one of FORMATS."""
    _row_count(limit)
    if form == "table" and output is not None:
        raise Problem("--format table goes to the terminal; with -o use csv, json or parquet")
    if form == "table":
        rows = ROWS if limit is None else limit or None
        result.show(console(), table, columns, rows, wide)
        return
    if limit:
        table = table.slice(0, limit)
    if form == "parquet":
        if output is None and sys.stdout.isatty():
            raise Problem("--format parquet is binary: give -o FILE, or redirect stdout")
        try:
            with output.open("wb") if output else nullcontext(sys.stdout.buffer) as binary:
                export.write_parquet(table, binary, name, columns)
        except BrokenPipeError:
            raise
        except OSError as error:
            raise Problem(f"{output}: cannot be written: {error.strerror or error}") from None
        return
    try:
        with (
            output.open("w", encoding="utf-8", newline="") if output else nullcontext(sys.stdout)
        ) as text:
            if form == "csv":
                export.write_csv(table, text)
            else:
                export.write_json(table, text, name, columns)
            text.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise Problem(f"{output}: cannot be written: {error.strerror or error}") from None


def _list(form: str) -> None:
    known = reports()
    if form != "table":
        rows = pa.table(
            {
                "name": list(known),
                "title": [report.title for report in known.values()],
                "question": [report.question for report in known.values()],
                "stands_in_for": [report.stands_in_for for report in known.values()],
            }
        )
        write(rows, form, None, None)
        return
    out = console()
    width = max(map(len, known))
    for name, report in known.items():
        line = Text(f"  {name:<{width}}", style="bold")
        line.append(f"  {printable(report.question)}", style="not bold")
        out.print(line, soft_wrap=True)
    out.print(
        Text(f"\n  iowhy report NAME RECORDING; your own: {user_folder()}/NAME.sql", style="dim"),
        soft_wrap=True,
    )
