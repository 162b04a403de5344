"""Parts of a query that lifting (per_recording.py) looks for, and those that it puts in."""

from collections.abc import Iterator

from sqlglot import exp

from iowhy.errors import Problem

KEY = "fleet_no"
#: One row for each recording: its number, and the columns of the relation `recording`.
RECORDINGS = "fleet_recordings"


def of_nothing(one: exp.Expression) -> exp.Expression:
    """What a column of an aggregate is over no rows: counts are 0, all else is NULL."""

    def none(node: exp.Expression) -> exp.Expression:
        if isinstance(node, exp.Filter) and isinstance(node.this, exp.AggFunc):
            node = node.this
        if isinstance(node, exp.Count):
            return exp.Literal.number(0)
        return exp.Null() if isinstance(node, exp.AggFunc | exp.Column) else node

    return one.transform(none)


def outermost(part: exp.Expression) -> list[exp.Expression]:
    """IN, EXISTS and scalar subqueries of a part that are in no other one."""
    found: list[exp.Expression] = []

    def look(node: exp.Expression) -> None:
        if isinstance(node, exp.Subquery | exp.Exists) or (
            isinstance(node, exp.In) and node.args.get("query") is not None
        ):
            found.append(node)
            return
        for child in node.iter_expressions():
            look(child)

    look(part)
    return found


def must_stand_alone(query: exp.Expression) -> None:
    """Raises Problem for a subquery that names a source outside it."""
    inside = {t.alias_or_name for t in query.find_all(exp.Table, exp.Subquery)}
    for column in query.find_all(exp.Column):
        if column.table and column.table not in inside:
            raise refused("a subquery about rows outside it", query)


def aggregates(part: exp.Expression) -> Iterator[exp.Expression]:
    """The aggregate functions of a part; those of windows and of subqueries are none of it."""
    if isinstance(part, exp.Window | exp.Query):
        # OVER (ORDER BY sum(x)): of what is grouped.
        inner = part.args.get("order") if isinstance(part, exp.Window) else None
        if isinstance(part, exp.Window):
            for argument in part.this.iter_expressions():
                yield from aggregates(argument)
        if inner is not None:
            yield from aggregates(inner)
        return
    if isinstance(part, exp.AggFunc):
        yield part
        return
    for child in part.iter_expressions():
        yield from aggregates(child)


def select_of(node: exp.Expression) -> exp.Expression | None:
    return node.find_ancestor(exp.Select)


def next_number(one: exp.Literal) -> exp.Literal:
    return exp.Literal.number(int(one.name) + 1)


def own_names(select: exp.Select) -> list[str]:
    """The names of its columns; one that has none is given one."""
    names = []
    for at, one in enumerate(select.expressions):
        if isinstance(one, exp.Star) or one.is_star:
            raise refused("* where names are needed", select)
        name = one.alias or (one.name if isinstance(one, exp.Column) else f"column_{at}")
        if name != one.alias_or_name or not isinstance(one, exp.Alias | exp.Column):
            one.replace(exp.alias_(one.copy(), name))
        names.append(name)
    return names


def column_names(query: exp.Expression) -> list[str]:
    """The names of the columns of a lifted query, the key first."""
    while isinstance(query, exp.SetOperation | exp.Subquery):
        query = query.this
    assert isinstance(query, exp.Select)
    return own_names(query)


def column(name: str, table: str | None = None) -> exp.Column:
    return exp.column(name, table=table)


def all_of(table: str, without: str | None = None) -> exp.Expression:
    star = exp.Star(except_=[exp.to_identifier(without)]) if without else exp.Star()
    return exp.Column(this=star, table=exp.to_identifier(table))


def every_recording(name: str) -> exp.Table:
    return exp.Table(
        this=exp.to_identifier(RECORDINGS), alias=exp.TableAlias(this=exp.to_identifier(name))
    )


def named(query: exp.Expression, name: str) -> exp.Subquery:
    return exp.Subquery(this=query, alias=exp.TableAlias(this=exp.to_identifier(name)))


def refused(what: str, node: exp.Expression) -> Problem:
    return Problem("sql-not-of-many", what=what, sql=node.sql("duckdb")[:120])
