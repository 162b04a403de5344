"""A query over one recording's tables as a query over those of many: the relational algebra is lifted by a key.

Every table has the column `fleet_no`, the number of its recording, in front. A query is lifted part by part: what reads a table
has the key in front too, joins are on it, groups and windows are by it, and what was asked of all rows of a recording
(`x IN (SELECT …)`, `(SELECT max(…) …)`, an aggregate without groups) is asked once for each recording. What reads no
table (lists of calls, of classes) stays as it is. The answer is the rows of each recording alone, with its number: tests
hold that for every report.
"""

from collections.abc import Iterator, Mapping

from sqlglot import exp

from iowhy.fleet.sql_parts import (
    KEY,
    RECORDINGS,
    aggregates,
    all_of,
    column,
    column_names,
    every_recording,
    must_stand_alone,
    named,
    next_number,
    of_nothing,
    outermost,
    own_names,
    refused,
    select_of,
)

Scope = Mapping[str, bool]
"""By name, whether a definition differs from recording to recording."""


def per_recording(query: exp.Expression, tables: Scope) -> exp.Expression:
    """The query with the key as its first column, whatever it reads; `tables` are the names that it may read.

    Its ORDER BY is within each recording, and recordings are in the order of their numbers. Changes `query`. Raises
    Problem for what cannot be lifted.
    """
    _in_order_of_the_key(query)
    made, varies = _query(query, tables)
    return made if varies else _for_each(made)


def _query(node: exp.Expression, scope: Scope) -> tuple[exp.Expression, bool]:
    """The lifted query, and whether it has the key."""
    scope = dict(scope)
    for cte in node.ctes:
        if cte.args["alias"].columns:
            raise refused("a definition with names of columns", cte)
        made, varies = _query(cte.this, scope)
        cte.set("this", made)
        scope[cte.alias] = varies
    if isinstance(node, exp.SetOperation):
        sides = [_query(node.this, scope), _query(node.expression, scope)]
        if not any(varies for _, varies in sides):
            return node, False
        for name, (made, varies) in zip(("this", "expression"), sides, strict=True):
            node.set(name, made if varies else _for_each(made))
        return node, True
    if isinstance(node, exp.Subquery):
        made, varies = _query(node.this, scope)
        node.set("this", made)
        return node, varies
    if isinstance(node, exp.Select):
        return _Lifting(node, scope).done()
    if isinstance(node, exp.Values):
        return node, False
    raise refused("this", node)


def _for_each(constant: exp.Expression) -> exp.Expression:
    """What is the same for all recordings, once for each."""
    inner = exp.Subquery(
        this=constant, alias=exp.TableAlias(this=exp.to_identifier("same_for_all"))
    )
    return (
        exp.select(column(KEY, "every"), all_of("same_for_all"))
        .from_(f"{RECORDINGS} AS every")
        .join(inner, join_type="cross")
    )


