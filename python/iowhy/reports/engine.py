"""Run a report over a recording: DuckDB here, the same statement on Spark for fleets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from iowhy.errors import Problem
from iowhy.invocation import quoted
from iowhy.recording import Recording
from iowhy.recording.open_tables import OpenTables
from iowhy.recording.schema import tables
from iowhy.relations import RecordedFacts, Relations, recorded_facts
from iowhy.relations.compose import Everything, compose
from iowhy.relations.relation import tables_in
from iowhy.reports.filters import Filters, resolve
from iowhy.reports.report import Report, find
from iowhy.reports.sql_errors import first_line

if TYPE_CHECKING:  # slow to import, and not needed for a handful of rows
    import duckdb
    import pyarrow as pa

Row = dict[str, object]


def run(rec: Recording, name: str | Report, filters: Filters | None = None) -> "pa.Table":
    """The rows of a report over the chosen part of a recording.

    Whole numbers are int64, shares and means float64; unknown is null. Raises Problem for a report
    that does not exist, a filter that does not apply, SQL that does not run, a damaged recording.
    """
    return run_all(rec, [name], filters)[0]


def run_all(
    rec: Recording, names: Sequence[str | Report], filters: Filters | None = None
) -> "list[pa.Table]":
    """As `run`, for several reports: the recording is opened once."""
    found = [name if isinstance(name, Report) else find(name) for name in names]
    filters = filters or Filters()
    with rec.opened() as opened:
        facts = recorded_facts(rec, opened)
        asked = [(_statement(rec, report, filters, facts), report.where) for report in found]
        if filters.file is not None:
            _must_match(rec, filters, opened, facts)
        if filters.pids:
            _must_have_run(rec, filters, opened)
        return [_table(opened, sql, where) for sql, where in asked]


def rows_all(relations: Relations, names: Sequence[str]) -> list[list[Row]]:
    """The rows of several reports as dictionaries, without pyarrow: for the few that a page shows.

    Raises DuckDB's errors.
    """
    found: list[list[Row]] = []
    for report in map(find, names):
        columns, rows = relations.table(report.sql)
        found.append([dict(zip(columns, row, strict=True)) for row in rows])
    return found


def query(rec: Recording, sql: str) -> "pa.Table":
    """The rows of one SELECT over the tables and relations of a recording.

    Raises Problem for anything but one statement that reads, and for SQL that does not run.
    """
    sql = sql.strip().rstrip(";").rstrip()
    with rec.opened() as opened:
        opened.need(tables())  # what shows the tables that there are shows all of them
        return _table(opened, compose(sql, recorded_facts(rec, opened), Everything()), "SQL")


def statement(rec: Recording, name: str | Report, filters: Filters | None = None) -> str:
    """The whole SQL of a report: what `run` executes."""
    report = name if isinstance(name, Report) else find(name)
    with rec.opened() as opened:
        return _statement(rec, report, filters or Filters(), recorded_facts(rec, opened))


def spark_statements(
    rec: Recording, name: str | Report, filters: Filters | None = None
) -> list[str]:
    """The same for Spark: statements to run one after the other, of which the last gives the rows.

    The recording's tables must be there as (temporary) views of their names; the relations that are to be
    kept become tables of the current schema.
    """
    from iowhy.reports.spark import to_spark

    report = name if isinstance(name, Report) else find(name)
    return to_spark(statement(rec, report, filters), report.where)


def plain(table: "pa.Table") -> "pa.Table":
    """DuckDB sums whole numbers as 128-bit decimals: 64 bits again, which the tables had.

    Those that do not fit, and decimals with a fraction, become float64.
    """
    import pyarrow as pa

    columns = [_plain(column) for column in table.columns]
    return pa.table(columns, names=table.column_names)


def _plain(column: "pa.ChunkedArray") -> "pa.ChunkedArray":
    import pyarrow as pa

    if not pa.types.is_decimal(column.type):
        return column
    if column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    return column.cast(pa.float64())


def _table(opened: OpenTables, sql: str, where: str) -> "pa.Table":
    opened.need(tables_in(sql))
    with _named(where):
        return plain(_select(opened.connection, sql, where).to_arrow_table())


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Errors of SQL are Problems that name it; damage is the recording's to name."""
    import duckdb

    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException, duckdb.OutOfMemoryException):
        raise
    except duckdb.Error as error:
        raise Problem(f"{where}: {first_line(error)}") from None


def _select(
    connection: "duckdb.DuckDBPyConnection", sql: str, where: str
) -> "duckdb.DuckDBPyRelation":
    """One statement that only reads.

    The connection may open the recording's own files, also for writing: so nothing that writes may
    get there.
    """
    import duckdb

    statements = connection.extract_statements(sql)
    kinds = {statement.type for statement in statements}
    # Not EXPLAIN either: EXPLAIN ANALYZE runs what it explains.
    if len(statements) != 1 or kinds != {duckdb.StatementType.SELECT}:
        raise Problem(f"{where}: give one SELECT (or DESCRIBE); nothing can be changed")
    relation = connection.sql(sql)
    if relation is None:
        raise Problem(f"{where}: this SQL returns no rows; give a SELECT")
    return relation


def _statement(rec: Recording, report: Report, filters: Filters, facts: RecordedFacts) -> str:
    for name in filters.given():
        if name not in report.filters:
            able = ", ".join(f"--{word}" for word in report.filters) or "no filter"
            raise Problem(f"--{name} does not apply to the report {report.name}; it takes {able}")
    selection = resolve(filters, rec.manifest, facts)
    return compose(report.sql, selection.facts(facts), selection)


def _must_match(rec: Recording, filters: Filters, opened: OpenTables, facts: RecordedFacts) -> None:
    like = resolve(Filters(file=filters.file), rec.manifest, facts).chosen_files()
    assert like is not None
    opened.need(tables_in(like))
    counted = opened.connection.execute(f"SELECT count(*) FROM ({like}) AS c").fetchall()
    if counted[0][0] == 0:
        raise Problem(
            f"--file {filters.file}: no file of the recording matches; "
            f"`iowhy report files {quoted(str(rec.path))}` lists them"
        )


def _must_have_run(rec: Recording, filters: Filters, opened: OpenTables) -> None:
    seen = " UNION ".join(
        f"SELECT {column.name} AS id FROM main.{table.name}"
        for table in tables().values()
        for column in table.columns
        if column.name in ("tgid", "tid")
    )
    opened.need(tables_in(seen))
    known = {row[0] for row in opened.connection.execute(seen).fetchall()}
    for pid in filters.pids:
        if pid not in known:
            raise Problem(
                f"--pid {pid}: no process or thread of the recording; "
                f"`iowhy report threads {quoted(str(rec.path))}` lists them"
            )
