"""How quickly the device moves what is read in order, as the command's own requests show it."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.requests import Requests

#: Requests of one size, below which their median time is chance.
ALIKE_MIN = 16
#: The largest size over the smallest, from which on a byte's part of the time can be told from the request's.
SIZES_APART = 4
#: Requests in flight, up to which the time of a request is its own and not also that of those before it.
ALONE = 1.5
#: Reads that jump, below which the quickest tenth of them is chance.
JUMPS_MIN = 64
#: Of the mean time of reads that jump, that of their quickest tenth, up to which the length of the way is what they take.
DIFFER = 0.5


class InOrder(Struct, frozen=True):
    """Of reads that follow one another as they were sent; bytes per second, None if not known.

    `reached`: the most that requests of one size moved in their median time. The device moves that at least, as each
    request also has its own price. `fitted`: without that price, from how much longer larger ones take (least
    squares over the sizes' medians); `least_bytes` and `most_bytes` are those sizes.
    """

    reached: float | None = None
    fitted: float | None = None
    least_bytes: int | None = None
    most_bytes: int | None = None


#: The requests themselves are only put in order where some follow one another.
_FOLLOWING = """
SELECT coalesce(sum(steps - jumps), 0) AS reads FROM jump_totals WHERE dev = {dev} AND op = 'read'
"""

_FIT = """
WITH alike AS (
  SELECT bytes, median(complete_ns - sent_ns) AS service_ns FROM command_requests
  WHERE dev = {dev} AND op = 'read' AND seek_bytes = 0 AND complete_ns > sent_ns
  GROUP BY bytes HAVING count(*) >= {alike}
)
SELECT max(bytes * 1e9 / service_ns) AS reached,
  CASE WHEN {alone} AND max(bytes) >= {apart} * min(bytes) AND regr_slope(service_ns, bytes) > 0
    THEN 1e9 / regr_slope(service_ns, bytes) END AS fitted,
  min(bytes) AS least_bytes, max(bytes) AS most_bytes
FROM alike
"""


def in_order(relations: Relations, requests: Requests) -> InOrder:
    """From the reads on the device that the command uses most."""
    if requests.dev is None or not requests.reads:
        return InOrder()
    if (relations.value(int, _FOLLOWING.format(dev=requests.dev)) or 0) < ALIKE_MIN:
        return InOrder()
    alone = requests.own_depth is not None and requests.own_depth <= ALONE
    sql = _FIT.format(dev=requests.dev, alike=ALIKE_MIN, apart=SIZES_APART, alone=alone)
    return relations.one(InOrder, sql)


class Ways(Struct, frozen=True):
    """Of the reads on the device that jump as they were sent: their mean service time, and what it would be in the order of places.

    `part` (0..1): of the time of all reads, what goes if each of those that jump takes as long as the quickest tenth, or, where
    it would follow on the one before it, as passing from the end of that to its own takes. The ways in the order in which things are
    stored are shorter than the shortest of a run without order: only where the ways differ does their length count.
    """

    mean_ns: float
    ordered_ns: float
    part: float


_WAYS = """
WITH reads AS (
  SELECT complete_ns - sent_ns AS service_ns, seek_bytes <> 0 AS seeks,
    sector * 512 + bytes - lag(sector * 512 + bytes) OVER (ORDER BY sector, bytes) AS passed_bytes
  FROM command_requests WHERE dev = {dev} AND op = 'read' AND complete_ns > sent_ns
), tenths AS (
  SELECT service_ns, passed_bytes, ntile(10) OVER (ORDER BY service_ns) AS tenth FROM reads WHERE seeks
), ways AS (
  SELECT count(*) AS jumps, avg(service_ns) AS mean_ns, avg(service_ns) FILTER (WHERE tenth = 1) AS quickest_ns FROM tenths
), ordered AS (
  SELECT w.jumps, w.mean_ns, avg(CASE
      WHEN w.quickest_ns <= {differ} * w.mean_ns THEN least(w.quickest_ns, greatest(0, t.passed_bytes) / {bytes_per_ns})
      ELSE w.quickest_ns END) AS ordered_ns
  FROM tenths AS t CROSS JOIN ways AS w GROUP BY w.jumps, w.mean_ns
)
SELECT mean_ns, ordered_ns, greatest(0, mean_ns - ordered_ns) * jumps / all_ns AS part
FROM ordered, (SELECT sum(service_ns) AS all_ns FROM reads) AS r
WHERE jumps >= {least} AND all_ns > 0
"""


def ways(relations: Relations, requests: Requests, bytes_per_s: float) -> Ways | None:
    """How much of the reads' time is the way, on a device that moves so much in order; None where too few jump."""
    if requests.dev is None or not requests.reads:
        return None
    rate = bytes_per_s / 1e9
    return relations.first(
        Ways, _WAYS.format(dev=requests.dev, least=JUMPS_MIN, differ=DIFFER, bytes_per_ns=rate)
    )
