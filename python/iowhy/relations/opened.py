"""The tables and relations of one recording on a connection: each is made when a query first names it."""

import atexit
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from iowhy.recordings import Recording
from iowhy.recordings.open_tables import OpenTables
from iowhy.relations.change_points import Phase, phases, with_phases
from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.memory_sizes import CALLS, Memory, with_memory_sizes
from iowhy.relations.narrowed import Narrowed
from iowhy.relations.relation import Relation, chosen, named_in
from iowhy.relations.rows import Kind, Row, plain, typed, value

if TYPE_CHECKING:
    import duckdb

#: Rows up to which all of a recording fits into memory without a thought. DuckDB plans a query over tables
#: in memory in less time than one over files or views, and of few rows planning is nearly all.
FEW_ROWS = 200_000
#: Statements as DuckDB parsed them. Nearly all are the same for every recording, and of a small one parsing is a fifth of the time.
_PARSED: dict[str, list["duckdb.Statement"]] = {}
MOST_PARSED = 1000
# DuckDB complains on standard error of those that are left when the interpreter ends.
atexit.register(_PARSED.clear)


class Relations:
    """Queries over a recording's tables and relations, all of them or those of a part (`narrowed`).

    What a query names is as a table or view from then on, and what was asked before is not run again. Errors
    are DuckDB's, and a Problem that names a file that cannot be read.
    """

    def __init__(self, recording: Recording, narrowed: Narrowed | None = None) -> None:
        self.recording = recording
        self._narrowed = narrowed
        self._opened: OpenTables | None = None
        self._made: set[str] = set()
        self._answers: dict[str, tuple[list[str], list[Row]]] = {}

    def __enter__(self) -> "Relations":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    @cached_property
    def facts(self) -> RecordedFacts:
        """What the recording is to its relations."""
        facts = recorded_facts(self.recording, self._tables())
        return facts if self._narrowed is None else self._narrowed.facts(facts)

    @cached_property
    def phases(self) -> tuple[Phase, ...]:
        """Where the time is cut: one phase if it is even, none if neither threads nor devices were timed."""
        facts = self.facts
        return phases(
            self.rows, facts.timed or (facts.elapsed_ns > 0 and facts.has("disk_samples"))
        )

    @cached_property
    def memory(self) -> Memory:
        """What is in memory, by how much there is of it."""
        return Memory(self.rows(CALLS), self.facts.page_bytes)

    def size(self, table: str) -> int:
        """Rows of a table of the recording."""
        return self.facts.rows.get(table, 0)

    def has(self, table: str) -> bool:
        """Whether a table of the recording has any row."""
        return self.size(table) > 0

    @property
    def has_statements(self) -> bool:
        """Whether statements of databases were recorded, by their servers' views or by probes."""
        return self.has("statement_readings") or self.has("statement_calls")

    def table(self, sql: str) -> tuple[list[str], list[Row]]:
        """The names of a query's columns, and its rows, which are a handful: it aggregates."""
        if sql not in self._answers:
            self._answers[sql] = self._answer(sql)
        return self._answers[sql]

    def _need(self, names: Iterable[str]) -> None:
        """Makes tables and relations, those first that others are made of."""
        for name in sorted(names):
            relation = chosen(name, self.facts)
            if relation is None:
                self._need_table(name.removeprefix("main."))
            elif name not in self._made:
                self._need(relation.uses)
                self._put(name, relation)

    def _answer(self, sql: str) -> tuple[list[str], list[Row]]:
        self._need(named_in(sql))
        cursor = self._execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        return columns, [tuple(map(plain, row)) for row in cursor.fetchall()]

    def rows(self, sql: str) -> list[Row]:
        """All rows of a query, which aggregates: a handful."""
        return self.table(sql)[1]

    def read(self, kind: type[Kind], sql: str) -> list[Kind]:
        """The rows of a query as typed records (see rows.typed)."""
        return typed(kind, *self.table(sql))

    def by(self, kind: type[Kind], sql: str, keys: int = 1) -> dict[Row, Kind]:
        """The rows of a query as typed records, by their first columns."""
        names, rows = self.table(sql)
        records = typed(kind, names[keys:], [row[keys:] for row in rows])
        return {row[:keys]: record for row, record in zip(rows, records, strict=True)}

    def one(self, kind: type[Kind], *queries: str, **known: object) -> Kind:
        """A typed record of what is known and of the single rows of queries."""
        columns, values = list(known), list(known.values())
        for sql in queries:
            names, (row,) = self.table(sql)
            columns += names
            values += row
        (found,) = typed(kind, columns, [tuple(values)])
        return found

    def first(self, kind: type[Kind], sql: str) -> Kind | None:
        """The first row of a query as a typed record; None if there is none."""
        return next(iter(self.read(kind, sql)), None)

    def values(self, kind: type[Kind], sql: str) -> list[Kind]:
        """The rows of a query of one column."""
        return [value(found, (kind,), "the query") for (found,) in self.rows(sql)]

    def value(self, kind: type[Kind], sql: str) -> Kind | None:
        """The one value of a query; None for NULL, and for no row."""
        ((found,), *_) = self.rows(sql) or [(None,)]
        return None if found is None else value(found, (kind,), "the query")

    def _tables(self) -> OpenTables:
        if self._opened is None:
            self._opened = self.recording.open_tables()
        return self._opened

    @cached_property
    def _few(self) -> bool:
        return sum(self.facts.rows.values()) <= FEW_ROWS

    def _need_table(self, name: str) -> None:
        opened, narrowed = self._tables(), self._narrowed
        if not opened.missing([name]):
            return
        if narrowed is None:
            opened.need([name], loaded=self._few or opened.scattered(name))
        else:
            # What is left is read once.
            opened.need([name], loaded=True, select=lambda one: narrowed.select(one, opened.select))

    def _put(self, name: str, relation: Relation) -> None:
        # What is known of a recording is a view: what it rules out is not even planned.
        kept = relation.kept or (self._few and name != "recording")
        kind = "TABLE" if kept else "VIEW"
        facts = self.facts
        if name == "phases":
            facts = with_phases(facts, self.phases)
        if name == "memory_sizes":
            facts = with_memory_sizes(facts, self.memory)
        self._execute(f"CREATE {kind} {name} AS {relation.body(facts)}")
        self._made.add(name)

    def _execute(self, sql: str) -> "duckdb.DuckDBPyConnection":
        connection = self._tables().connection
        if sql not in _PARSED:
            if len(_PARSED) >= MOST_PARSED:
                _PARSED.clear()
            _PARSED[sql] = connection.extract_statements(sql)
        for statement in _PARSED[sql]:
            connection.execute(statement)
        return connection
