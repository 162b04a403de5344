"""What single requests show of a ceiling: how quickly they are answered below it, and what their threads do in between."""

from typing import TypeVar

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.relations.rows import Row

Kind = TypeVar("Kind")

#: Requests of which the quick ones are looked for.
MOST = 200_000
#: Spans of time in which they are looked for.
GAPS = 32
#: Requests that a bucket which was full lets through at once, at least, at more than twice the ceiling. What a device has at work at once is less.
PASSED = 10
#: The same, if requests then come as by a clock: what they exceed is known to a request.
PASSED_BY_CLOCK = 3
#: That passed so and are not the first of their thread, from which half of them say how long one takes.
FREELY = 3
#: Requests that are timed at once, at least, and for so long: a moment's delay of this machine is little of that.
TIMED = 16
TIMED_NS = 100_000_000
TIMES = 8


class Held(Struct, frozen=True):
    """A ceiling by the counters, as the relation device_ceilings has it."""

    dev: int | None
    counts: str
    per_s: float
    requests_per_s: float
    bytes_per_s: float
    read_share: float
    wait_ns: float
    first_ns: int

    @property
    def each_bytes(self) -> float:
        """A request's mean size."""
        return self.bytes_per_s / self.requests_per_s


class Quick(Struct, frozen=True):
    """Requests like those at the ceiling: those that found the device idle, and the time that a quarter of them does not exceed; how
    many passed at once, beyond the ceiling, and the same of these. `usual_ns`: half of those alone; `least_ns`: the quickest. `freely` is
    how many passed before any had to wait and are not the first of their thread, which is late for what wakes up then; `freely_ns`: half
    of them, or of all that passed so if they are fewer than FREELY."""

    alone: int = 0
    alone_ns: float | None = None
    usual_ns: float | None = None
    passed: float = 0.0
    passed_ns: float | None = None
    least_ns: float | None = None
    freely: int = 0
    freely_ns: float | None = None


# In steps of the counters in which the rate is not the ceiling, or which follow rest: there a request may have been alone, or many passed
# at once. `ahead` is how much was served by some time beyond the ceiling; what it grows by since some request that found the device
# idle has `passed`.
_GAPS = """
WITH s AS (
  SELECT min(before_ns) AS before_ns, ts_ns, sum(reads + writes) AS requests, sum({moved}) * 1e9 / max(dur_ns) AS rate
  FROM disk_steps WHERE dev IN ({devs}) GROUP BY ts_ns
), off AS (
  SELECT *, rate NOT BETWEEN 0.8 * {per_s} AND 1.2 * {per_s} OR coalesce(lag(rate) OVER (ORDER BY ts_ns), 0) < 0.5 * {per_s} AS is_off
  FROM s
)
SELECT before_ns, ts_ns FROM (
  SELECT *, sum(requests) OVER (ORDER BY ts_ns) AS upto FROM off WHERE is_off
) AS g WHERE requests > 0 AND upto <= {most} ORDER BY ts_ns
"""

_QUICK = """
WITH r AS (
  SELECT dev, op, bytes, tid, queue_ns, complete_ns, {inside} AS inside
  FROM block_requests WHERE dev IN ({devs}) AND op IN ('read', 'write') AND bytes > 0 AND ({near})
), begun AS (
  SELECT *, coalesce(max(complete_ns) OVER (
    PARTITION BY dev ORDER BY queue_ns, complete_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= queue_ns AS begins
  FROM r
), served AS (
  SELECT *, {cost} / {each}::DOUBLE AS cost, {requests_per_s} / 1e9 AS per_ns, op IN ({ops}) AND bytes BETWEEN {least} AND {most_bytes} AS alike
  FROM begun
), moments AS (
  SELECT dev, queue_ns AS at_ns, 0 AS ends, sum(cost) OVER (PARTITION BY dev ORDER BY queue_ns, complete_ns ROWS UNBOUNDED PRECEDING)
    - cost - per_ns * queue_ns AS ahead, begins
  FROM served
  UNION ALL
  SELECT dev, complete_ns, 1, sum(cost) OVER (PARTITION BY dev ORDER BY complete_ns ROWS UNBOUNDED PRECEDING) - per_ns * complete_ns, false
  FROM served
), since AS (
  SELECT dev, at_ns, ends, ahead, min(CASE WHEN begins THEN ahead END) OVER one AS least,
    arg_min(at_ns, ahead) FILTER (begins) OVER one AS begin_ns
  FROM moments WINDOW one AS (PARTITION BY dev ORDER BY at_ns, ends ROWS UNBOUNDED PRECEDING)
), beyond AS (
  SELECT dev, begin_ns, at_ns, ahead - least AS passed, max(ahead - least) OVER (PARTITION BY dev, begin_ns) AS most
  FROM since WHERE ends = 1 AND ahead - least > (at_ns - begin_ns) * {requests_per_s} / 1e9
), top AS (
  SELECT dev, begin_ns, arg_max(at_ns, passed) AS end_ns, min(at_ns) FILTER (passed >= most - 1) AS free_ns, max(passed) AS passed
  FROM beyond GROUP BY dev, begin_ns ORDER BY passed DESC LIMIT 1
)
SELECT count(*) FILTER (is_alone) AS alone, quantile_cont(took_ns, 0.25) FILTER (is_alone) AS alone_ns, median(took_ns) FILTER (is_alone) AS usual_ns,
  coalesce(max(passed), 0) AS passed, quantile_cont(took_ns, 0.25) FILTER (has_passed) AS passed_ns,
  min(took_ns) FILTER (alike) AS least_ns, count(*) FILTER (turn > 1) AS freely,
  CASE WHEN freely >= {freely} THEN median(took_ns) FILTER (turn > 1) ELSE median(took_ns) FILTER (turn > 0) END AS freely_ns
FROM (
  SELECT *, CASE WHEN has_passed AND complete_ns <= free_ns THEN row_number() OVER (PARTITION BY tid, has_passed ORDER BY queue_ns) END AS turn
  FROM (
    SELECT *, complete_ns - queue_ns AS took_ns, begins AND inside AND alike AS is_alone,
      alike AND s.dev = t.dev AND queue_ns >= begin_ns AND complete_ns <= end_ns AS has_passed
    FROM served AS s LEFT JOIN top AS t ON true
  ) AS b
) AS a
"""


