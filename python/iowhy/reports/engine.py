"""Run a report over a recording: DuckDB here, the same statement on Spark for fleets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb

from iowhy.errors import Problem
from iowhy.recording import Recording
from iowhy.recording.schema import tables
from iowhy.relations import recorded_facts
from iowhy.relations.compose import Everything, compose
from iowhy.reports.filters import Filters, resolve
from iowhy.reports.report import Report, find
from iowhy.reports.sql_errors import first_line

if TYPE_CHECKING:  # slow to import, and not needed for a handful of rows
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
    with rec.connected() as connection:
        asked = [(_statement(rec, report, filters, connection), report.where) for report in found]
        if filters.file is not None:
            _must_match(rec, filters, connection)
        if filters.pids:
            _must_have_run(rec, filters, connection)
        return [_table(connection, sql, where) for sql, where in asked]


def rows_all(
    rec: Recording, names: Sequence[str], connection: duckdb.DuckDBPyConnection
) -> list[list[Row]]:
    """The rows of several reports as dictionaries, without pyarrow: for the few that a page shows."""
    found = [find(name) for name in names]
    asked = [(_statement(rec, one, Filters(), connection), one.where) for one in found]
    return [_rows(connection, sql, where) for sql, where in asked]


def query(rec: Recording, sql: str) -> "pa.Table":
    """The rows of one SELECT over the tables and relations of a recording.

    Raises Problem for anything but one statement that reads, and for SQL that does not run.
    """
    sql = sql.strip().rstrip(";").rstrip()
    with rec.connected() as connection:
        return _table(
            connection, compose(sql, recorded_facts(rec, connection), Everything()), "SQL"
        )


def statement(rec: Recording, name: str | Report, filters: Filters | None = None) -> str:
    """The whole SQL of a report: what `run` executes."""
    report = name if isinstance(name, Report) else find(name)
    with rec.connected() as connection:
        return _statement(rec, report, filters or Filters(), connection)


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


def _table(connection: duckdb.DuckDBPyConnection, sql: str, where: str) -> "pa.Table":
    with _named(where):
        return plain(_select(connection, sql, where).to_arrow_table())


def _rows(connection: duckdb.DuckDBPyConnection, sql: str, where: str) -> list[Row]:
    with _named(where):
        relation = _select(connection, sql, where)
        names = relation.columns
        return [dict(zip(names, map(_number, row), strict=True)) for row in relation.fetchall()]


def _number(value: object) -> object:
    """As `plain` does it, of one value."""
    if not isinstance(value, Decimal):
        return value
    whole = value.as_tuple().exponent == 0 and abs(value) < 2**63
    return int(value) if whole else float(value)


@contextmanager
def _named(where: str) -> Iterator[None]:
    """Errors of SQL are Problems that name it; damage is the recording's to name."""
    try:
        yield
    except (duckdb.IOException, duckdb.InvalidInputException):
        raise
    except duckdb.Error as error:
        raise Problem(f"{where}: {first_line(error)}") from None


def _select(connection: duckdb.DuckDBPyConnection, sql: str, where: str) -> duckdb.DuckDBPyRelation:
    """One statement that only reads.

    The connection may open the recording's own files, also for writing: so nothing that writes may
    get there.
    """
    statements = connection.extract_statements(sql)
    kinds = {statement.type for statement in statements}
    # Not EXPLAIN either: EXPLAIN ANALYZE runs what it explains.
    if len(statements) != 1 or kinds != {duckdb.StatementType.SELECT}:
        raise Problem(f"{where}: give one SELECT (or DESCRIBE); nothing can be changed")
    relation = connection.sql(sql)
    if relation is None:
        raise Problem(f"{where}: this SQL returns no rows; give a SELECT")
    return relation


def _statement(
    rec: Recording, report: Report, filters: Filters, connection: duckdb.DuckDBPyConnection
) -> str:
    for name in filters.given():
        if name not in report.filters:
            able = ", ".join(f"--{word}" for word in report.filters) or "no filter"
            raise Problem(f"--{name} does not apply to the report {report.name}; it takes {able}")
    facts = recorded_facts(rec, connection)
    selection = resolve(filters, rec.manifest, facts)
    return compose(report.sql, selection.facts(facts), selection)


def _must_match(rec: Recording, filters: Filters, connection: duckdb.DuckDBPyConnection) -> None:
    like = resolve(
        Filters(file=filters.file), rec.manifest, recorded_facts(rec, connection)
    ).chosen_files()
    if connection.execute(f"SELECT count(*) FROM ({like}) AS c").fetchall()[0][0] == 0:
        raise Problem(
            f"--file {filters.file}: no file of the recording matches; "
            f"`iowhy report files {rec.path}` lists them"
        )


def _must_have_run(rec: Recording, filters: Filters, connection: duckdb.DuckDBPyConnection) -> None:
    seen = " UNION ".join(
        f"SELECT {column.name} AS id FROM main.{table.name}"
        for table in tables().values()
        for column in table.columns
        if column.name in ("tgid", "tid")
    )
    known = {row[0] for row in connection.execute(seen).fetchall()}
    for pid in filters.pids:
        if pid not in known:
            raise Problem(
                f"--pid {pid}: no process or thread of the recording; "
                f"`iowhy report threads {rec.path}` lists them"
            )
