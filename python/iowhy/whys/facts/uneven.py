"""A device that answers the same requests far later than at other times, or than its twins."""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.whys.facts.layers import Layers
from iowhy.whys.facts.requests import Requests
from iowhy.whys.facts.stalls import OUTLIERS, SHALLOW

#: So many times what it usually takes: less is the spread of seeks, of a queue of two, of work in the background.
TIMES = 3.0
#: And at least so much: flash answers in 0.1 ms, behind a network in 1 ms; one that turns may have its longest way to go.
FLASH_NS = 2e6
TURNS_NS = 20e6
#: Up to so many times the usual, a moment is a quick one.
QUICK = 1.5
#: Requests, at least, of each of what is compared.
REQUESTS_MIN = 16
#: Quick moments (of 100 ms), at least.
MOMENTS_MIN = 3
#: Recordings with more requests are not looked through: it would take longer than all else.
MOST_REQUESTS = 4_000_000


class Uneven(Struct, frozen=True):
    """One device and direction: half of its late requests take `late_ns`, half of the others `usual_ns`; `part` of the waiting is more
    than it would be.

    `bytes`: of the late ones, half are no larger. `since_ns` to `until_ns`: first and last late moment since the start, where the others are
    its own; else `twin` is whose they are.
    """

    name: str
    op: str
    late_ns: float
    usual_ns: float
    bytes: float
    part: float
    since_ns: int | None = None
    until_ns: int | None = None
    twin: str | None = None


class _Device(Struct, frozen=True):
    dev: int
    name: str
    rotational: bool | None
    kind: str


# Requests that were sent while hardly anything else was under way, and no flush; what is compared is of one size, direction and order.
_ALONE = """
WITH r AS (
  SELECT dev, op, bytes, sector, coalesce(issue_ns, queue_ns) AS sent, complete_ns AS done,
    coalesce(list_has_any(flags, ['fua', 'preflush']), false) AS durable
  FROM block_requests
  WHERE dev IN ({devs}) AND complete_ns IS NOT NULL AND NOT (op = 'write' AND bytes = 0)
), n AS (
  SELECT *, row_number() OVER w AS number,
    max(CASE WHEN op = 'flush' THEN done END) OVER w AS flushing_until,
    lag(sector + bytes // 512) OVER (PARTITION BY dev, op ORDER BY sent, sector) IS DISTINCT FROM sector AS jumps
  FROM r WINDOW w AS (PARTITION BY dev ORDER BY sent, done)
), c AS (SELECT dev, done AS t, row_number() OVER (PARTITION BY dev ORDER BY done) AS number FROM r
), alone AS (
  SELECT n.dev, n.op, n.sent, n.bytes, n.done - n.sent AS service, [n.op, floor(log2(n.bytes))::VARCHAR, n.durable::VARCHAR, n.jumps::VARCHAR] AS cell
  FROM n ASOF LEFT JOIN c ON n.dev = c.dev AND n.sent >= c.t
  WHERE n.op IN ('read', 'write') AND n.bytes > 0 AND n.number - coalesce(c.number, 0) <= {shallow}
    AND coalesce(n.flushing_until, 0) <= n.sent
), whole AS (
  -- A write is safe once a flush has ended: that wait counts, too.
  SELECT dev, CASE op WHEN 'flush' THEN 'write' ELSE op END AS op, sum(done - sent) AS ns
  FROM r WHERE op IN ('read', 'write', 'flush') GROUP BY ALL
)
"""

# Of each 100 ms, how much longer than their like quick ones half of the requests take.
_BY_ITSELF = (
    _ALONE
    + """, quick AS (
  SELECT dev, cell, quantile_cont(service, 0.1) AS ns FROM alone GROUP BY dev, cell HAVING count(*) >= {least}
), moments AS (
  SELECT a.dev, a.op, (a.sent - t.start_ns) // 100000000 AS moment, median(a.service / greatest(q.ns, 1)) AS times,
    median(a.service) AS middle, median(a.bytes) AS bytes, sum(a.service) AS ns, sum(a.service - q.ns) AS more_ns, count(*) AS number
  FROM alone AS a JOIN quick AS q USING (dev, cell) CROSS JOIN recording AS t GROUP BY ALL
), marked AS (
  SELECT *, times >= {times} AND middle >= {floor_ns} + bytes * 20 AS late, times <= {quick} AS soon FROM moments
), found AS (
  SELECT dev, op, median(middle) FILTER (late) AS late_ns, median(middle) FILTER (soon) AS usual_ns,
    median(bytes) FILTER (late) AS bytes, sum(more_ns) FILTER (late) AS more_ns,
    sum(number) FILTER (late) AS late_number, sum(number) FILTER (soon) AS soon_number, count(*) FILTER (soon) AS soon_moments,
    min(moment) FILTER (late) * 100000000 AS since_ns, (max(moment) FILTER (late) + 1) * 100000000 AS until_ns,
    max(moment) FILTER (soon) > min(moment) FILTER (late) AS recovers
  FROM marked GROUP BY dev, op
)
SELECT f.dev, f.op, f.late_ns, f.usual_ns, f.bytes, f.more_ns / w.ns AS part, f.since_ns, f.until_ns
FROM found AS f JOIN whole AS w USING (dev, op)
-- Writes that are slow from some time on fill a cache, and wait for it.
WHERE f.late_number >= {least} AND f.soon_number >= {least} AND f.soon_moments >= {moments} AND (f.recovers OR f.op = 'read')
ORDER BY f.more_ns DESC LIMIT 1
"""
)

