"""A report: an SQL file whose header says what it answers and what its columns mean.

The header is the run of `--` lines at the top:

    -- title: System calls
    -- question: Which calls were made?
    -- stands in for: strace -c
    -- filters: since until pid
    -- in order of: command_events.ts_ns
    -- of the whole run: files are mapped before and after it
    -- histogram: requests from low_ns to high_ns by device op
    -- about: name calls
    -- column calls: calls that began, count

`title` and `question` are needed; without `filters` all but `device` apply. `about` names the columns that come first, and
are shown however narrow the terminal is. `in order of` names a relation and
its time in ns: the report has one row for each of its rows, in this order, so that the first rows are found without
the others. `of the whole run` says why its rows cannot be those of a stretch of time. How a terminal draws the rows (`histogram`, `heat map`, `small plots`) is in `iowhy.reports.drawing`. Other
comment lines are notes for the reader. Reports of this package and of a user (`~/.config/iowhy/reports/NAME.sql`) are the same
kind of file.
"""

import os
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.relations.relation import relations
from iowhy.relations.sql_header import Column, parse_headed
from iowhy.reports import drawing
from iowhy.reports.drawing import Drawing

if TYPE_CHECKING:
    from importlib.resources.abc import Traversable

#: Of a report that names none.
FILTERS = ("since", "until", "pid", "container", "file")
EVERY_FILTER = (*FILTERS, "device")

REPORT_MAX_BYTES = 1024 * 1024  # a report is a page of SQL; more is not one

_FIELDS = (
    "title",
    "question",
    "stands in for",
    "filters",
    "in order of",
    "of the whole run",
    "about",
    *drawing.FIELDS,
)
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]*\Z")


class Report(Struct, frozen=True):
    """One report. `notes` are the comment lines after the header, `sql` the statement alone."""

    name: str
    title: str
    question: str
    stands_in_for: str
    filters: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: str
    sql: str
    where: str
    in_order_of: tuple[str, str] | None = None
    drawing: Drawing = Drawing()
    of_whole_run: str = ""
    about: tuple[str, ...] = ()

    def unit(self, column: str) -> str | None:
        """The unit of a result column, None when the header does not say."""
        return next((c.unit for c in self.columns if c.name == column), None)


def parse(name: str, text: str, where: str) -> Report:
    """The report in `text`. Raises Problem with the file and line that is wrong."""
    headed = parse_headed(text, where, _FIELDS, ("title", "question"))
    fields = headed.fields
    filters = tuple(fields.get("filters", " ".join(FILTERS)).replace(",", " ").split())
    for word in filters:
        if word not in EVERY_FILTER and word != "none":
            raise Problem(
                "filter-unknown", where=where, word=word, every_filter=", ".join(EVERY_FILTER)
            )
    if not headed.sql:
        raise Problem("report-without-sql", where=where)
    return Report(
        name=name,
        title=fields["title"],
        question=fields["question"],
        stands_in_for=fields.get("stands in for", ""),
        filters=tuple(word for word in filters if word != "none"),
        columns=tuple(headed.columns),
        notes=headed.notes,
        sql=headed.sql,
        where=where,
        in_order_of=_relation_and_column(fields.get("in order of"), where),
        drawing=drawing.parse(fields, headed.columns, where),
        of_whole_run=fields.get("of the whole run", ""),
        about=tuple(fields.get("about", "").split()),
    )


def _relation_and_column(text: str | None, where: str) -> tuple[str, str] | None:
    if text is None:
        return None
    relation, _, column = text.partition(".")
    found = relations().get(relation)
    if found is None or all(one.name != column for one in found.columns):
        raise Problem("order-not-relation-column", where=where, text=text)
    return relation, column


def reports() -> dict[str, Report]:
    """All reports by name: those of the package, then the user's own.

    A user's report of the same name takes the place of the package's. Raises Problem for one that
    cannot be read.
    """
    return built_in() | _own()


def _own() -> dict[str, Report]:
    """The user's own. Raises Problem for one that cannot be read."""
    found: dict[str, Report] = {}
    folder = user_folder()
    try:
        files = sorted(folder.glob("*.sql"))
    except OSError as error:
        raise Problem("path-error", path=folder, error=error.strerror or error) from None
    for file in files:
        if not _NAME.match(file.stem):
            raise Problem("report-name-wrong", path=file)
        found[file.stem] = parse(file.stem, _text(file), str(file))
    return found


def built_in() -> dict[str, Report]:
    """The reports of this package, by name."""
    return {name: _built_in(name) for name in _files()}


def find(name: str) -> Report:
    """The report of that name. Raises Problem that has the nearest name, or how to list all."""
    own = _own()
    if name in own:
        return own[name]
    if name in _files():
        return _built_in(name)
    from difflib import get_close_matches  # of use for slips of the hand only

    known = {*_files(), *own}
    near = get_close_matches(name, sorted(known), 1)
    if near:
        raise Problem("no-such-report-near", name=name, near=near[0])
    raise Problem("no-such-report-known", name=name)


def user_folder() -> Path:
    """Where a user's own reports are (XDG Base Directory Specification)."""
    config = os.environ.get("XDG_CONFIG_HOME")
    base = Path(config) if config else Path("~/.config").expanduser()
    return base / "iowhy" / "reports"


@cache
def _files() -> "dict[str, Path | Traversable]":
    """The files of the package's reports, by name."""
    return files_by_name("iowhy.reports", ".sql")


@cache
def _built_in(name: str) -> Report:
    file = _files()[name]
    return parse(name, file.read_text("utf-8"), file.name)


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            data = opened.read(REPORT_MAX_BYTES + 1)
    except OSError as error:
        raise Problem("path-error", path=file, error=error.strerror or error) from None
    if len(data) > REPORT_MAX_BYTES:
        raise Problem("report-too-large", path=file, report_max_bytes=REPORT_MAX_BYTES)
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Problem("report-not-text", path=file, start=error.start) from None