class _Lifting:
    """One SELECT on its way."""

    def __init__(self, select: exp.Select, scope: Scope) -> None:
        self.select = select
        self.scope = scope
        self.sources: list[tuple[str, bool]] = []
        self.key: exp.Expression | None = None
        self.added: list[exp.Join] = []

    def done(self) -> tuple[exp.Expression, bool]:
        """The SELECT with the key in front, or as it was where it reads nothing that differs."""
        select = self.select
        if select.args.get("limit") or select.args.get("offset"):
            raise refused("LIMIT and OFFSET", select)
        joins = list(select.args.get("joins") or [])
        start = select.args.get("from_")
        first = self._source(start.this) if start is not None else None
        joined = [self._source(join.this) for join in joins]
        asked = list(self._subqueries())
        differing = [(node, made) for node, made, varies in asked if varies]
        if not differing and not any(varies for _, varies in self.sources):
            return select, False
        self._join(first, joins, joined)
        self._stars()
        aggregated = self._aggregated()
        for node, made in differing:
            self._ask(node, made, aggregated)
        for join in self.added:
            select.append("joins", join)
        for window in self._windows():
            window.append("partition_by", self._key())
        group = select.args.get("group")
        if group is not None:
            if group.args.get("all"):
                raise refused("GROUP BY ALL", group)
            # Numbers of columns: the key comes before them all.
            moved = [
                next_number(one) if isinstance(one, exp.Literal) else one
                for one in group.expressions
            ]
            group.set("expressions", [*moved, self._key()])
        elif aggregated:
            return self._one_row_each(), True
        select.set("expressions", [exp.alias_(self._key(), KEY), *select.expressions])
        return select, True

    def _source(self, node: exp.Expression) -> bool:
        """Whether a table or subquery of FROM differs from recording to recording."""
        varies = False
        if isinstance(node, exp.Table):
            if not isinstance(node.this, exp.Identifier):
                raise refused("a function in FROM", node)
            if node.db == "main":
                node.set("db", None)
            elif node.db or node.name not in self.scope:
                raise refused("a table that no recording has", node)
            varies = self.scope[node.name]
        elif isinstance(node, exp.Subquery):
            made, varies = _query(node.this, self.scope)
            node.set("this", made)
        self.sources.append((node.alias_or_name, varies))
        return varies

    def _join(self, first: bool | None, joins: list[exp.Join], joined: list[bool]) -> None:
        """Joins by the key; where what comes first has none, all recordings come before the rest."""
        select = self.select
        if first is None:
            select.set("from_", exp.From(this=every_recording("every_one")))
            self.key = column(KEY, "every_one")
        elif not first:
            every = exp.Join(this=every_recording("every_one"), kind="CROSS")
            select.set("joins", [every, *joins])
            self.key = column(KEY, "every_one")
        else:
            self.key = column(KEY, self.sources[0][0])
        after = self.sources[len(self.sources) - len(joins) :]
        for join, (name, _), varies in zip(joins, after, joined, strict=True):
            if join.args.get("using") or join.method or join.side == "RIGHT":
                raise refused("this kind of join", join)
            if not varies:
                if join.side == "FULL":
                    raise refused("a FULL JOIN with what no recording has", join)
                continue
            same = exp.EQ(this=column(KEY, name), expression=self._key())
            on = join.args.get("on")
            join.set("on", same if on is None else exp.and_(same, on))
            if join.kind == "CROSS" or (not join.kind and not join.side):
                join.set("kind", "INNER")
            if join.side == "FULL":
                self.key = exp.Coalesce(this=self._key(), expressions=[column(KEY, name)])

    def _key(self) -> exp.Expression:
        assert self.key is not None
        return self.key.copy()

    def _stars(self) -> None:
        """`*` without the keys, and of these sources alone: others are added."""
        found: list[exp.Expression] = []
        for one in self.select.expressions:
            if isinstance(one, exp.Star):
                if one.args.get("replace") or one.args.get("except_"):
                    raise refused("* with changes", one)
                found += [all_of(name, KEY if varies else None) for name, varies in self.sources]
            elif isinstance(one, exp.Column) and isinstance(one.this, exp.Star):
                varies = dict(self.sources)[one.table]
                found.append(all_of(one.table, KEY if varies else None))
            else:
                found.append(one)
        self.select.set("expressions", found)

    def _subqueries(self) -> Iterator[tuple[exp.Expression, exp.Expression, bool]]:
        """(IN, EXISTS or scalar subquery, its query as lifted, whether that differs), outermost ones."""
        for name, part in self._parts():
            for node in outermost(part):
                query = node.args.get("query") if isinstance(node, exp.In) else node.this
                if isinstance(query, exp.Subquery):
                    query = query.this
                assert isinstance(query, exp.Expression)
                must_stand_alone(query)
                made, varies = _query(query, self.scope)
                if varies and name == "joins":
                    raise refused("a subquery in ON", node)
                if not varies and isinstance(node, exp.In):
                    node.set("query", exp.Subquery(this=made))
                yield node, made, varies

    def _parts(self) -> Iterator[tuple[str, exp.Expression]]:
        for name in ("where", "having", "group", "order", "qualify"):
            if self.select.args.get(name) is not None:
                yield name, self.select.args[name]
        for one in self.select.expressions:
            yield "expressions", one
        for join in self.select.args.get("joins") or []:
            if join.args.get("on") is not None:
                yield "joins", join.args["on"]

    def _ask(self, node: exp.Expression, made: exp.Expression, aggregated: bool) -> None:
        """A join instead of a question to all rows of a recording."""
        number = len(self.added)
        answer: exp.Expression
        if isinstance(node, exp.In):
            answer = self._membership(node, made, number)
        elif isinstance(node, exp.Exists):
            name = f"any_{number}"
            there = exp.select(KEY).distinct().from_(named(made, "q"))
            self._add(there, name)
            answer = exp.Not(this=exp.Is(this=column(KEY, name), expression=exp.Null()))
        else:
            name, own = f"one_{number}", column_names(made)[1]
            self._add(exp.select(KEY, exp.alias_(column(own), "v")).from_(named(made, "q")), name)
            answer = column("v", name)
        outside = node.find_ancestor(exp.AggFunc, exp.Group, exp.Where, exp.Select)
        if (
            (aggregated or self.select.args.get("group"))
            and isinstance(outside, exp.Select)
            and not self._grouped(node)
        ):
            # The same in all rows of a group, as what it asks about is: of the recording, or of what is grouped by.
            kind = exp.Max if isinstance(node, exp.Subquery) else exp.LogicalOr
            answer = kind(this=answer)
        node.replace(exp.Paren(this=answer))

    def _membership(self, node: exp.In, made: exp.Expression, number: int) -> exp.Expression:
        """`x IN (SELECT …)` with SQL's three truth values: unknown where x or one of the others is NULL."""
        wanted = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        columns = column_names(made)[1:]
        if len(columns) != len(wanted):
            raise refused("IN with another number of columns", node)
        values = [exp.alias_(column(c), f"v{i}") for i, c in enumerate(columns)]
        known = exp.and_(
            *(exp.Not(this=exp.Is(this=column(c), expression=exp.Null())) for c in columns)
        )
        among, counted = f"in_{number}", f"all_{number}"
        inner = (
            exp.select(KEY, *values).distinct().from_(named(made.copy(), "q")).where(known.copy())
        )
        equal = [
            exp.EQ(this=column(f"v{i}", among), expression=x.copy()) for i, x in enumerate(wanted)
        ]
        self._add(inner, among, *equal)
        some = exp.If(this=known.copy(), true=exp.Literal.number(1))
        nulls = exp.Sub(
            this=exp.Count(this=exp.Star()), expression=exp.Count(this=exp.Case(ifs=[some]))
        )
        every = exp.select(KEY, exp.alias_(nulls, "nulls")).from_(named(made, "q")).group_by(KEY)
        self._add(every, counted)
        unknown = exp.or_(
            *(exp.Is(this=x.copy(), expression=exp.Null()) for x in wanted),
            exp.GT(this=column("nulls", counted), expression=exp.Literal.number(0)),
        )
        is_in = exp.Not(this=exp.Is(this=column(KEY, among), expression=exp.Null()))
        none = exp.Is(this=column(KEY, counted), expression=exp.Null())
        return exp.Case(
            ifs=[
                exp.If(this=is_in, true=exp.true()),
                exp.If(this=none, true=exp.false()),
                exp.If(this=unknown, true=exp.Null()),
            ],
            default=exp.false(),
        )

    def _add(self, query: exp.Expression, name: str, *equal: exp.Expression) -> None:
        same = exp.EQ(this=column(KEY, name), expression=self._key())
        self.added.append(exp.Join(this=named(query, name), side="LEFT", on=exp.and_(same, *equal)))

    def _aggregated(self) -> bool:
        return any(True for one in self.select.expressions for _ in aggregates(one))

    def _grouped(self, node: exp.Expression) -> bool:
        """Whether a part is in a column that is grouped by its number."""
        group = self.select.args.get("group")
        numbers = (
            {one.name for one in group.expressions if isinstance(one, exp.Literal)}
            if group
            else set()
        )
        columns = self.select.expressions
        return any(
            str(at) in numbers and any(part is node for part in column.walk())
            for at, column in enumerate(columns, 1)
        )

    def _windows(self) -> list[exp.Window]:
        """Those that name no other one: their own parts decide what they are of."""
        parts = [*self.select.expressions, *(self.select.args.get("windows") or [])]
        for name in ("order", "qualify"):
            if self.select.args.get(name) is not None:
                parts.append(self.select.args[name])
        found = [
            w for part in parts for w in part.find_all(exp.Window) if select_of(w) is self.select
        ]
        return [
            w
            for w in found
            if not (
                isinstance(w.this, exp.Func | exp.IgnoreNulls | exp.RespectNulls | exp.Filter)
                and w.args.get("alias")
            )
        ]

    def _one_row_each(self) -> exp.Expression:
        """An aggregate over all rows: one row for each recording, also for one that has no rows."""
        select, names = self.select, own_names(self.select)
        empty = [of_nothing(one.unalias().copy()) for one in select.expressions]
        having = select.args.pop("having", None)
        if having is not None:
            select.append("expressions", exp.alias_(having.this, "holds"))
        select.set("expressions", [exp.alias_(self._key(), KEY), *select.expressions])
        select.set("group", exp.Group(expressions=[self._key()]))
        with_ = select.args.pop("with_", None)
        missing = exp.Is(this=column(KEY, "asked"), expression=exp.Null())
        columns = [
            exp.alias_(
                exp.Case(
                    ifs=[exp.If(this=missing.copy(), true=nothing)], default=column(name, "asked")
                ),
                name,
            )
            for name, nothing in zip(names, empty, strict=True)
        ]
        outer = (
            exp.select(column(KEY, "every"), *columns)
            .from_(f"{RECORDINGS} AS every")
            .join(named(select, "asked"), on=f"asked.{KEY} = every.{KEY}", join_type="left")
        )
        if having is not None:
            nothing = exp.If(this=missing.copy(), true=of_nothing(having.this.copy()))
            outer = outer.where(exp.Case(ifs=[nothing], default=column("holds", "asked")))
        if with_ is not None:
            outer.set("with_", with_)
        return outer


def _in_order_of_the_key(query: exp.Expression) -> None:
    order = query.args.get("order")
    if order is not None:
        if any(isinstance(one.this, exp.Literal) for one in order.expressions):
            raise refused("ORDER BY with numbers", order)
        order.set("expressions", [exp.Ordered(this=column(KEY)), *order.expressions])
