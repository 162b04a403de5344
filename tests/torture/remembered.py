"""What was asked of a recording is not asked again of its copy: of what hangs on files that both have, the answer is the same.

A thinned recording differs from its whole one in a table or two. Each table is known by its files, each relation by its SQL and by those
that it uses, each answer by its question and what that names; so of a copy only what hangs on other files is computed.
"""

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from unittest.mock import patch

import duckdb
import pyarrow.parquet as pq

from iowhy.recordings import Recording
from iowhy.recordings.open_tables import ALONE, OpenTables
from iowhy.recordings.schema import tables
from iowhy.relations import Relations
from iowhy.relations.change_points import with_phases
from iowhy.relations.facts import RecordedFacts, facts_by_rows
from iowhy.relations.narrowed import Narrowed
from iowhy.relations.opened import FEW_ROWS
from iowhy.relations.relation import chosen, named_in
from iowhy.relations.rows import Row, plain

#: What plans a query of few rows no better, and takes longer than to run it.
_USED = frozenset({"filter_pushdown", "filter_pullup", "deliminator", "unnest_rewriter", "join_order", "cte_inlining", "expression_rewriter",
                   "unused_columns", "top_n", "in_clause", "late_materialization", "materialized_cte", "statistics_propagation"})  # fmt: skip
Answer = tuple[list[str], list[Row]]


class Memory:
    """What is known of all copies: tables and relations in one database, answers here."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(":memory:")
        self.connection.execute(f"SET TimeZone = 'UTC'; {ALONE} ATTACH ':memory:' AS known")
        every = self.connection.execute("SELECT name FROM duckdb_optimizers()").fetchall()
        unused = ",".join(name for (name,) in every if name not in _USED)
        self.connection.execute(f"SET disabled_optimizers = '{unused}'")
        self.made: dict[str, bool] = {}
        self.answers: dict[tuple[str, str], Answer] = {}
        #: Whether what is found is of use later: it is of a whole one.
        self.keeps = True
        self._passing: dict[tuple[str, str], Answer] = {}
        self._files: dict[tuple[int, int], tuple[int, str]] = {}
        self._copies = 0

    def file(self, file: Path) -> tuple[int, str]:
        """Rows of a file, by its footer, and what it is."""
        stat = file.stat()
        key = (stat.st_ino, stat.st_mtime_ns)
        if key not in self._files:
            digest = hashlib.sha1(file.read_bytes()).hexdigest()
            self._files[key] = (pq.read_metadata(file).num_rows, digest)
        return self._files[key]

    def answer(self, key: tuple[str, str]) -> Answer | None:
        """What was answered before; None: nothing."""
        return self.answers.get(key) or self._passing.get(key)

    def note(self, key: tuple[str, str], answer: Answer) -> None:
        """Keeps an answer, or has it as long as its copy."""
        (self.answers if self.keeps else self._passing)[key] = answer

    def new_copy(self) -> str:
        """The name of a database in which a copy's names are views of what is known."""
        self._copies += 1
        name = f"copy{self._copies}"
        self.connection.execute(f"ATTACH ':memory:' AS {name}")
        return name

    def forget(self) -> None:
        """What is of one copy alone."""
        self._passing.clear()
        for name in [name for name, kept in self.made.items() if not kept]:
            self.connection.execute(f'DROP TABLE known.main."{name}"')
            del self.made[name]


