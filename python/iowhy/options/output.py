"""Where results go: to the terminal, as JSON, into a file that is never overwritten unasked."""

from dataclasses import dataclass
from pathlib import Path

from iowhy.errors import Problem
from iowhy.options.described import option, switch
from iowhy.written_files import check_free

FORMATS = ("table", "csv", "json", "parquet")
#: Of the rows of `report callers`, for flame graphs.
STACK_FORMATS = ("folded", "speedscope")
ROWS = 40  # of a table on a terminal: the heaviest come first


#: What it does, for every command that makes something to be passed on.
KEEP_SECRETS = "Keep passwords, tokens and keys of command lines, which are masked (***) otherwise."


@dataclass(frozen=True, kw_only=True)
class TableOutput:
    """How a table of rows is written."""

    form: str = option(
        "-f", "--format", default="table", choices=FORMATS, help="table, csv, json or parquet."
    )
    as_json: bool = switch("--json", help="The same as --format json.")
    output: Path | None = option("-o", "--output", help="Write to this file, not to stdout.")
    force: bool = switch("--force", help="With -o: a file that exists is overwritten.")
    limit: int | None = option(
        "--limit", least=0, help=f"Rows to print; 0: all. A table prints {ROWS}."
    )
    wide: bool = switch("--wide", help="Every column, however wide.")

    @property
    def format(self) -> str:
        """One of FORMATS."""
        return "json" if self.as_json else self.form


@dataclass(frozen=True, kw_only=True)
class ReportOutput(TableOutput):
    """How a report is written: one of user stacks for flame graphs as well."""

    form: str = option(
        "-f",
        "--format",
        default="table",
        choices=(*FORMATS, *STACK_FORMATS),
        help="table, csv, json or parquet; of callers also folded or speedscope.",
    )

    def __post_init__(self) -> None:
        """Raises Problem for rows of what has none."""
        if self.format in STACK_FORMATS and (self.limit is not None or self.wide):
            raise Problem("stacks-are-all", format=self.format)


@dataclass(frozen=True, kw_only=True)
class Exports:
    """Files that a result is saved in, next to what is printed."""

    as_json: bool = switch("--json", help="Print the result as JSON.")
    export_json: Path | None = option(
        "--export-json", help="Save the result; of commands in hyperfine's form, with more keys."
    )
    force: bool = switch("--force", help="A file that exists may be overwritten.")

    def check(self, *others: Path | None) -> None:
        """Before the runs, which may take an hour: can all be saved? Raises Problem."""
        for path in (self.export_json, *others):
            if path is not None:
                check_free(path, self.force)
