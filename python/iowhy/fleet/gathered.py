"""A report's rows of many recordings, in DuckDB: some recordings at a time, each statement over all of those.

The rows go into Parquet files of a private directory, one for each statement, so that the memory is bounded whatever
the fleet's size. A recording that cannot be read is found by halves and left out.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from iowhy.errors import Problem
from iowhy.fleet.members import (
    MOST_ROWS_TOGETHER,
    MOST_TOGETHER,
    LeftOut,
    Member,
    by_facts,
    opened,
)
from iowhy.fleet.sql_parts import RECORDINGS
from iowhy.fleet.statement import FleetSelection, needed, row_of, statement_of
from iowhy.fleet.table_files import TableFiles, table_files, table_sql
from iowhy.recordings.open_tables import file_sizes, reading
from iowhy.recordings.query_errors import is_query_error
from iowhy.recordings.query_limits import private_folder
from iowhy.recordings.schema import tables
from iowhy.recordings.sizes import FileSize, must_be_bounded
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import RecordedFacts, recorded_facts
from iowhy.relations.facts import facts_by_rows
from iowhy.reports.filters import Filters, Selection, resolve
from iowhy.reports.sql_errors import first_line

if TYPE_CHECKING:  # slow to import
    from sqlglot import exp

Found = tuple[Member, RecordedFacts, Selection]


class Asked(Struct, frozen=True):
    """One SQL text over each recording; `where` names it in messages."""

    sql: str
    where: str
    filters: Filters


class Gathering:
    """Rows of several SQL texts, gathered in one pass over the recordings; `parts` are where they are."""

    most_together, most_rows = MOST_TOGETHER, MOST_ROWS_TOGETHER
    #: Whether rows are read here, and not where they are stored.
    outline = False

    def __init__(self, asked: Mapping[str, Asked], left_out: LeftOut) -> None:
        self.asked = asked
        self.left_out = left_out
        self.parts: dict[str, list[Path]] = {name: [] for name in asked}
        self.members: list[Mapping[str, object]] = []
        self._numbers = count()
        above = private_folder()
        if above is None:
            raise Problem("no-directory-to-gather")
        self.folder = above / f"fleet-{os.urandom(4).hex()}"
        self.folder.mkdir(mode=0o700)

    def gather(self, paths: Sequence[Path]) -> None:
        """Reads the recordings; what cannot be read is left out. Raises Problem for SQL that does not run."""
        for together in opened(paths, self.left_out, self.most_together, self.outline):
            self._some(together)

    def _some(self, members: list[Member]) -> None:
        parts: list[tuple[str, Path]] = []
        try:
            for name, asked in self.asked.items():
                parts += [(name, part) for part in self._ask(asked, members)]
        except Exception as error:
            if self.of_the_query(error):
                raise Problem("gathering-failed", name=name, error=first_line(error)) from None
            if not isinstance(error, Problem) and not self.of_a_recording(error):
                raise
            for _, part in parts:
                part.unlink(missing_ok=True)
            if len(members) == 1:
                self.left_out.add(members[0].path, error)
                return
            half = len(members) // 2
            self._some(members[:half])
            self._some(members[half:])
            return
        for name, part in parts:
            self.parts[name].append(part)
        self.members += [member.columns() for member in members]

    def _ask(self, asked: Asked, members: list[Member]) -> list[Path]:
        names, depends = needed(asked.sql, bool(asked.filters.given()))
        lies = table_files(members, names)
        found = _measured(members, lies, asked.filters, self.most_rows)
        parts = []
        for group in by_facts([(one, s.facts(f)) for one, f, s in found], depends):
            numbers = {member.number for member, _ in group}
            mine = [one for one in found if one[0].number in numbers]
            part = self.folder / f"{next(self._numbers):06}.parquet"
            self.write(asked, mine, {name: lies[name].of(numbers) for name in names}, part)
            parts.append(part)
        self.left_out.not_whole.update(one.path for one, facts, _ in found if facts.mismatches)
        return parts

    def write(
        self,
        asked: Asked,
        group: list[Found],
        lies: Mapping[str, TableFiles],
        part: Path,
    ) -> None:
        """Writes the rows of some recordings of which names mean the same into a new part."""
        sql = statement_for(asked, group).sql("duckdb")
        every = [file for one in lies.values() for file in one.files()]
        # What may be read may be written: nothing but this writes there.
        with closing(reading([*every, str(part)])) as connection:
            rows = [row_of(member.number, facts, chosen) for member, facts, chosen in group]
            connection.execute(f"CREATE TABLE {RECORDINGS} AS {' UNION ALL '.join(rows)}")
            for name, one in lies.items():
                rows_of = table_sql(connection, tables()[name], one)
                connection.execute(f"CREATE VIEW {name} AS {rows_of}")
            columns = connection.execute(f"DESCRIBE {sql}").fetchall()
            # Sums are 128 bits, which Parquet has as a decimal only.
            wide = [
                f'CAST("{c[0]}" AS DECIMAL(38, 0)) AS "{c[0]}"'
                for c in columns
                if c[1] == "HUGEINT"
            ]
            replaced = f" REPLACE ({', '.join(wide)})" if wide else ""
            connection.execute(
                f"COPY (SELECT *{replaced} FROM ({sql}) AS r) TO {text_literal(str(part))} (FORMAT parquet)"
            )

    def of_the_query(self, error: Exception) -> bool:
        """Whether the SQL is to blame, and not a recording."""
        import duckdb

        return isinstance(
            error, duckdb.BinderException | duckdb.CatalogException | duckdb.ParserException
        )

    def of_a_recording(self, error: Exception) -> bool:
        """Whether a recording may be to blame: damage, or more than the memory holds."""
        return is_query_error(error)


def statement_for(asked: Asked, group: list[Found]) -> "exp.Expression":
    """The statement over recordings of which names mean the same."""
    _, facts, chosen = group[0]
    return statement_of(asked.sql, asked.where, chosen.facts(facts), FleetSelection(chosen))


def _measured(
    members: Sequence[Member], lies: Mapping[str, TableFiles], filters: Filters, most_rows: int
) -> list[Found]:
    """The members with their facts, by the footers of their files. Raises Problem for what is too much to read at once."""
    every = {file: (number, name) for name, one in lies.items() for file, number in one.own.items()}
    rows: dict[int, dict[str, int]] = {member.number: {} for member in members}
    own: dict[int, list[FileSize]] = {}
    for size in _sizes(list(every)):
        number, name = every[size.file]
        own.setdefault(number, []).append(size)
        if size.rows:
            rows[number][name] = rows[number].get(name, 0) + size.rows
    for found in own.values():
        must_be_bounded(found)
    _packs_must_be_bounded(lies)
    for member in members:
        if member.entry is not None:
            rows[member.number] = {n: c for n, c in member.entry.rows.items() if n in lies}
    if len(members) > 1 and sum(sum(one.values()) for one in rows.values()) > most_rows:
        raise Problem("too-many-rows-read")
    measured = []
    for member in members:
        command = member.recording.manifest.command
        if command.start_ns is None or command.end_ns is None:
            with member.alone() as recording, recording.opened() as tables_of:
                facts = recorded_facts(recording, tables_of)
        else:
            facts = facts_by_rows(member.recording, rows[member.number], of=lies)
        measured.append((member, facts, resolve(filters, member.recording.manifest, facts)))
    return measured


def _packs_must_be_bounded(lies: Mapping[str, TableFiles]) -> None:
    """The files of each pack as those of one recording. Raises Problem."""
    sizes: dict[str, list[FileSize]] = {}
    for size in _sizes([file for one in lies.values() for file in one.shared]):
        sizes.setdefault(str(Path(size.file).parents[1]), []).append(size)
    for found in sizes.values():
        must_be_bounded(found)


def _sizes(files: list[str]) -> list[FileSize]:
    if not files:
        return []
    with closing(reading(files)) as connection:
        return file_sizes(connection, files)