class Remembered(Relations):
    """Relations that ask the memory first."""

    memory: Memory

    def __init__(self, recording: Recording, narrowed: Narrowed | None = None) -> None:
        super().__init__(recording, narrowed)
        self._known: dict[str, str] = {}
        self._copy: str | None = None

    def close(self) -> None:
        super().close()
        if self._copy is not None:
            self.memory.connection.execute(f"USE memory; DETACH {self._copy}")
            self._copy = None
            self.memory.forget()

    @cached_property
    def facts(self) -> RecordedFacts:
        command = self.recording.manifest.command
        if self._narrowed is not None or command.start_ns is None or command.end_ns is None:
            return super().facts
        try:
            counted = {name: sum(self.memory.file(file)[0] for file in self.recording.files(name)) for name in tables()}  # fmt: skip
        except Exception:  # a file that is cut: the product says which
            return super().facts
        return facts_by_rows(self.recording, {name: rows for name, rows in counted.items() if rows})

    @cached_property
    def _remembers(self) -> bool:
        return self._narrowed is None and sum(self.facts.rows.values()) <= FEW_ROWS and self._opened is None  # fmt: skip

    def _answer(self, sql: str) -> Answer:
        if not self._remembers:
            return super()._answer(sql)
        names = sorted(named_in(sql))
        key = (sql, self._keys(names, sql))
        answer = self.memory.answer(key)
        if answer is None:
            self._bring(names)
            cursor = self._connection().execute(sql)
            columns = [column[0] for column in cursor.description or ()]
            answer = (columns, [tuple(map(plain, row)) for row in cursor.fetchall()])
            self.memory.note(key, answer)
        return answer

    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._copy is None:
            self._copy = self.memory.new_copy()
            self.memory.connection.execute(f"USE {self._copy}")
        return self.memory.connection

    def _key(self, name: str) -> str:
        """What a name stands for: the files of a table, the SQL of a relation and the keys of what it uses."""
        if name not in self._known:
            relation = chosen(name, self.facts)
            if relation is None:
                files = self.recording.files(name.removeprefix("main."))
                said = "".join(self.memory.file(file)[1] for file in files)
            else:
                said = self._body(name)
                said += self._keys(sorted(relation.uses), said)
            self._known[name] = f"{name}-{hashlib.sha1(said.encode()).hexdigest()[:20]}"
        return self._known[name]

    def _keys(self, names: list[str], sql: str) -> str:
        """Those of what SQL names; of the row of facts, the facts that it names."""
        return " ".join(self._facts_in(sql) if name == "recording" else self._key(name) for name in names)  # fmt: skip

    def _facts_in(self, sql: str) -> str:
        words = set(re.findall(r"\w+", sql))
        each = self._body("recording").removeprefix("SELECT ").split(", ")
        return " ".join(one for one in each if one.rpartition(" ")[2] in words)

    def _body(self, name: str) -> str:
        relation = chosen(name, self.facts)
        assert relation is not None
        facts = with_phases(self.facts, self.phases) if name == "phases" else self.facts
        return relation.body(facts)

    def _bring(self, names: list[str]) -> None:
        """Has each name in the copy's database."""
        for name in names:
            plain_name = name.removeprefix("main.")
            if plain_name in self._made:
                continue
            relation = chosen(name, self.facts)
            key = self._key(name)
            if key not in self.memory.made and name != "recording":
                if relation is None:
                    made = self._read(plain_name)
                else:
                    self._bring(sorted(relation.uses))
                    made = self._body(name)
                self._connection().execute(f'CREATE TABLE known.main."{key}" AS {made}')
                self.memory.made[key] = self.memory.keeps
            shown = self._body(name) if name == "recording" else f'FROM known.main."{key}"'
            self._connection().execute(f'CREATE VIEW "{plain_name}" AS {shown}')
            self._made.add(plain_name)

    def _read(self, name: str) -> str:
        files = OpenTables.__new__(OpenTables)
        files.path = self.recording.path
        files._files = {name: [str(file.resolve()) for file in self.recording.files(name)]}
        files.connection = self._connection()
        return files.select(name)


@contextmanager
def remembering() -> Iterator[Memory]:
    """While it is open, what judges recordings asks one memory."""
    memory = Memory()
    kind = type("Kept", (Remembered,), {"memory": memory})
    with patch("iowhy.whys.facts.Relations", kind):
        yield memory
    memory.connection.close()
