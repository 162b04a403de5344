"""Devices that stay at one rate whenever they are full, by rows of long intervals (sar -d), if volumes are sold with that limit."""

from collections.abc import Iterator

from iowhy.sentences import worded
from iowhy.whys import tariffs
from iowhy.whys.chain import link
from iowhy.whys.facts import Facts
from iowhy.whys.stated_fact import Statement

#: In use all of the time, with so many requests at once: it would do more if it could.
FULL, QUEUE = 0.95, 8.0
#: So many such rows, and half of all; the same rate in each. A device's own rate differs with what is asked of it.
ROWS, EVEN = 3, 0.005
_ROWS = """
WITH r AS (
  SELECT subject, ts_ns, max(value) FILTER (WHERE metric = 'operations_per_s') AS per_s, max(value) FILTER (WHERE metric = 'queue_mean') AS queue,
    max(value) FILTER (WHERE metric = 'busy_share') AS busy
  FROM measurements WHERE ts_ns IS NOT NULL GROUP BY subject, ts_ns
), a AS (SELECT subject, count(*) AS n FROM r WHERE per_s IS NOT NULL GROUP BY subject)
SELECT r.subject, count(*) AS rows, any_value(a.n) AS of_rows, avg(per_s) AS mean, (max(per_s) - min(per_s)) / max(per_s) AS spread, avg(queue) AS queue
FROM r JOIN a USING (subject) WHERE busy >= {full} AND queue >= {queue} GROUP BY r.subject ORDER BY queue DESC, r.subject
"""


def state(facts: Facts) -> Iterator[Statement]:
    """One statement for each such device."""
    if not facts.relations.has("measurements"):
        return
    for name, rows, of, mean, spread, queue in facts.relations.rows(
        _ROWS.format(full=FULL, queue=QUEUE)
    ):
        known = tariffs.matching("requests", mean, 0.0, None)
        if rows < ROWS or 2 * rows < of or spread > EVEN or not known:
            continue
        said = worded(
            "steady-rate",
            "{device} stays at {per_s:,.0f} requests a second in {rows:.0f} of {of:.0f} rows while {queue:.2g} requests are in flight: probably the"
            " limit of its volume ({known}); raise it",
            device=name,
            per_s=mean,
            rows=rows,
            of=of,
            queue=queue,
            known=known[0],
        )
        yield Statement(0.86, link(said, mean, "1/s", "measurements"))
