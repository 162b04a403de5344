"""The tables and relations of one recording on a connection: each is made when a query first names it."""

from collections.abc import Iterable, Iterator
from functools import cached_property, partial
from threading import Thread
from types import TracebackType

from iowhy.recording import Recording
from iowhy.recording.once import Once
from iowhy.recording.open_tables import OpenTables
from iowhy.recording.query_errors import is_out_of_memory
from iowhy.relations.beside import Beside
from iowhy.relations.compose import each_needed
from iowhy.relations.facts import RecordedFacts, recorded_facts
from iowhy.relations.kept import KeptAnswers, kept_answers, nothing_kept
from iowhy.relations.narrowed import Narrowed
from iowhy.relations.relation import Relation, tables_in
from iowhy.relations.rows import Kind, Row, plain, typed

#: Rows up to which all of a recording fits into memory without a thought. DuckDB plans a query over tables
#: in memory in less time than one over files or views, and of few rows planning is nearly all.
FEW_ROWS = 200_000
#: Rows up to which two threads ask. What both take of memory has one bound; of more rows, one query may need all of it.
ROWS_FOR_TWO = 20_000_000


class Relations:
    """Queries over a recording's tables and relations, all of them or those of a part (`narrowed`).

    What a query names stands as a table or view from then on; what was asked before is not run again, and
    without a new question the recording is not even opened. Errors are DuckDB's, and a Problem that names a
    file that cannot be read.
    """

    def __init__(
        self, recording: Recording, kept: KeptAnswers, narrowed: Narrowed | None = None
    ) -> None:
        self.recording = recording
        self._narrowed = narrowed
        self._kept = kept
        self._opened: OpenTables | None = None
        self._opening = Once()
        self._made = Once()
        self._asked = Once()
        self._shared = False
        self._beside: Beside | None = None
        self._ahead: Beside | None = None

    @classmethod
    def of(
        cls, recording: Recording, *, keep: bool = False, narrowed: Narrowed | None = None
    ) -> "Relations":
        """Use as a context, which closes it; `keep` takes and keeps answers in the user's cache."""
        if narrowed is not None:
            return cls(recording, nothing_kept(recording), narrowed)
        return cls(recording, kept_answers(recording) if keep else nothing_kept(recording))

    def __enter__(self) -> "Relations":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connection and keeps what was learnt."""
        for other in (self._ahead, self._beside):
            if other is not None:
                other.end(self._interrupt)
        if self._opened is not None:
            # Whoever has an answer need not wait until its tables are put away.
            Thread(target=self._opened.close).start() if self._shared else self._opened.close()
            self._opened = None
            self._kept.save()

    @cached_property
    def facts(self) -> RecordedFacts:
        """What the recording is to its relations."""
        found = self._kept.find(RecordedFacts.__name__)
        if found is not None:
            return RecordedFacts.of_row(found[1][0])
        facts = self._opening.make(
            RecordedFacts.__name__, partial(recorded_facts, self.recording, self._tables())
        )
        if self._narrowed is not None:
            facts = self._narrowed.facts(facts)
        self._kept.add(RecordedFacts.__name__, *facts.as_row())
        return facts

    def size(self, table: str) -> int:
        """Rows of a table of the recording."""
        return self.facts.rows.get(table, 0)

    def has(self, table: str) -> bool:
        """Whether a table of the recording has any row."""
        return self.size(table) > 0

    def table(self, sql: str) -> tuple[list[str], list[Row]]:
        """The names of a query's columns, and its rows, which are a handful: it aggregates."""
        found = self._kept.find(sql)
        if found is not None:
            return found
        if not self._shared:
            return self._answer(sql)
        try:
            return self._asked.make(sql, partial(self._answer, sql))
        except Exception as error:
            if not is_out_of_memory(error) or not self._end_other():
                raise
        return self._asked.make(sql, partial(self._answer, sql))

    def _end_other(self) -> bool:
        """Whether there was another thread, which may have had the memory; it has ended then."""
        other = self._beside
        if other is None or other.is_here():
            return False
        self._beside = None
        other.end(self._interrupt)
        return True

    def make(self, *names: str) -> None:
        """Makes relations that a question is going to name."""
        self._need(f"SELECT 1 FROM {', '.join(names)}")

    def _need(self, sql: str) -> None:
        self._need_tables(sql)
        each_needed(sql, self.facts, self._made, self._make)

    def _answer(self, sql: str) -> tuple[list[str], list[Row]]:
        self._need(sql)
        cursor = self._tables().connection.execute(sql)
        columns = [column[0] for column in cursor.description or ()]
        rows = [tuple(map(plain, row)) for row in cursor.fetchall()]
        self._kept.add(sql, columns, rows)
        return columns, rows

    def rows(self, sql: str) -> list[Row]:
        """All rows of a query, which aggregates: a handful."""
        return self.table(sql)[1]

    def read(self, kind: type[Kind], sql: str) -> list[Kind]:
        """The rows of a query as dataclasses (see rows.typed)."""
        return typed(kind, *self.table(sql))

    def one(self, kind: type[Kind], sql: str) -> Kind:
        """The single row of a query as a dataclass."""
        (found,) = self.read(kind, sql)
        return found

    def open_ahead(self) -> None:
        """Opens the recording on a thread of its own, where answers are not kept, while the caller does what needs none of it."""
        if not self._kept.answers:
            self._ahead = Beside(self._opens())

    def _opens(self) -> Iterator[object]:
        yield self._tables()
        yield self.facts

    def ask_beside(self, steps: Iterable[object]) -> None:
        """Takes `steps`, which ask what is going to be asked here as well, on a thread of their own.

        Only up to ROWS_FOR_TWO: planning takes one CPU, and much of running does, sorts and windows above all. The
        recording is opened there, whatever its size, while the caller does what needs none of it.
        """
        if not self._kept.answers:
            self._shared = True
            self._beside = Beside(self._if_few(steps))

    def _if_few(self, steps: Iterable[object]) -> Iterator[object]:
        if sum(self.facts.rows.values()) <= ROWS_FOR_TWO:
            yield from steps

    def _interrupt(self) -> None:
        if self._opened is not None:
            self._opened.interrupt_others()

    def _tables(self) -> OpenTables:
        if self._opened is None:
            self._opened = self._opening.make("", partial(self.recording.open_tables, own_sql=True))
        return self._opened

    @cached_property
    def _few(self) -> bool:
        return sum(self.facts.rows.values()) <= FEW_ROWS

    def _need_tables(self, sql: str) -> None:
        opened, narrowed = self._tables(), self._narrowed
        for name in opened.missing(sorted(tables_in(sql))):
            if narrowed is None:
                opened.need([name], loaded=self._few or opened.scattered(name))
            else:
                # What is left is read once.
                opened.need(
                    [name], loaded=True, select=lambda one: narrowed.select(one, opened.select)
                )

    def _make(self, relation: Relation, body: str) -> None:
        self._made.make(relation.name, partial(self._put, relation, body))

    def _put(self, relation: Relation, body: str) -> None:
        self._need_tables(body)
        kind = "TABLE" if relation.kept or self._few else "VIEW"
        self._tables().connection.execute(f"CREATE {kind} {relation.name} AS {body}")
