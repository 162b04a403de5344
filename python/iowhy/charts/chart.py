"""A chart: an SQL file whose header says what it answers, which report has its rows, and how it is drawn."""

import re
from collections.abc import Sequence
from functools import cache
from importlib import resources

from iowhy.data_class import dataclass
from iowhy.errors import Problem
from iowhy.recording.schema import tables
from iowhy.relations.relation import Column, column

#: The ways in which a chart is drawn.
KINDS = ("stacked", "heat", "places", "lines", "flame", "waterfall", "layers", "narrowed")

_FIELD = re.compile(
    r"--\s*(title|question|report|draws|place|needs|column [a-z0-9_]+)\s*:\s*(.*)\Z"
)


@dataclass(frozen=True)
class Chart:
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
    fields: dict[str, str] = {}
    columns: list[Column] = []
    notes: list[str] = []
    lines = text.splitlines()
    start = 0
    for start, line in enumerate(lines):
        if not line.startswith("--"):
            break
        found = _FIELD.match(line)
        here = f"{name}.sql:{start + 1}"
        if found is None:
            notes.append(line[2:].strip())
        elif found[1].startswith("column "):
            columns.append(column(found[1].removeprefix("column ").strip(), found[2], here))
        else:
            fields[found[1]] = found[2].strip()
    for needed in ("title", "question", "report", "draws", "place"):
        if not fields.get(needed):
            raise Problem(f"{name}.sql: the header has no line `-- {needed}: …`")
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
        columns=tuple(columns),
        notes=" ".join(notes),
        sql="\n".join(lines[start:]).strip().rstrip(";"),
    )


@cache
def charts() -> Sequence[Chart]:
    """All charts in the order of the page."""
    folder = resources.files("iowhy.charts")
    found = [
        parse(file.name.removesuffix(".sql"), file.read_text("utf-8"))
        for file in folder.iterdir()
        if file.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda one: (one.place, one.name)))


def _tables(text: str, name: str) -> tuple[str, ...]:
    named = tuple(word.strip() for word in text.split(" or ") if word.strip())
    for one in named:
        if one not in tables():
            raise Problem(f"{name}.sql: needs: {one} is no table")
    return named
