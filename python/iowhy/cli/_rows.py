"""Rows of a result, written to the terminal, to a pipe or into a file."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING, Any

from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.output import ROWS, TableOutput
from iowhy.views.progress import working
from iowhy.written_files import check_free, opened

if TYPE_CHECKING:  # slow to import
    from iowhy.relations.sql_header import Column
    from iowhy.reports.batches import Result
    from iowhy.reports.report import Report


#: Columns are as wide as their widest value: all rows of a table are in memory.
MOST_PRINTED = 1_000_000


def check_destination(to: TableOutput) -> None:
    """Before the query, which may take long: can its result be written? Raises Problem."""
    if to.format == "table" and to.output is not None:
        raise Problem("table-is-for-terminals")
    if to.output is not None:
        check_free(to.output, to.force)
    elif to.format == "parquet" and sys.stdout.isatty():
        raise Problem("parquet-is-binary")


def rows_shown(to: TableOutput, report: "Report | None" = None) -> int | None:
    """How many rows are written at most; None: all. A histogram, or heat map, is drawn whole."""
    whole = report is not None and (report.drawing.histogram or report.drawing.heat_map)
    if to.format == "table" and not whole:
        return ROWS if to.limit is None else to.limit or None
    return to.limit or None


def write(
    asked: "AbstractContextManager[Result]",
    to: TableOutput,
    doing: str,
    report: "Report | None" = None,
) -> None:
    """Writes a result as asked, of which little is in memory at a time; `doing` is what is said while it takes long.

    Raises Problem where it cannot be written.
    """
    check_destination(to)
    shown = rows_shown(to, report)
    if to.format == "table":
        notes = _print(asked, to, doing, report)
        _say(notes)
        return
    on_terminal = to.output is None and sys.stdout.isatty()
    with working(doing, quiet=on_terminal), asked as result:
        notes = result.notes
        if shown is not None:
            from iowhy.reports.batches import Result

            result = Result.of(result.head(shown)[0])
        _export(result, to, report.name if report else None, report.columns if report else ())
    _say(notes)


def _say(notes: Sequence[str]) -> None:
    """On stderr, where no program takes it for rows."""
    for note in notes:
        say(note)


def _print(
    asked: "AbstractContextManager[Result]", to: TableOutput, doing: str, report: "Report | None"
) -> Sequence[str]:
    """On the terminal: as a table, with what is drawn below it, or drawn whole; the notes about it."""
    from iowhy.reports.drawing import Drawing
    from iowhy.views import heat_map, histogram, rows_table, small_plots
    from iowhy.views.terminal import console

    drawing = report.drawing if report is not None and not to.wide else Drawing()
    columns = report.columns if report else ()
    shown = rows_shown(to, report)
    # What is drawn below a table is drawn of all rows.
    most = MOST_PRINTED if shown is None or drawing.small_plots else shown
    with working(doing), asked as result:
        table, rows = result.head(most)
    if shown is None and rows > MOST_PRINTED:
        raise Problem("too-many-rows-for-a-terminal", rows=rows)
    out = console()
    if report is not None:
        rows_table.heading(out, report.title, report.question)
    whole = 0 < rows == table.num_rows  # of a part the sums would be untrue
    if whole and drawing.histogram:
        histogram.show(out, table.to_pylist(), drawing.histogram, columns)
    elif whole and drawing.heat_map:
        heat_map.show(out, table.to_pylist(), drawing.heat_map, columns)
    else:
        first = table if shown is None else table.head(shown)
        about = report.about if report else ()
        rows_table.show(out, first, columns, rows, to.wide, about)
        if whole and drawing.small_plots:
            small_plots.show(out, table.to_pylist(), drawing.small_plots, columns)
    return result.notes


def _export(
    result: "Result", to: TableOutput, name: str | None, columns: "Sequence[Column]"
) -> None:
    from iowhy.views import rows_file

    binary = to.format == "parquet"
    stdout: IO[Any] = sys.stdout.buffer if binary else sys.stdout
    with (
        opened(to.output, binary=binary, force=to.force) if to.output else nullcontext(stdout)
    ) as out:
        if binary:
            rows_file.write_parquet(result, out, name, columns)
        elif to.format == "csv":
            rows_file.write_csv(result, out)
        else:
            rows_file.write_json(result, out, name, columns)
        out.flush()


def write_list(found: Sequence[Mapping[str, object]], to: TableOutput) -> None:
    """Writes a list of what there is: all of it, as one table."""
    from iowhy.reports.batches import Result, Rows

    everything = TableOutput(
        form=to.format, output=to.output, force=to.force, limit=0, wide=to.wide
    )
    write(nullcontext(Result.of(Rows.of(found))), everything, "listing")
