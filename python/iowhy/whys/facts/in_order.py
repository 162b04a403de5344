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
    """Of the reads on the device that jump as they were sent: their mean service time, and that of the quickest tenth.

    `part` (0..1): of the time of all reads, what goes if each of those that jump takes as long as the quickest. The
    ways in the order in which things are stored are shorter than the shortest of a run without order, so that those say nothing.
    """

    mean_ns: float
    quickest_ns: float
    part: float


_WAYS = """
WITH reads AS (
  SELECT complete_ns - sent_ns AS service_ns, seek_bytes <> 0 AS seeks
  FROM command_requests WHERE dev = {dev} AND op = 'read' AND complete_ns > sent_ns
), tenths AS (
  SELECT service_ns, ntile(10) OVER (ORDER BY service_ns) AS tenth FROM reads WHERE seeks
)
SELECT mean_ns, quickest_ns, greatest(0, mean_ns - quickest_ns) * jumps / all_ns AS part
FROM (
  SELECT count(*) AS jumps, avg(service_ns) AS mean_ns,
    avg(CASE WHEN tenth = 1 THEN service_ns END) AS quickest_ns
  FROM tenths
) AS t, (SELECT sum(service_ns) AS all_ns FROM reads) AS r
WHERE jumps >= {least} AND all_ns > 0
"""


def ways(relations: Relations, requests: Requests) -> Ways | None:
    """How much of the reads' time is the way, by those that are quick; None where too few jump."""
    if requests.dev is None or not requests.reads:
        return None
    return relations.first(Ways, _WAYS.format(dev=requests.dev, least=JUMPS_MIN))
