"""The header of an SQL file of relations, reports and charts: `-- key: value` lines, `-- column NAME: meaning, unit`, and notes.

`-- about: NAME NAME …` lists the columns that are shown first, and on narrow terminals. A column in `unit of row` has in each row
the unit that the row's column `unit` names.
"""

from collections.abc import Collection, Mapping, Sequence

from msgspec import Struct

from iowhy.errors import Problem

UNITS = (
    "text",
    "id",
    "number",
    "count",
    "bool",
    "ns",
    "s",
    "bytes",
    "pages",
    "blocks",
    "share",
    "ratio",
    "bytes/s",
    "1/s",
    "unit of row",
)
#: The column that names the unit of those in `unit of row`.
UNIT = "unit"


class Column(Struct, frozen=True):
    """One column of a result: its name, meaning and unit (one of UNITS)."""

    name: str
    meaning: str
    unit: str


class Headed(Struct, frozen=True):
    """A file in its parts: `notes` are the other comment lines of the header, `sql` the statement after it."""

    fields: Mapping[str, str]
    columns: Sequence[Column]
    notes: str
    sql: str


def parse_headed(text: str, where: str, keys: Collection[str], needed: Sequence[str]) -> Headed:
    """The parts of `text`; `about` is among `keys` if its header may have it. Raises Problem with `where` and the line that is wrong, or what is missing."""
    fields: dict[str, str] = {}
    columns: list[Column] = []
    notes: list[str] = []
    lines = text.splitlines()
    start = len(lines)
    for at, line in enumerate(lines):
        if not line.startswith("--"):
            if line.strip():
                start = at
                break
            continue
        body = line[2:].strip()
        key, colon, value = (part.strip() for part in body.partition(":"))
        here = f"{where}:{at + 1}"
        if colon and key.startswith("column "):
            found = column(key.removeprefix("column ").strip(), value, here)
            if any(one.name == found.name for one in columns):
                raise Problem("column-described-twice", here=here, name=found.name)
            columns.append(found)
        elif colon and key in keys:
            if key in fields:
                raise Problem("header-key-twice", here=here, key=key)
            if not value:
                raise Problem("header-key-empty", here=here, key=key)
            fields[key] = value
        else:
            notes.append(body)
    for key in needed:
        if key not in fields:
            raise Problem("header-key-missing", where=where, key=key)
    for name in fields.get("about", "").split():
        if all(one.name != name for one in columns):
            raise Problem("report-column-undescribed", where=where, name=name)
    sql = "\n".join(lines[start:]).strip().rstrip(";").rstrip()
    return Headed(fields, columns, " ".join(note for note in notes if note), sql)


def column(name: str, value: str, where: str) -> Column:
    """`-- column NAME: meaning, unit`. Raises Problem for what has no meaning or unit."""
    meaning, comma, unit = value.rpartition(",")
    unit = unit.strip()
    if not name or not comma or not meaning.strip():
        raise Problem("header-column-wrong", where=where)
    if unit not in UNITS:
        raise Problem("unit-unknown", where=where, unit=unit, units=", ".join(UNITS))
    return Column(name, meaning.strip(), unit)
