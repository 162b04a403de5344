"""The tables and relations of one recording on a connection: each is made when a query first names it."""

from types import TracebackType

import duckdb

from iowhy.recording import Recording
from iowhy.recording.open_tables import OpenTables
from iowhy.relations.compose import each_needed, unqualified
from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.relation import Relation, tables_in
from iowhy.relations.rows import Kind, Row, typed

#: Rows up to which all of a recording fits into memory without a thought. DuckDB plans a query over tables
#: in memory in less time than one over files or views, and of few rows planning is nearly all.
FEW_ROWS = 200_000


class Relations:
    """Queries over a recording's tables and relations, unfiltered.

    What a query names stands as a table or view from then on. Errors are DuckDB's, and a Problem that
    names a file that cannot be read.
    """

    def __init__(self, recording: Recording, opened: OpenTables) -> None:
        self.connection = opened.connection
        self.facts: RecordedFacts = recorded_facts(recording, opened)
        self._opened = opened
        self._few = sum(self.facts.rows.values()) <= FEW_ROWS
        self._made: set[str] = set()

    @classmethod
    def of(cls, recording: Recording) -> "Relations":
        """On a connection of its own; use as a context, which closes it."""
        opened = recording.open_tables()
        try:
            return cls(recording, opened)
        except BaseException:
            opened.close()
            raise

    def __enter__(self) -> "Relations":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._opened.close()

    def size(self, table: str) -> int:
        """Rows of a table of the recording."""
        return self.facts.rows.get(table, 0)

    def has(self, table: str) -> bool:
        """Whether a table of the recording has any row."""
        return self.size(table) > 0

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement; what it names is there."""
        self._need_tables(sql)
        each_needed(sql, self.facts, self._made, self._make)
        return self.connection.execute(unqualified(sql))

    def rows(self, sql: str) -> list[Row]:
        """All rows of a query, which aggregates: a handful."""
        return [tuple(row) for row in self.execute(sql).fetchall()]

    def read(self, kind: type[Kind], sql: str) -> list[Kind]:
        """The rows of a query as dataclasses (see rows.typed)."""
        cursor = self.execute(sql)
        names = [column[0] for column in cursor.description or ()]
        return typed(kind, names, [tuple(row) for row in cursor.fetchall()])

    def one(self, kind: type[Kind], sql: str) -> Kind:
        """The single row of a query as a dataclass."""
        (found,) = self.read(kind, sql)
        return found

    def _need_tables(self, sql: str) -> None:
        self._opened.need(sorted(tables_in(sql)), loaded=self._few)

    def _make(self, relation: Relation, body: str) -> None:
        self._need_tables(body)
        kind = "TABLE" if relation.kept or self._few else "VIEW"
        self.connection.execute(f"CREATE TEMP {kind} {relation.name} AS {body}")
