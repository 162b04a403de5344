"""A chart: an SQL file whose header says what it answers, which report has its rows, and how it is drawn."""

from collections.abc import Sequence
from functools import cache

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.recordings.schema import tables
from iowhy.relations.relation import Column
from iowhy.relations.sql_header import parse_headed

#: What stands in place of a report's table while a stretch of time is chosen: sums by the key of its rows, or rows as they are.
NARROWED = ("narrowed", "listed")
#: The ways in which a chart is drawn.
KINDS = ("stacked", "heat", "places", "lines", "flame", "waterfall", "layers", *NARROWED)

#: The lines of a header; all but the last must be there.
_FIELDS = ("title", "question", "report", "draws", "place", "needs")


class Chart(Struct, frozen=True):
    """One chart. `needs` are tables of which one must have rows, `notes` the comment lines after the header."""

    name: str
    title: str
    question: str
    report: str
    draws: str
    place: int
    needs: tuple[str, ...]
    columns: tuple[Column, ...]
    notes: str
    sql: str


def parse(name: str, text: str) -> Chart:
    """The chart in `text`. Raises Problem with the line that is wrong, or what is missing."""
    headed = parse_headed(text, f"{name}.sql", _FIELDS, _FIELDS[:-1])
    fields = headed.fields
    if fields["draws"] not in KINDS:
        raise Problem(f"{name}.sql: draws: {fields['draws']} is none of {', '.join(KINDS)}")
    if not fields["place"].isdecimal():
        raise Problem(f"{name}.sql: place: {fields['place']} is no number")
    return Chart(
        name=name,
        title=fields["title"],
        question=fields["question"],
        report=fields["report"],
        draws=fields["draws"],
        place=int(fields["place"]),
        needs=_tables(fields.get("needs", ""), name),
        columns=tuple(headed.columns),
        notes=headed.notes,
        sql=headed.sql,
    )


@cache
def charts() -> Sequence[Chart]:
    """All charts in the order of the page."""
    files = files_by_name("iowhy.charts", ".sql")
    found = [parse(name, file.read_text("utf-8")) for name, file in files.items()]
    return tuple(sorted(found, key=lambda one: (one.place, one.name)))


def _tables(text: str, name: str) -> tuple[str, ...]:
    named = tuple(word.strip() for word in text.split(" or ") if word.strip())
    for one in named:
        if one not in tables():
            raise Problem(f"{name}.sql: needs: {one} is no table")
    return named