_BY_ITS_TWINS = (
    _ALONE
    + """, middles AS (
  SELECT dev, op, cell, median(service) AS ns, median(bytes) AS bytes, count(*) AS number
  FROM alone GROUP BY dev, op, cell HAVING count(*) >= {least}
), compared AS (
  SELECT m.dev, m.op, m.cell, m.ns, m.bytes, m.number, median(o.ns) AS usual_ns, arg_min(o.dev, o.ns) AS twin
  FROM middles AS m JOIN middles AS o ON o.cell = m.cell AND o.dev <> m.dev GROUP BY ALL
), found AS (
  SELECT dev, op, sum(number * (ns - usual_ns)) AS more_ns, arg_max(ns, number) AS late_ns, arg_max(usual_ns, number) AS usual_ns,
    arg_max(bytes, number) AS bytes, arg_max(twin, number) AS twin
  FROM compared WHERE ns >= {times} * usual_ns AND ns >= {floor_ns} + bytes * 20 GROUP BY dev, op
)
SELECT f.dev, f.op, f.late_ns, f.usual_ns, f.bytes, f.more_ns / w.ns AS part, f.twin
FROM found AS f JOIN whole AS w USING (dev, op) ORDER BY f.more_ns DESC LIMIT 1
"""
)


class _Later(Struct, frozen=True):
    dev: int
    op: str
    late_ns: float
    usual_ns: float
    bytes: float
    part: float
    since_ns: int | None = None
    until_ns: int | None = None
    twin: int | None = None


def uneven(relations: Relations, requests: Requests, layers: Layers | None) -> Uneven | None:
    """Of the device that the command waits for most, of its like, and of the disks of an array; None where nothing is late."""
    if requests.dev is None or not relations.has("block_requests"):
        return None
    if relations.size("block_requests") > MOST_REQUESTS:
        return None
    known = {one.dev: one for one in relations.read(_Device, _DEVICES)}
    own = known.get(requests.dev)
    if own is None:
        return None
    members = {} if layers is None else layers.members
    floor_ns = FLASH_NS if own.rotational is False else TURNS_NS
    if not members and not _any_late(relations, floor_ns):
        return None
    alike = [dev for dev, one in known.items() if one.kind == own.kind]
    disks = [dev for dev in members if dev in known] or alike
    found = None
    if len(disks) > 1:
        found = _first(relations, _BY_ITS_TWINS, disks, floor_ns)
    if found is None:
        found = _first(relations, _BY_ITSELF, [*members, requests.dev], floor_ns)
    if found is None:
        return None
    part = found.part * (1.0 if found.dev in members else waited_share(relations, found.dev))
    if part < OUTLIERS:
        return None
    return Uneven(
        known[found.dev].name,
        found.op,
        found.late_ns,
        found.usual_ns,
        found.bytes,
        part,
        found.since_ns,
        found.until_ns,
        None if found.twin is None else known[found.twin].name,
    )


# Disks are alike by their model, size and driver (what their names begin with); a loop device or a volume may be on anything.
_DEVICES = """
SELECT dev, any_value(name) AS name, any_value(rotational) AS rotational,
  coalesce(any_value(model), '') || '|' || coalesce(any_value(size_bytes), -dev) || '|' || coalesce(any_value(rotational), false)
    || '|' || regexp_extract(any_value(name), '^(x?[a-z]d|[a-z]+)') AS kind
FROM devices WHERE dev IN (SELECT dev FROM request_places) GROUP BY dev
"""


def _any_late(relations: Relations, floor_ns: float) -> bool:
    """Whether requests take as long at all: this is quick to know, of any number of them."""
    late = relations.value(
        float,
        f"""SELECT sum(service_ns * requests) FILTER (service_ns >= {floor_ns}) / sum(service_ns * requests) AS share
        FROM service_times WHERE service_ns IS NOT NULL""",
    )
    return (late or 0.0) >= OUTLIERS / 2


def _first(relations: Relations, sql: str, devs: list[int], floor_ns: float) -> _Later | None:
    return relations.first(
        _Later,
        sql.format(
            devs=", ".join(map(str, devs)),
            shallow=int(SHALLOW),
            least=REQUESTS_MIN,
            times=TIMES,
            quick=QUICK,
            moments=MOMENTS_MIN,
            floor_ns=floor_ns,
        ),
    )


def waited_share(relations: Relations, dev: int) -> float:
    """Of the waiting for storage, that for this device; a wait of which the file is not known may be for any."""
    if not relations.has("waits"):
        return 1.0
    share = relations.value(
        float,
        f"""SELECT sum(waited_ns) FILTER (dev = {dev} OR dev IS NULL) / nullif(sum(waited_ns), 0) AS share
        FROM waited_devices WHERE NOT everywhere""",
    )
    return 1.0 if share is None else min(1.0, share)
