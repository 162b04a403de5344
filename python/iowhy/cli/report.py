"""`iowhy report`: one view of a recording, or the list of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from iowhy.cli import _boxed as boxed
from iowhy.cli._rows import check_destination, rows_shown, write, write_list
from iowhy.commands.report import filters as filters_of_part
from iowhy.commands.report import leading_causes
from iowhy.errors import Problem
from iowhy.options.described import group, switch, word
from iowhy.options.output import STACK_FORMATS, ReportOutput
from iowhy.options.report import Part
from iowhy.views.progress import working
from iowhy.written_files import opened as file_opened

if TYPE_CHECKING:
    from iowhy.recordings import Recording
    from iowhy.reports import Filters, Report

EPILOG = """Examples:

  iowhy report

  iowhy report syscalls fio.iowhy

  iowhy report events fio.iowhy --since 1.5s --until 1.6s --pid 4711

  iowhy report files fio.iowhy --file '*.db' --format csv > files.csv

  iowhy report callers fio.iowhy --file '*.db' --format folded | flamegraph.pl > db.svg
"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Which report of which recording, and how it is written."""

    name: str | None = word("A report; without it, the list of reports.", metavar="NAME")
    recording: str | None = word("A recording, NAME.iowhy.", metavar="REC")
    list_: bool = switch("--list", help="List the reports, each with the question it answers.")
    part: Part = group(Part)
    sql: bool = switch("--sql", help="Print the SQL instead of running it.")
    table: ReportOutput = group(ReportOutput)


def command(options: Options) -> None:
    """Show one view of a recording. Own reports: SQL files in ~/.config/iowhy/reports."""
    from iowhy.reports import find, result_of, statement

    name, recording = _in_order(options.name, options.recording)
    if options.list_ or name is None:
        if options.table.format in STACK_FORMATS:
            raise Problem("format-of-callers", format=options.table.format)
        _list(options.table)
        return
    report = find(name)
    if recording is None:
        raise Problem("report-of-what", name=name)
    opened = boxed.opened(recording, options.table.output)
    part = options.part
    filters = filters_of_part(part)
    if options.sql:
        print(statement(opened, report, filters))
        return
    check_destination(options.table)
    if options.table.format in STACK_FORMATS:
        _write_stacks(opened, report, filters, options.table)
        return
    asked = result_of(opened, report, filters, rows_shown(options.table, report), leading_causes)
    write(asked, options.table, f"{name} of {recording}", report)


def _write_stacks(
    recording: "Recording", report: "Report", filters: "Filters", to: ReportOutput
) -> None:
    """The rows of `report callers` for what draws flame graphs."""
    import sys
    from contextlib import nullcontext

    from iowhy.exports.stacks import WRITERS, callers_of

    if report.name != "callers":
        raise Problem("format-of-stacks", format=to.format)
    with working(f"callers of {recording.path}", quiet=to.output is None and sys.stdout.isatty()):
        stacks = callers_of(recording, filters)
    with (
        file_opened(to.output, binary=True, force=to.force)
        if to.output
        else nullcontext(sys.stdout.buffer)
    ) as out:
        WRITERS[to.format](stacks, recording, out)
        out.flush()


def _in_order(first: str | None, second: str | None) -> tuple[str | None, str | None]:
    """The report and the recording, in whichever order they were given."""
    from iowhy.recordings import open_recording
    from iowhy.reports import reports

    known = reports()
    if first is None or first in known:
        return first, second
    if second is None:
        open_recording(first)  # a recording alone asks for the list; anything else is a mistake
        return None, first
    # The recording came first: its path says so, or the report's name does.
    if second in known or Path(first).exists():
        return second, first
    return first, second


def _list(to: ReportOutput) -> None:
    from iowhy.reports.report import reports, user_folder

    known = reports()
    if to.format == "table":
        from iowhy.views import report_list
        from iowhy.views.terminal import console

        report_list.show(console(), known.values(), user_folder())
        return
    write_list(
        [
            {
                "name": name,
                "title": report.title,
                "question": report.question,
                "stands_in_for": report.stands_in_for,
            }
            for name, report in known.items()
        ],
        to,
    )
