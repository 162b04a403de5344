"""A statement in DuckDB's SQL as Spark's, by sqlglot."""

import sqlglot
from sqlglot import exp

from iowhy.errors import Problem
from iowhy.reports.sql_errors import first_line


def to_spark(sql: str, where: str = "the report") -> str:
    """DuckDB's SQL as Spark's. Raises Problem where it cannot be said there."""
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.ParseError as error:
        raise Problem(f"{where}: cannot be put into Spark's SQL: {first_line(error)}") from None
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
