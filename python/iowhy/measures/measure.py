"""A measure and its value in a recording."""

import re
from collections.abc import Iterable, Mapping
from functools import cache

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.relations import Relations
from iowhy.relations.sql_header import parse_headed
from iowhy.tables import budget_classes

UNITS = ("count", "ns", "bytes", "share")

_NEEDED = ("title", "unit", "sensor", "classes")
_PARTS = re.compile(r"^--\s*by (file|call)\s*$", re.MULTILINE)


class Measure(Struct, frozen=True):
    """One number of a recording. `classes` are those of the budget that it can account for, the first one foremost.

    `by_file` and `by_call` are SQL for its parts by file and by name of the call, None if it has none. `state` says
    what else decides it, if it is not a count of what the run did: no baseline holds it.
    """

    name: str
    title: str
    unit: str
    sensor: str
    classes: tuple[str, ...]
    sql: str
    by_file: str | None
    by_call: str | None = None
    state: str | None = None


class Part(Struct, frozen=True):
    """What one file, or one system call, has of a measure."""

    name: str
    value: float


def parse(name: str, text: str) -> Measure:
    """The measure in `text`. Raises Problem that names what is wrong."""
    headed = parse_headed(text, f"{name}.sql", (*_NEEDED, "state"), _NEEDED)
    fields = headed.fields
    if fields["unit"] not in UNITS:
        raise Problem("sql-unit-unknown", name=name, fields=fields["unit"], units=", ".join(UNITS))
    known = budget_classes()
    keys = [key.strip() for key in fields["classes"].split(",")]
    for key in keys:
        if key not in known:
            raise Problem("sql-class-unknown", name=name, key=key, known=", ".join(known))
    whole, *rest = _PARTS.split(headed.sql)
    parts = dict(zip(rest[::2], map(str.strip, rest[1::2]), strict=True))
    if not whole.strip():
        raise Problem("sql-only-header", name=name)
    return Measure(
        name,
        fields["title"],
        fields["unit"],
        fields["sensor"],
        tuple(known[key].name for key in keys),
        whole.strip(),
        parts.get("file"),
        parts.get("call"),
        fields.get("state"),
    )


@cache
def measures() -> Mapping[str, Measure]:
    """All measures by name, in alphabetical order."""
    files = files_by_name("iowhy.measures", ".sql")
    return {name: parse(name, file.read_text("utf-8")) for name, file in files.items()}


def find(name: str) -> Measure:
    """The measure of that name. Raises Problem that names the nearest ones."""
    found = measures().get(name)
    if found is None:
        from difflib import get_close_matches  # slow to import

        near = get_close_matches(name, measures(), 2) or [
            other for other in measures() if name in other
        ]
        meant = f"; did you mean {' or '.join(near[:2])}?" if near else ";"
        raise Problem("no-such-measure", name=name, meant=meant)
    return found


def values(relations: Relations, chosen: Iterable[Measure]) -> dict[str, float | None]:
    """The values of measures by name, in one query; None where their sensor did not run, or there is none."""
    known = list(chosen)
    asked = [one for one in known if relations.recording.ran(one.sensor)]
    found: dict[str, float | None] = dict.fromkeys((one.name for one in known), None)
    if asked:
        columns = ", ".join(f'CAST(({one.sql}) AS DOUBLE) AS "{one.name}"' for one in asked)
        names, (row,) = relations.table(f"SELECT {columns}")
        for name, value in zip(names, row, strict=True):
            found[name] = value if isinstance(value, float) else None
    return found


def largest_file(relations: Relations, measure: Measure) -> Part | None:
    """The path of which most of a measure is, and how much; None if none is known.

    Files that had it one after the other (a journal that each transaction makes again) count together, as in `report files`.
    """
    if measure.by_file is None:
        return None
    # Counts of files add up; of a mean the largest is told.
    together = "max" if measure.unit == "ns" else "sum"
    return _largest(
        relations,
        f"""
        SELECT f.path AS name, CAST({together}(m.value) AS DOUBLE) AS value
        FROM ({measure.by_file}) AS m
        JOIN named_files AS f ON f.dev = m.dev AND f.ino = m.ino
        WHERE m.value > 0 AND f.path IS NOT NULL
        GROUP BY f.dev, f.path
        """,
    )


def largest_call(relations: Relations, measure: Measure) -> Part | None:
    """The system call of which most of a measure is, and how much; None if it is not a call's."""
    if measure.by_call is None:
        return None
    return _largest(
        relations,
        f"""
        SELECT m.name, CAST(m.value AS DOUBLE) AS value
        FROM ({measure.by_call}) AS m
        WHERE m.value > 0 AND m.name IS NOT NULL
        """,
    )


def _largest(relations: Relations, parts: str) -> Part | None:
    return relations.first(Part, f"{parts} ORDER BY value DESC, name LIMIT 1")
