"""A relation: an SQL file with a header, in one body or several to choose from."""

import re
from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.package_files import files_by_name
from iowhy.recordings.schema import tables
from iowhy.relations.facts import SENSORS, RecordedFacts
from iowhy.relations.literals import COLUMNS, LITERALS
from iowhy.relations.percentiles import few_percentiles_sql, percentiles_sql

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
)

_HEADER = re.compile(r"--\s*(title|filtered as|kept|percentiles by|column [a-z0-9_]+)\s*:\s*(.*)\Z")
_WHEN = re.compile(r"--\s*(?:when\s+(.+)|else)\s*\Z")
_NOISE = re.compile(r"--[^\n]*|'(?:[^']|'')*'|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"(?<![\w.\"])(main\.)?([A-Za-z_]\w*)(?![\w\"])")
#: Rows up to which to keep single ones takes less than to group them: a group of its own costs more than a row.
FEW_TO_GROUP = 1_000_000
#: Rows of a recording of which those of one column fit into memory whatever that may be.
FEW_IN_MEMORY = 4_000_000
_DEFINITION = re.compile(r"\b(\w+)\s+AS\s+(?:(?:NOT\s+)?MATERIALIZED\s+)?\(", re.IGNORECASE)


class Column(Struct, frozen=True):
    """One column of a result: its name, meaning and unit (one of UNITS)."""

    name: str
    meaning: str
    unit: str


class Relation(Struct, frozen=True):
    """One relation. `bodies` are (condition, SQL); the last condition may be empty: always.

    `filtered_as`: the table like which its rows are filtered; empty when it is made of what the
    filters leave, "nothing" when filters do not apply to it.
    """

    name: str
    title: str
    notes: str
    columns: tuple[Column, ...]
    filtered_as: str
    kept: bool
    bodies: tuple[tuple[str, str], ...]

    def body(self, facts: RecordedFacts) -> str:
        """The SQL for a recording. Raises Problem when no body is for it."""
        if self.name in LITERALS:
            return LITERALS[self.name](facts)
        for condition, sql in self.bodies:
            if not condition or holds(condition, facts):
                return sql
        raise Problem(f"{self.name}.sql: no body for this recording; give an `-- else`")


def parse(name: str, text: str) -> Relation:
    """The relation in `text`. Raises Problem with the line that is wrong."""
    fields: dict[str, str] = {}
    columns: list[Column] = []
    notes: list[str] = []
    bodies: list[tuple[str, list[str]]] = []
    for number, line in enumerate(text.splitlines(), 1):
        here = f"{name}.sql:{number}"
        comment = line.startswith("--")
        when, header = (_WHEN.match(line), _HEADER.match(line)) if comment else (None, None)
        if when is not None:
            _check_condition(when[1] or "", here)
            bodies.append((when[1] or "", []))
        elif bodies:
            bodies[-1][1].append(line)
        elif header is None and comment:
            notes.append(line[2:].strip())
        elif header is None and line.strip():
            bodies.append(("", [line]))
        elif header is not None and header[1].startswith("column "):
            columns.append(column(header[1].removeprefix("column ").strip(), header[2], here))
        elif header is not None:
            fields[header[1]] = header[2].strip()
    if not fields.get("title") or not columns:
        raise Problem(f"{name}.sql: the header has no line `-- title: …` or `-- column …`")
    filtered_as, kept = fields.get("filtered as", ""), fields.get("kept", "view")
    if filtered_as not in ("", "nothing", *tables()):
        raise Problem(f"{name}.sql: filtered as: {filtered_as} is no table")
    if kept not in ("view", "table"):
        raise Problem(f"{name}.sql: kept: give view or table")
    made = tuple((condition, "\n".join(lines).strip().rstrip(";")) for condition, lines in bodies)
    if not made or not all(sql for _, sql in made):
        raise Problem(f"{name}.sql: there is no SQL after the header or a `-- when`")
    if "percentiles by" in fields:
        made = _percentiles(name, fields["percentiles by"], columns, made)
    return Relation(
        name=name,
        title=fields["title"],
        notes=" ".join(note for note in notes if note),
        columns=tuple(columns),
        filtered_as=filtered_as,
        kept=kept == "table",
        bodies=made,
    )


def _percentiles(
    name: str, by: str, columns: list[Column], bodies: tuple[tuple[str, str], ...]
) -> tuple[tuple[str, str], ...]:
    keys = [key.strip() for key in by.split(",")]
    if keys != [one.name for one in columns[: len(keys)]]:
        raise Problem(f"{name}.sql: percentiles by: its first columns are not {by}")
    asked = [one.name for one in columns[len(keys) :]]
    try:
        few = [(_and_few(when), few_percentiles_sql(keys, asked, sql)) for when, sql in bodies]
        many = [(when, percentiles_sql(keys, asked, sql)) for when, sql in bodies]
    except ValueError as error:
        raise Problem(f"{name}.sql: {error}") from None
    return (*few, *many)


def _and_few(condition: str) -> str:
    return " or ".join(
        f"{either} and few rows" if either else "few rows" for either in condition.split(" or ")
    )


def column(name: str, value: str, where: str) -> Column:
    """`-- column NAME: meaning, unit`. Raises Problem for what has no meaning or unit."""
    meaning, comma, unit = value.rpartition(",")
    unit = unit.strip()
    if not name or not comma or not meaning.strip():
        raise Problem(f"{where}: expected `-- column NAME: meaning, unit`")
    if unit not in UNITS:
        raise Problem(f"{where}: unit {unit!r} is none of {', '.join(UNITS)}")
    return Column(name, meaning.strip(), unit)


class _Relations(Mapping[str, Relation]):
    """Those of this folder, each read when it is first asked for: of a short command that is few of them."""

    def __init__(self) -> None:
        self._files = files_by_name("iowhy.relations", ".sql")
        self._read = {
            name: Relation(name, title, "", columns, "nothing", False, ())
            for name, (title, columns) in _literal_columns().items()
        }
        self._names = dict.fromkeys((*self._read, *self._files))

    def __getitem__(self, name: str) -> Relation:
        if name not in self._read:
            self._read[name] = parse(name, self._files[name].read_text("utf-8"))
        return self._read[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return name in self._names


@cache
def relations() -> Mapping[str, Relation]:
    """All relations by name."""
    return _Relations()


@cache
def named_in(sql: str) -> frozenset[str]:
    """The tables and relations that an SQL text names, `main.NAME` for those as recorded.

    By their names alone, outside comments and strings, but not those that it defines itself.
    """
    bare = _NOISE.sub(" ", sql)
    known, own = _names(), defined_in(bare)
    return frozenset(
        main + name
        for main, name in _WORD.findall(bare)
        if name in known and (main or name.lower() not in own)
    )


def tables_in(sql: str) -> frozenset[str]:
    """The recording's tables that an SQL text names."""
    return frozenset(name.removeprefix("main.") for name in named_in(sql)) & tables().keys()


def defined_in(sql: str) -> frozenset[str]:
    """The names of relations that the SQL brings itself, as what --sql printed does; in small letters."""
    return frozenset(name.lower() for name in _DEFINITION.findall(sql))


def holds(condition: str, facts: RecordedFacts) -> bool:
    """Whether a `-- when` condition holds for a recording."""
    return any(
        all(_term(term.strip(), facts) for term in either.split(" and "))
        for either in condition.split(" or ")
    )


def _term(term: str, facts: RecordedFacts) -> bool:
    if term.startswith("not "):
        return not _term(term[4:].strip(), facts)
    if term == "elapsed":
        return facts.elapsed_ns > 0
    if term.startswith("ran "):
        return term[4:].strip() in facts.ran
    if term == "few rows":
        return sum(facts.rows.values()) <= FEW_IN_MEMORY
    if term.startswith("few "):
        return facts.rows.get(term[4:].strip(), 0) <= FEW_TO_GROUP
    return facts.rows.get(term, 0) > 0


def _check_condition(condition: str, where: str) -> None:
    for either in condition.split(" or ") if condition else ():
        for term in either.split(" and "):
            word = term.strip().removeprefix("not ").strip()
            sensor = word.removeprefix("ran ").strip() if word.startswith("ran ") else None
            table = word.removeprefix("few ").strip()
            known = (
                sensor in SENSORS
                if sensor
                else word in ("elapsed", "few rows") or table in tables()
            )
            if not known:
                raise Problem(
                    f"{where}: `{term.strip()}` is no table, `few TABLE`, `few rows`, `ran SENSOR` or `elapsed`"
                )


def _literal_columns() -> dict[str, tuple[str, tuple[Column, ...]]]:
    return {
        name: (title, tuple(Column(*one) for one in columns))
        for name, (title, columns) in COLUMNS.items()
    }


@cache
def _names() -> frozenset[str]:
    return frozenset({*tables(), *relations()})
