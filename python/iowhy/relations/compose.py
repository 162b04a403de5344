"""Puts what an SQL text names in front of it, as common table expressions."""

import re
from collections.abc import Callable, Container
from typing import Protocol

from iowhy.errors import Problem
from iowhy.recordings.schema import tables
from iowhy.relations.facts import RecordedFacts
from iowhy.relations.relation import Relation, named_in, relations

WHOLE = "whole_"  # before the name of a relation as recorded, where filters apply to it


class Selection(Protocol):
    """What filters leave of a recording."""

    def where(self, table: str) -> str | None:
        """The SQL condition for the rows of a table, None when nothing is filtered."""

    def chosen_files(self) -> str | None:
        """SQL for `chosen_files(dev, ino)`, None when files are not filtered."""


class Everything:
    """The selection that leaves all."""

    def where(self, _table: str) -> str | None:
        """Nothing is filtered."""
        return None

    def chosen_files(self) -> str | None:
        """Files are not filtered."""
        return None


def compose(
    sql: str,
    facts: RecordedFacts,
    selection: Selection,
    only: tuple[str, str] | None = None,
) -> str:
    """The whole statement in DuckDB's dialect; `only`: of a relation as recorded, no more than the rows for which a
    condition holds. Raises Problem for relations in a circle.
    """
    if filters(selection):
        facts = facts.without_sums()
    chosen = selection.chosen_files()
    front: dict[str, tuple[str, bool]] = {}
    if chosen is not None:
        front["chosen_files"] = (chosen, True)
    sql = _Front(facts, selection, front, only).of(sql, whole=False, within=())
    if not front:
        return sql
    # Not materialised: a filter then reaches down to the columns and rows that are read.
    parts = [
        f"{name} AS {'' if kept else 'NOT MATERIALIZED '}(\n{body}\n)"
        for name, (body, kept) in front.items()
    ]
    own = re.match(r"\s*with\s+(recursive\s+)?", sql, re.IGNORECASE)
    head = "WITH RECURSIVE " if own and own[1] else "WITH "
    tail = ", " + sql[own.end() :] if own else "\n" + sql
    return head + ", ".join(parts) + tail


def filters(selection: Selection) -> bool:
    """Whether a selection leaves rows out."""
    return any(selection.where(table) is not None for table in tables())


def each_needed(
    sql: str,
    facts: RecordedFacts,
    made: Container[str],
    make: Callable[[Relation, str], None],
    within: tuple[str, ...] = (),
) -> None:
    """Calls `make(relation, body)` for what an unfiltered SQL text names, dependencies first.

    `made` are the names of those that are there, to which `make` adds.
    """
    for word in sorted(named_in(sql)):
        name = word.removeprefix("main.")
        relation = relations().get(name)
        if relation is None:
            continue
        _no_circle(name, within)
        if name in made:
            continue
        body = relation.body(facts)
        each_needed(body, facts, made, make, (*within, name))
        make(relation, body)


class _Front:
    """Collects the common table expressions of one statement."""

    def __init__(
        self,
        facts: RecordedFacts,
        selection: Selection,
        front: dict[str, tuple[str, bool]],
        only: tuple[str, str] | None,
    ) -> None:
        self.facts = facts
        self.selection = selection
        self.front = front
        self.only = only

    def of(self, sql: str, whole: bool, within: tuple[str, ...]) -> str:
        """The SQL with its names as they stand in front; `whole` makes all of them as recorded."""
        new: dict[str, str] = {}
        old: dict[str, str] = {}
        for word in sorted(named_in(sql)):
            name = word.removeprefix("main.")
            (new if word == name else old)[name] = self._name(
                name, whole or word != name, (*within, name), within
            )
        return _renamed(_renamed(sql, old), new, qualified=False)

    def _name(self, name: str, whole: bool, path: tuple[str, ...], within: tuple[str, ...]) -> str:
        relation = relations().get(name)
        if relation is None:
            where = self.selection.where(name)
            if whole or where is None:
                return f"main.{name}" if whole else name
            self.front.setdefault(name, (f"SELECT * FROM main.{name} WHERE {where}", False))
            return name
        _no_circle(name, within)
        table = relation.filtered_as
        where = None if table in ("", "nothing") else self.selection.where(table)
        if table == "" and whole and filters(self.selection):
            return self._put(WHOLE + name, relation, path, whole=True)
        if where is None:
            return self._put(name, relation, path, whole=table != "")
        entire = self._put(WHOLE + name, relation, path, whole=True)
        if whole:
            return entire
        self.front.setdefault(name, (f"SELECT * FROM {entire} WHERE {where}", relation.kept))
        return name

    def _put(self, name: str, relation: Relation, path: tuple[str, ...], whole: bool) -> str:
        if name not in self.front:
            body = self.of(relation.body(self.facts), whole and filters(self.selection), path)
            if self.only is not None and relation.name == self.only[0]:
                body = f"SELECT * FROM (\n{body}\n) AS every WHERE {self.only[1]}"
            self.front[name] = (body, relation.kept)
        return name


def _renamed(sql: str, names: dict[str, str], qualified: bool = True) -> str:
    """The SQL with `main.NAME` (or plain NAME) put as `names` says."""
    for name, new in names.items():
        before = r"(?<![\w.\"])main\." if qualified else r"(?<![\w.\"])"
        if not qualified and new == name:
            continue
        sql = re.sub(rf"{before}{name}(?![\w\"])", new, sql)
    return sql


def _no_circle(name: str, within: tuple[str, ...]) -> None:
    if name in within:
        raise Problem(f"relations need each other in a circle: {' → '.join((*within, name))}")
