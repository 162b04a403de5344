"""Exact percentiles of many values by key, in a memory that does not grow with them.

Between two values the percentile is on the line between theirs, as DuckDB's quantile_cont has it; that keeps every
value in memory, and is asked if they are few. Of many, values are first counted in buckets (by their fourth root: of four
per cent at a microsecond, of one at a millisecond), and only those of the buckets that hold the asked ones are looked
at one by one. Values are whole and not negative.
"""

import re
from collections.abc import Sequence

#: The column of a percentile: p50, p99 and p999 are those of 0.5, 0.99 and 0.999; max is the largest.
_POINT = re.compile(r"p(\d{2,3})_")
_LARGEST = "max_"


_STATEMENT = """WITH points AS (
    {points}
), bucketed AS NOT MATERIALIZED (
    SELECT {keys}, value, CAST(floor(16 * sqrt(sqrt(greatest(value, 0)))) AS BIGINT) AS bucket
    FROM (
{values}
    ) AS given
), counted AS (
    SELECT {keys}, bucket, count(*) AS rows, max(value) AS longest FROM bucketed GROUP BY {keys}, bucket
), placed AS (
    SELECT
        {keys}, bucket, rows,
        sum(rows) OVER (PARTITION BY {keys} ORDER BY bucket) AS upto,
        sum(rows) OVER (PARTITION BY {keys}) - 1 AS last,
        max(longest) OVER (PARTITION BY {keys}) AS longest
    FROM counted
), wanted AS (
    -- The rows have the numbers 0 to last in the order of their values; upto is that of the first one behind the bucket.
    SELECT DISTINCT {b_keys}, b.bucket, b.upto - b.rows AS before, b.last, b.longest
    FROM placed b
    CROSS JOIN points p
    WHERE b.upto - b.rows <= ceil(p.point * b.last / 1000.0) AND b.upto > floor(p.point * b.last / 1000.0)
), distinct_values AS (
    -- A plain join keeps all values in memory: DuckDB takes the few buckets for the larger side.
    SELECT {b_keys}, b.bucket, b.value, count(*) AS rows
    FROM bucketed b
    SEMI JOIN wanted w ON {w_is_b}
    GROUP BY {b_keys}, b.bucket, b.value
), ranked AS (
    SELECT
        {v_keys}, v.value, w.last, w.longest,
        w.before + sum(v.rows) OVER (PARTITION BY {v_keys}, v.bucket ORDER BY v.value) AS upto
    FROM distinct_values v
    JOIN wanted w ON {w_is_v}
), around AS (
    SELECT
        {r_keys}, p.point,
        max(r.longest) AS longest,
        max(p.point * r.last / 1000.0 - floor(p.point * r.last / 1000.0)) AS part,
        min(CASE WHEN r.upto > floor(p.point * r.last / 1000.0) THEN r.value END) AS low,
        min(CASE WHEN r.upto > ceil(p.point * r.last / 1000.0) THEN r.value END) AS high
    FROM ranked r
    CROSS JOIN points p
    GROUP BY {r_keys}, p.point
)
SELECT
    {keys},
    {asked}
FROM around
GROUP BY {keys}"""


def percentiles_sql(keys: Sequence[str], columns: Sequence[str], values: str) -> str:
    """The SQL of a relation of percentiles: a row for each key of `values`, a SELECT of the keys and `value`.

    `columns`: the relation's, without the keys: p50_UNIT, p999_UNIT, max_UNIT. Raises ValueError for another name.
    """
    points = [point for column in columns for point in _points(column)]
    return _STATEMENT.format(
        keys=", ".join(keys),
        values=values,
        points="\n    UNION ALL ".join(f"SELECT {point} AS point" for point in points),
        asked=",\n    ".join(_asked(column) for column in columns),
        b_keys=_of("b", keys),
        v_keys=_of("v", keys),
        r_keys=_of("r", keys),
        w_is_b=_same("w", "b", keys),
        w_is_v=_same("w", "v", keys),
    )


def few_percentiles_sql(keys: Sequence[str], columns: Sequence[str], values: str) -> str:
    """The same for values of which all fit into memory: a tenth of the work where planning is most of it, half of it of a
    million rows. Raises as `percentiles_sql`.
    """
    points = [point for column in columns for point in _points(column)]
    shown = [
        f"points[{points.index(*_points(column)) + 1}] AS {column}"
        if _points(column)
        else f"longest AS {column}"
        for column in columns
    ]
    asked = ", ".join(str(point / 1000) for point in points)
    return f"""SELECT
    {", ".join([*keys, *shown])}
FROM (
    SELECT {", ".join(keys)}, quantile_cont(value, [{asked}]) AS points, max(value) AS longest
    FROM (
{values}
    ) AS given
    GROUP BY {", ".join(keys)}
) AS found"""


def _of(alias: str, keys: Sequence[str]) -> str:
    return ", ".join(f"{alias}.{name}" for name in keys)


def _same(one: str, other: str, keys: Sequence[str]) -> str:
    """In one bucket of one key; a key may be NULL."""
    equal = [f"{one}.{name} IS NOT DISTINCT FROM {other}.{name}" for name in keys]
    return " AND ".join([*equal, f"{one}.bucket = {other}.bucket"])


def _points(column: str) -> tuple[int, ...]:
    """In thousandths; of the largest there is none."""
    if column.startswith(_LARGEST):
        return ()
    found = _POINT.match(column)
    if found is None:
        raise ValueError(f"{column} is not a column of percentiles: p50_ns, p999_bytes, max_ns")
    return (int(found[1].ljust(3, "0")),)


def _asked(column: str) -> str:
    for point in _points(column):
        return f"max(CASE WHEN point = {point} THEN low + (high - low) * part END) AS {column}"
    return f"max(longest) AS {column}"
