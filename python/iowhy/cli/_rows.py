"""Rows of a result, written to the terminal, to a pipe or into a file."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import IO, TYPE_CHECKING, Any

from iowhy.cli._files import opened
from iowhy.errors import Problem
from iowhy.options.output import ROWS, TableOutput, check_free
from iowhy.views.progress import working

if TYPE_CHECKING:  # slow to import
    from iowhy.relations.relation import Column
    from iowhy.reports.batches import Result
    from iowhy.reports.report import Report


#: Columns are as wide as their widest value: all rows of a table are in memory.
MOST_PRINTED = 1_000_000


def check_destination(to: TableOutput) -> None:
    """Before the query, which may take long: can its result be written? Raises Problem."""
    if to.format == "table" and to.output is not None:
        raise Problem("--format table goes to the terminal; with -o use csv, json or parquet")
    if to.output is not None:
        check_free(to.output, to.force)
    elif to.format == "parquet" and sys.stdout.isatty():
        raise Problem("--format parquet is binary: give -o FILE, or redirect stdout")


def rows_shown(to: TableOutput, report: "Report | None" = None) -> int | None:
    """How many rows are written at most; None: all. A histogram is drawn whole."""
    if to.format == "table" and (report is None or report.histogram is None):
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
    columns = report.columns if report else ()
    shown = rows_shown(to, report)
    if to.format == "table":
        with working(doing), asked as result:
            table, rows = result.head(MOST_PRINTED if shown is None else shown)
        if shown is None and rows > MOST_PRINTED:
            raise Problem(f"{rows:,} rows are no table for a terminal: give --format csv")
        from iowhy.views import rows_table
        from iowhy.views.terminal import console

        if report is not None:
            rows_table.heading(console(), report.title, report.question)
        drawn = report.histogram if report is not None and not to.wide else None
        if drawn is not None and 0 < rows == table.num_rows:  # of a part the sums would be untrue
            from iowhy.views import histogram

            histogram.show(console(), table, drawn, columns)
            return
        rows_table.show(console(), table, columns, rows, to.wide)
        return
    on_terminal = to.output is None and sys.stdout.isatty()
    with working(doing, quiet=on_terminal), asked as result:
        if shown is not None:
            from iowhy.reports.batches import Result

            result = Result.of(result.head(shown)[0])
        _export(result, to, report.name if report else None, columns)


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
    """Writes a list of what there is: all of it, as a table by itself."""
    from iowhy.reports.batches import Result, Rows

    everything = TableOutput(
        form=to.format, output=to.output, force=to.force, limit=0, wide=to.wide
    )
    write(nullcontext(Result.of(Rows.of(found))), everything, "listing")
