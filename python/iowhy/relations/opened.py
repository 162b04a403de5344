"""The relations of one recording on a connection: each is made when a query first names it."""

from types import TracebackType

import duckdb

from iowhy.recording import Recording
from iowhy.relations.compose import each_needed, unqualified
from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.relation import Relation
from iowhy.relations.rows import Kind, Row, typed


class Relations:
    """Queries over a recording's tables and relations, unfiltered.

    What a query names stands as a temporary table or view from then on. Errors are DuckDB's.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection, facts: RecordedFacts) -> None:
        self.connection = connection
        self.facts = facts
        self._made: set[str] = set()

    @classmethod
    def of(cls, recording: Recording) -> "Relations":
        """On a connection of its own; use as a context, which closes it."""
        connection = recording.connection()
        try:
            return cls(connection, recorded_facts(recording, connection))
        except BaseException:
            connection.close()
            raise

    def __enter__(self) -> "Relations":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.connection.close()

    def size(self, table: str) -> int:
        """Rows of a table of the recording."""
        return self.facts.rows.get(table, 0)

    def has(self, table: str) -> bool:
        """Whether a table of the recording has any row."""
        return self.size(table) > 0

    def execute(self, sql: str) -> duckdb.DuckDBPyConnection:
        """Run one statement; what it names is there."""
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

    def _make(self, relation: Relation, body: str) -> None:
        what = "TABLE" if relation.kept else "VIEW"
        self.connection.execute(f"CREATE TEMP {what} {relation.name} AS {body}")
