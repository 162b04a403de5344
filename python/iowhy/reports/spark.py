"""A statement in DuckDB's SQL as Spark's, by sqlglot."""

import sqlglot
from sqlglot import exp

from iowhy.errors import Problem
from iowhy.relations import relations
from iowhy.relations.compose import WHOLE
from iowhy.reports.sql_errors import first_line

#: Before the name of what a statement defines, on Spark and over fleets.
MADE = "made_"


def to_spark(sql: str, where: str = "the report") -> list[str]:
    """DuckDB's SQL as Spark's: statements to run one after the other, of which the last gives the rows.

    The others keep the relations that are to be kept: Spark puts a definition in each place that names
    it, and with relations of relations of relations would not get done. Raises Problem for what cannot
    be said there.
    """
    try:
        tree = sqlglot.parse_one(sql, read="duckdb")
    except sqlglot.ParseError as error:
        raise Problem("spark-sql-unknown", where=where, error=first_line(error)) from None
    return spark_of(tree)


def spark_of(tree: exp.Expression) -> list[str]:
    """As `to_spark`, of a statement that was read; changes it."""
    apart_from_tables(tree)
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
    for outer in [*tree.ctes, tree]:
        order_windows(outer if isinstance(outer, exp.Select) else outer.this)
    views = {cte.alias: cte for cte in tree.ctes if not _is_kept(cte.alias)}
    made = []
    for cte in tree.ctes:
        if _is_kept(cte.alias):
            # Tables, not cached views: the plan of those holds the plans of all that they are made of.
            made.append(f"DROP TABLE IF EXISTS {cte.alias}")
            made.append(
                f"CREATE TABLE {cte.alias} USING parquet AS {_with_needed(cte.this, views)}"
            )
    tree.set("with_", None)
    return [*made, _with_needed(tree, views)]


def apart_from_tables(tree: exp.Expression) -> None:
    """Names of its own for what a statement defines: without `main.`, which Spark has not, a filtered table would be for the
    recorded one. Changes it; once more it changes nothing.
    """
    for outer in tree.ctes:
        _own_names(outer)
    defined = {cte.alias for cte in tree.ctes if not cte.alias.startswith(MADE)}
    for cte in tree.ctes:
        if cte.alias in defined:
            cte.set("alias", exp.TableAlias(this=exp.to_identifier(MADE + cte.alias)))
    for table in tree.find_all(exp.Table):
        if table.db == "main":
            table.set("db", None)
        elif table.name in defined and not table.db:
            if not table.alias:
                table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name)))
            table.set("this", exp.to_identifier(MADE + table.name))


def _is_kept(name: str) -> bool:
    relation = relations().get(name.removeprefix(MADE).removeprefix(WHOLE))
    return relation is not None and relation.kept


def _with_needed(query: exp.Expression, views: dict[str, exp.CTE]) -> str:
    """The query in Spark's SQL, behind the definitions that it needs."""
    needed: set[str] = set()

    def look(at: exp.Expression) -> None:
        for table in at.find_all(exp.Table):
            if table.name in views and table.name not in needed:
                needed.add(table.name)
                look(views[table.name].this)

    look(query)
    whole = query.copy()
    front = [cte.copy() for name, cte in views.items() if name in needed]
    if front:
        whole.set("with_", exp.With(expressions=[*front, *whole.ctes]))
    return str(whole.sql(dialect="spark", pretty=True))


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


def order_windows(query: exp.Expression) -> None:
    """Say the order of windows that have none: rows of a definition in order, which DuckDB keeps and Spark does not."""
    orders: dict[str, exp.Order] = {}
    for name, select in [*((one.alias, one.this) for one in query.ctes), ("", query)]:
        own = select.args.get("order")
        order = own or _order_below(select, orders)
        if order is None:
            continue
        orders[name] = order
        for window in [] if own else _own_windows(select):
            named = window.args.get("alias") is not None and isinstance(window.this, exp.Func)
            if not (named or window.args.get("partition_by") or window.args.get("order")):
                window.set("order", order.copy())


def _own_windows(select: exp.Expression) -> list[exp.Window]:
    """Those of a SELECT, without those of what it defines before."""
    parts = [*select.expressions, *select.args.get("windows", [])]
    return [window for part in parts for window in part.find_all(exp.Window)]


def _order_below(select: exp.Expression, orders: dict[str, exp.Order]) -> exp.Order | None:
    """The order of the one definition that a SELECT reads; None of several."""
    source = select.args.get("from_") or select.args.get("from")
    if source is None or select.args.get("joins") or select.args.get("group"):
        return None
    return orders.get(source.this.name) if isinstance(source.this, exp.Table) else None
