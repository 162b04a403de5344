"""Rows of a result, written to the terminal, to a pipe or into a file."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import IO, TYPE_CHECKING, Any

from iowhy.cli._files import opened
from iowhy.errors import Problem
from iowhy.options.output import ROWS, TableOutput, check_free

if TYPE_CHECKING:  # pyarrow is slow to import, and a list on a terminal needs none of it
    import pyarrow as pa

    from iowhy.relations.relation import Column


def check_destination(to: TableOutput) -> None:
    """Before the query, which may take long: can its result be written? Raises Problem."""
    if to.format == "table" and to.output is not None:
        raise Problem("--format table goes to the terminal; with -o use csv, json or parquet")
    if to.output is not None:
        check_free(to.output, to.force)
    elif to.format == "parquet" and sys.stdout.isatty():
        raise Problem("--format parquet is binary: give -o FILE, or redirect stdout")


def write(
    table: "pa.Table",
    to: TableOutput,
    name: str | None = None,
    columns: "Sequence[Column]" = (),
) -> None:
    """Writes a result as asked. Raises Problem where it cannot be written."""
    check_destination(to)
    if to.format == "table":
        from iowhy.views import rows_table
        from iowhy.views.terminal import console

        shown = ROWS if to.limit is None else to.limit or None
        rows_table.show(console(), table, columns, shown, to.wide)
        return
    from iowhy.views import export

    if to.limit:
        table = table.slice(0, to.limit)
    binary = to.format == "parquet"
    stdout: IO[Any] = sys.stdout.buffer if binary else sys.stdout
    with (
        opened(to.output, binary=binary, force=to.force) if to.output else nullcontext(stdout)
    ) as out:
        if binary:
            export.write_parquet(table, out, name, columns)
        elif to.format == "csv":
            export.write_csv(table, out)
        else:
            export.write_json(table, out, name, columns)
        out.flush()


def write_list(found: Sequence[Mapping[str, object]], to: TableOutput) -> None:
    """Writes a list of what there is: all of it, as a table by itself."""
    import pyarrow as pa

    everything = TableOutput(
        form=to.format, output=to.output, force=to.force, limit=0, wide=to.wide
    )
    write(pa.Table.from_pylist(list(found)), everything)