def quick(relations: Relations, one: Held) -> Quick:
    """By single requests."""
    if not relations.has("block_requests"):
        return Quick()
    devs = _devices(relations, one)
    reads = ["read"] if one.read_share > 0.1 else []
    writes = ["write"] if one.read_share < 0.9 else []
    of_requests = one.counts == "requests"
    listed = ", ".join(map(str, devs))
    moved = "reads + writes" if of_requests else "read_bytes + written_bytes"
    off = _GAPS.format(devs=listed, moved=moved, per_s=f"{one.per_s:.3f}", most=MOST)
    gaps = _merged(relations.rows(off))
    if not gaps:
        return Quick()
    sql = _QUICK.format(
        devs=listed,
        inside=_any(gaps, 0),
        near=_any(gaps, round(4 * one.wait_ns)),
        requests_per_s=f"{one.requests_per_s:.3f}",
        cost="1" if of_requests else "bytes",
        each=1 if of_requests else round(one.each_bytes),
        least=round(one.each_bytes * 0.9),
        most_bytes=round(one.each_bytes * 4),
        freely=FREELY,
        ops=", ".join(map(text_literal, [*reads, *writes])),
    )
    return relations.one(Quick, sql)


# How far the times that so many requests take spread, in standard deviations of one request's time; by their quartiles, so that pauses of the
# machine do not count.
_CLOCK = """
WITH r AS (
  SELECT complete_ns, row_number() OVER (ORDER BY complete_ns) // {each} AS timed
  FROM block_requests WHERE dev IN ({devs}) AND complete_ns BETWEEN {first_ns} AND {last_ns} AND op IN ('read', 'write') AND bytes > 0
), s AS (
  SELECT timed, count(*) AS requests, max(complete_ns) - min(complete_ns) AS ns FROM r GROUP BY timed
), at_it AS (
  SELECT ns FROM s WHERE requests = {each} AND ns BETWEEN {usual_ns} / 1.15 AND {usual_ns} * 1.15
)
SELECT CASE WHEN count(*) >= {least} THEN
  (quantile_cont(ns, 0.75) - quantile_cont(ns, 0.25)) / 1.349 / median(ns) * sqrt({each})
END FROM at_it
"""


def clock(relations: Relations, one: Held) -> float | None:
    """By how much the time of one request deviates at the ceiling; None if it is not known, or if not one of requests but of bytes of several sizes."""
    if not relations.has("block_requests"):
        return None
    each = max(TIMED, round(one.requests_per_s * TIMED_NS / 1e9))
    sql = _CLOCK.format(
        devs=", ".join(map(str, _devices(relations, one))),
        each=each,
        first_ns=one.first_ns,
        last_ns=one.first_ns + round(MOST / one.requests_per_s * 1e9),
        usual_ns=round((each - 1) / one.requests_per_s * 1e9),
        least=TIMES,
    )
    return relations.value(float, sql)


