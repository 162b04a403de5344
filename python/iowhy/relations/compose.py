"""Puts what an SQL text names in front of it, as common table expressions."""

import re
from collections.abc import Iterable
from typing import Protocol

from iowhy.recordings.schema import tables
from iowhy.relations.facts import RecordedFacts
from iowhy.relations.relation import Relation, chosen, named_in, relations

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
    condition holds.

    A filtered table is a view of its name over `main.NAME`. What reads a recording as it is has views of its own in front, in
    which these names are the recorded ones: no text is changed.
    """
    front = _Front(facts, selection, only)
    chosen_files = selection.chosen_files()
    if chosen_files is not None:
        front.made["chosen_files"] = (chosen_files, True)
    front.need(named_in(sql), whole=False)
    # Not materialised: a filter then reaches down to the columns and rows that are read.
    return _with(
        (
            f"{name} AS {'' if kept else 'NOT MATERIALIZED '}(\n{body}\n)"
            for name, (body, kept) in front.made.items()
        ),
        sql,
    )


def _with(definitions: Iterable[str], sql: str) -> str:
    """A statement with definitions before its own."""
    front = ", ".join(definitions)
    if not front:
        return sql
    own = re.match(r"\s*with\s+(recursive\s+)?", sql, re.IGNORECASE)
    head = "WITH RECURSIVE " if own and own[1] else "WITH "
    return head + front + (", " + sql[own.end() :] if own else "\n" + sql)


class _Front:
    """Collects the common table expressions of one statement: `made` are their bodies by name, and which are kept."""

    def __init__(
        self, facts: RecordedFacts, selection: Selection, only: tuple[str, str] | None
    ) -> None:
        self.selection = selection
        self.only = only
        self.made: dict[str, tuple[str, bool]] = {}
        self.filters = any(selection.where(table) is not None for table in tables())
        self._whole = facts
        # Sums are of a whole recording.
        self._left = facts.without_sums() if self.filters else facts

    def need(self, names: Iterable[str], whole: bool) -> dict[str, str]:
        """Makes what is named; of a text about the whole recording, the names that mean something else there."""
        other: dict[str, str] = {}
        for name in sorted(names):
            if name.startswith("main."):
                continue
            stands = self._relation(name, whole) or self._table(name, whole)
            if stands != name:
                other[name] = stands
        return other

    def _table(self, name: str, whole: bool) -> str:
        where = self.selection.where(name) if name in tables() else None
        if where is None and not (self.filters and name in relations()):
            return name
        if whole:
            return f"main.{name}"
        condition = "" if where is None else f" WHERE {where}"
        self.made.setdefault(name, (f"SELECT * FROM main.{name}{condition}", False))
        return name

    def _relation(self, name: str, whole: bool) -> str | None:
        """The name under which a relation is; None for a table."""
        table = self._filtered_as(name)
        entire = whole or table != ""
        relation = chosen(name, self._whole if entire else self._left)
        if relation is None:
            return None
        where = None if table in ("", "nothing") else self.selection.where(table)
        differs = self.filters if table == "" else where is not None
        if not differs or (table == "" and not whole):
            return self._put(name, relation, entire and self.filters)
        stands = self._put(WHOLE + name, relation, whole=True)
        if whole:
            return stands
        self.made.setdefault(name, (f"SELECT * FROM {stands} WHERE {where}", relation.kept))
        return name

    def _filtered_as(self, name: str) -> str:
        relation = chosen(name, self._left)
        return "" if relation is None else relation.filtered_as

    def _put(self, name: str, relation: Relation, whole: bool) -> str:
        if name not in self.made:
            other = self.need(relation.uses, whole)
            body = _with(
                (
                    f"{one} AS NOT MATERIALIZED (SELECT * FROM {stands})"
                    for one, stands in other.items()
                ),
                relation.body(self._whole),
            )
            if self.only is not None and relation.name == self.only[0]:
                body = f"SELECT * FROM (\n{body}\n) AS every WHERE {self.only[1]}"
            self.made[name] = (body, relation.kept)
        return name
