"""Run a report over a recording: DuckDB here, the same statement on Spark for fleets."""

from collections.abc import Sequence

import duckdb
import pyarrow as pa
import sqlglot
from sqlglot import exp

from iowhy.errors import Problem
from iowhy.recording import Recording
from iowhy.recording.schema import tables
from iowhy.relations import recorded_facts
from iowhy.relations.compose import Everything, compose
from iowhy.reports.filters import Filters, resolve
from iowhy.reports.report import Report, find


def run(rec: Recording, name: str | Report, filters: Filters | None = None) -> pa.Table:
    """The rows of a report over the chosen part of a recording.

    Whole numbers are int64, shares and means float64; unknown is null. Raises Problem for a report
    that does not exist, a filter that does not apply, SQL that does not run, a damaged recording.
    """
    return run_all(rec, [name], filters)[0]


def run_all(
    rec: Recording, names: Sequence[str | Report], filters: Filters | None = None
) -> list[pa.Table]:
    """As `run`, for several reports: the recording is opened once."""
    found = [name if isinstance(name, Report) else find(name) for name in names]
    filters = filters or Filters()
    with rec.connected() as connection:
        asked = [(_statement(rec, report, filters, connection), report.where) for report in found]
        if filters.file is not None:
            _must_match(rec, filters, connection)
        if filters.pids:
            _must_have_run(rec, filters, connection)
        return [_select(connection, sql, where) for sql, where in asked]


def query(rec: Recording, sql: str) -> pa.Table:
    """The rows of one SELECT over the tables and relations of a recording.

    Raises Problem for anything but one statement that reads, and for SQL that does not run.
    """
    sql = sql.strip().rstrip(";").rstrip()
    with rec.connected() as connection:
        return _select(
            connection, compose(sql, recorded_facts(rec, connection), Everything()), "SQL"
        )


def statement(
    rec: Recording, name: str | Report, filters: Filters | None = None, dialect: str = "duckdb"
) -> str:
    """The whole SQL of a report: what `run` executes, or the same for Spark.

    For Spark, the recording's tables must be there as (temporary) views of their names.
    """
    report = name if isinstance(name, Report) else find(name)
    with rec.connected() as connection:
        sql = _statement(rec, report, filters or Filters(), connection)
    return to_spark(sql, report.where) if dialect == "spark" else sql


def to_spark(sql: str, where: str = "the report") -> str:
    """DuckDB's SQL as Spark's. Raises Problem where it cannot be said there."""
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.ParseError as error:
        raise Problem(f"{where}: cannot be put into Spark's SQL: {_first(error)}") from None
    for outer in tree.ctes:
        _own_names(outer)
    for table in tree.find_all(exp.Table):
        if table.db == "main":
            table.set("db", None)
    for cte in tree.find_all(exp.CTE):
        cte.set("materialized", None)
    # Spark's PERCENTILE is DuckDB's quantile_cont; its PERCENTILE_CONT takes another form.
    tree = tree.transform(
        lambda node: (
            exp.Quantile(this=node.this, quantile=node.expression)
            if isinstance(node, exp.PercentileCont) and node.expression is not None
            else node
        )
    )
    return str(tree.sql(dialect="spark", pretty=True))


def _own_names(outer: exp.CTE) -> None:
    """Give what a relation defines for itself names that no other one has: for Spark, sqlglot puts
    all definitions of a statement side by side."""
    names = {inner.alias: f"{outer.alias}_{inner.alias}" for inner in outer.this.ctes}
    for inner in outer.this.ctes:
        inner.set("alias", exp.TableAlias(this=exp.to_identifier(names[inner.alias])))
    for table in outer.this.find_all(exp.Table):
        if table.name in names and not table.db:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(names[table.name]))


def plain(table: pa.Table) -> pa.Table:
    """DuckDB sums whole numbers as 128-bit decimals: 64 bits again, which the tables had.

    Those that do not fit, and decimals with a fraction, become float64.
    """
    return pa.table([_plain(column) for column in table.columns], names=table.column_names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_decimal(column.type):
        return column
    if column.type.scale == 0:
        try:
            return column.cast(pa.int64())
        except pa.ArrowInvalid:
            pass
    return column.cast(pa.float64())


def _select(connection: duckdb.DuckDBPyConnection, sql: str, where: str) -> pa.Table:
    """Run one statement that only reads.

    The connection may open the recording's own files, also for writing: so nothing that writes may
    get there.
    """
    try:
        statements = connection.extract_statements(sql)
        kinds = {statement.type for statement in statements}
        # Not EXPLAIN either: EXPLAIN ANALYZE runs what it explains.
        if len(statements) != 1 or kinds != {duckdb.StatementType.SELECT}:
            raise Problem(f"{where}: give one SELECT (or DESCRIBE); nothing can be changed")
        relation = connection.sql(sql)
        if relation is None:
            raise Problem(f"{where}: this SQL returns no rows; give a SELECT")
        return plain(relation.to_arrow_table())
    except (duckdb.IOException, duckdb.InvalidInputException):
        raise  # damage: the recording says which file
    except duckdb.Error as error:
        raise Problem(f"{where}: {_first(error)}") from None


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


def _first(error: Exception) -> str:
    """The first line of an error, with the line that names what was probably meant."""
    lines = [line.strip() for line in str(error).strip().splitlines() if line.strip()]
    hints = [line for line in lines[1:] if line.startswith(("Candidate", "Did you mean"))]
    return " ".join(lines[:1] + hints[:1])