#: What finds the device idle while its rate is the ceiling.
_IDLE = """
WITH r AS (
  SELECT queue_ns, complete_ns, complete_ns - queue_ns AS took_ns, coalesce(max(complete_ns) OVER (
    PARTITION BY dev ORDER BY queue_ns, complete_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= queue_ns AS begins
  FROM block_requests
  WHERE dev IN ({devs}) AND queue_ns BETWEEN {first_ns} AND {last_ns} AND op IN ('read', 'write') AND bytes > 0
), s AS (
  SELECT min(before_ns) AS before_ns, ts_ns FROM disk_steps WHERE dev IN ({devs})
  GROUP BY ts_ns HAVING sum(reads + writes) * 1e9 / max(dur_ns) BETWEEN 0.9 * {per_s} AND 1.1 * {per_s}
)
SELECT CASE WHEN count(*) FILTER (begins) >= greatest({least}, 0.02 * count(*)) THEN median(took_ns) FILTER (begins) END AS ns
FROM r JOIN s ON queue_ns >= before_ns AND complete_ns <= ts_ns
"""


def idle_ns(relations: Relations, one: Held) -> float | None:
    """How long a request takes at that rate that finds the device idle; None if hardly any does, or that is not known."""
    if not relations.has("block_requests"):
        return None
    sql = _IDLE.format(
        devs=", ".join(map(str, _devices(relations, one))),
        first_ns=one.first_ns,
        last_ns=one.first_ns + round(MOST / one.requests_per_s * 1e9),
        per_s=f"{one.requests_per_s:.3f}",
        least=TIMED,
    )
    return relations.value(float, sql)


def _merged(spans: list[Row]) -> list[tuple[int, int]]:
    """Spans of time that follow each other as one, the first GAPS of them."""
    merged: list[tuple[int, int]] = []
    for begin, end in spans:
        if merged and begin <= merged[-1][1]:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((begin, end))
    return merged[:GAPS]


def _any(spans: list[tuple[int, int]], before_ns: int) -> str:
    """The condition that a request was completed in one of these, or up to so long before."""
    return " OR ".join(
        f"complete_ns > {begin - before_ns} AND complete_ns <= {end}" for begin, end in spans
    )


#: How long its thread does something else between a request and the next, while at the ceiling: where the device idles meanwhile (the machine
#: pauses, or all wait for something else), that is not there.
_THINKS = """
WITH r AS (
  SELECT tid, queue_ns, complete_ns, coalesce(max(complete_ns) OVER (
    ORDER BY queue_ns, complete_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) <= queue_ns AS begins
  FROM block_requests
  WHERE dev IN ({devs}) AND queue_ns BETWEEN {first_ns} AND {last_ns} AND op IN ('read', 'write') AND bytes > 0
), spells AS (
  SELECT *, count(*) FILTER (begins) OVER (ORDER BY queue_ns, complete_ns ROWS UNBOUNDED PRECEDING) AS spell FROM r
), gaps AS (
  SELECT queue_ns - lag(complete_ns) OVER one AS gap_ns, spell = lag(spell) OVER one AS is_busy
  FROM spells WINDOW one AS (PARTITION BY tid ORDER BY queue_ns)
)
SELECT avg(greatest(0, gap_ns)) FILTER (is_busy) AS ns FROM gaps
"""


def thinks(relations: Relations, one: Held) -> float:
    """Of what submits requests one after the other; 0 if that is not known."""
    if not relations.has("block_requests"):
        return 0.0
    devs = ", ".join(map(str, _devices(relations, one)))
    last_ns = one.first_ns + round(MOST / one.requests_per_s * 1e9)
    sql = _THINKS.format(devs=devs, first_ns=one.first_ns, last_ns=last_ns)
    return relations.value(float, sql) or 0.0


def _devices(relations: Relations, one: Held) -> list[int]:
    return [one.dev] if one.dev is not None else parts(relations, "dev", int)


def parts(relations: Relations, column: str, kind: type[Kind]) -> list[Kind]:
    """The devices of the sum, as the relation has it."""
    return relations.values(
        kind,
        f"""
        SELECT {column} FROM (
          SELECT d.dev, d.name, s.area_ns, sum(s.area_ns) OVER () AS whole_ns
          FROM (SELECT dev, any_value(name) AS name FROM devices GROUP BY dev) AS d
          JOIN (
            SELECT dev, sum(coalesce(read_ns + write_ns, queue_ns)) AS area_ns FROM disk_steps GROUP BY dev
          ) AS s ON s.dev = d.dev
          WHERE d.dev NOT IN (SELECT below_dev FROM devices WHERE below_dev IS NOT NULL)
            AND d.dev NOT IN (SELECT below_dev FROM device_layers)
        ) AS p WHERE area_ns > 0.15 * whole_ns ORDER BY name
        """,
    )
