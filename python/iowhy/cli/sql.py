"""`iowhy sql`: ask a recording anything."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from iowhy.cli._boxed import opened
from iowhy.cli._rows import check_destination, write, write_list
from iowhy.errors import Problem
from iowhy.messages import say
from iowhy.options.described import group, switch, word
from iowhy.options.output import TableOutput
from iowhy.options.recordings import recording_read

EPILOG = """Examples:

  iowhy sql fio.iowhy --list

  iowhy sql fio.iowhy "SELECT name, count(*) FROM syscalls GROUP BY name"

  iowhy sql fio.iowhy "DESCRIBE block_requests"

  iowhy sql fio.iowhy "SELECT * FROM request_sequence" --format parquet > x.parquet

  iowhy report --sql sync fio.iowhy | iowhy sql fio.iowhy -
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """What is asked of which recording, and how the answer is written."""

    recording: Path = recording_read()
    statement: str | None = word("One SELECT in DuckDB's SQL; - reads stdin.", metavar="SELECT")
    list_: bool = switch(
        "--list", help="List the tables, how many rows each has, and what they hold."
    )
    table: TableOutput = group(TableOutput)


def command(options: Options) -> None:
    """Run one SELECT over the tables of a recording (docs/recording.md). Nothing can be changed."""
    from iowhy.reports.engine import query_result, what_lacks

    recording = opened(options.recording, options.table.output)
    if options.list_:
        rows: Mapping[str, int]
        try:
            rows, notes = what_lacks(recording)
        except Problem as damage:
            # What can be read is listed all the same, as the manifest counts it.
            rows = {name: one.kept for name, one in recording.manifest.tables.items()}
            notes = (str(damage),)
        write_list(_tables(dict.fromkeys(recording.manifest.tables, 0) | dict(rows)), options.table)
        for note in notes:
            say(note)
        return
    statement = sys.stdin.read() if options.statement == "-" else options.statement or ""
    if not statement.strip():
        raise Problem("sql-empty")
    check_destination(options.table)
    write(query_result(recording, statement), options.table, "asking")


def _tables(rows: Mapping[str, int]) -> list[dict[str, object]]:
    """Each table with its rows; unknown if there are none and the manifest counts none."""
    from iowhy.recordings.schema import tables

    return [
        {
            "table": name,
            "rows": rows.get(name),
            "one_row_is": table.row,
        }
        for name, table in tables().items()
    ]
