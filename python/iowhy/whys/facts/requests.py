"""Block requests: size, order, depth and service on the device that the command waits for most.

Requests on a loop device appear again on the disk under it; they count where the filesystem is (see
the relation counted_requests).
"""

from msgspec import Struct

from iowhy.relations import Relations
from iowhy.relations.percentiles import percentiles_sql
from iowhy.whys import classes
from iowhy.whys.facts.culprits import Culprit, most_loading
from iowhy.whys.facts.flushing import Flushed, flushed, flushing_ns
from iowhy.whys.facts.owners import Owner, owners

#: Requests that follow another one, below which their order is chance.
STEPS_MIN = 16


class Requests(Struct, frozen=True):
    """`known` is false when no requests were recorded; times are from queue to completion.

    Shares are 0..1. `count` to `time_ns` are of the command's reads and writes. `jump_share`: of
    those, requests that jump (see the relation command_requests).
    `direction`: read or write where the command waits for one of them most of the time; sizes,
    order, service and its own depth are then of that one.
    `dirtied_by`: who outside the command made most pages dirty on its filesystems.
    `others_share`: of the time of all requests on the device, that of other processes' requests.
    `others_beside_share`: of the time with a request of the command (or of a kernel thread) in
    flight, that with one of another process in flight too.
    `busy_share`: of the elapsed time, with at least one request in flight; `depth`: the mean number
    in flight while there is one. `flushed`: the devices that emptied their caches for the command, most
    time first; `flushes` to `flush_wall_ns` are of all of them, the last the time in which one did so.
    `unseen`: of `count`, those whose end was not seen: they are in no time.
    """

    known: bool
    dev: int | None = None
    device: str | None = None
    direction: str | None = None
    count: int = 0
    bytes: float = 0.0
    reads: int = 0
    writes: int = 0
    read_bytes: float = 0.0
    write_bytes: float = 0.0
    time_ns: float = 0.0
    median_bytes: float | None = None
    jump_share: float | None = None
    median_service_ns: float | None = None
    mean_service_ns: float | None = None
    p99_service_ns: float | None = None
    slow_share: float | None = None
    slow_count: int = 0
    busy_share: float | None = None
    own_busy_share: float | None = None
    ours_busy_share: float | None = None
    depth: float | None = None
    own_depth: float | None = None
    errors: int = 0
    unseen: int = 0
    flushes: int = 0
    flush_ns: float = 0.0
    flush_wall_ns: float | None = None
    flushed: tuple[Flushed, ...] = ()
    others_share: float | None = None
    others_beside_share: float | None = None
    others_bytes: float = 0.0
    others_name: str | None = None
    dirtied_by: Culprit | None = None
    owners: tuple[Owner, ...] = ()
    other_file_bytes: float | None = None
    max_request_bytes: int | None = None
    rotational: bool | None = None


class _Totals(Struct, frozen=True):
    """The requests of one device; those of the command first."""

    dev: int
    device: str
    max_request_bytes: int | None
    rotational: bool | None
    count: int
    reads: int
    writes: int
    read_bytes: int
    write_bytes: int
    time_ns: int
    all_time_ns: int
    others_time_ns: int
    others_bytes: int
    errors: int
    unseen: int


_TOTALS = """
WITH t AS (SELECT t.dev, coalesce(any_value(d.name), (t.dev >> 20) || ':' || (t.dev & 1048575)) AS device,
  any_value(d.max_request_bytes) AS max_request_bytes, any_value(d.rotational) AS rotational,
  sum(CASE WHEN own THEN requests ELSE 0 END) AS count,
  sum(CASE WHEN own AND op = 'read' THEN requests ELSE 0 END) AS reads,
  sum(CASE WHEN own AND op = 'write' THEN requests ELSE 0 END) AS writes,
  sum(CASE WHEN own AND op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
  sum(CASE WHEN own AND op = 'write' THEN bytes ELSE 0 END) AS write_bytes,
  coalesce(sum(CASE WHEN own THEN time_ns END), 0) AS time_ns,
  coalesce(sum(time_ns), 0) AS all_time_ns,
  coalesce(sum(CASE WHEN whose = 'others' THEN time_ns END), 0) AS others_time_ns,
  sum(CASE WHEN whose = 'others' THEN bytes ELSE 0 END) AS others_bytes,
  sum(failed) AS errors,
  sum(CASE WHEN own THEN unseen ELSE 0 END) AS unseen
FROM (
  SELECT *, counted AND whose = 'command' AND op IN ('read', 'write') AS own FROM request_totals
) AS t
LEFT JOIN devices AS d ON d.dev = t.dev
GROUP BY t.dev
), weighed AS (
  SELECT t.*, {waited} AS waited_ns
  FROM t
)
SELECT * EXCLUDE (waited_ns) FROM weighed WHERE count > 0 OR waited_ns > 0
ORDER BY waited_ns DESC, time_ns DESC, dev
LIMIT 1
"""

# What is waited for on a device: what the waits' files say; a wait that no file places lies where the command's own
# requests took their time, and sync(2) also where others' writes did.
_WAITED = """
  coalesce((SELECT sum(waited_ns) FROM waited_devices AS w WHERE w.dev = t.dev), 0)
  + coalesce((SELECT sum(waited_ns) FROM waited_devices WHERE dev IS NULL AND NOT everywhere), 0)
    * coalesce(t.time_ns / nullif(sum(t.time_ns) OVER (), 0)::DOUBLE, 0)
  + coalesce((SELECT sum(waited_ns) FROM waited_devices WHERE dev IS NULL AND everywhere), 0)
    * coalesce(t.all_time_ns / nullif(sum(t.all_time_ns) OVER (), 0)::DOUBLE, 0)
"""


class _Shape(Struct, frozen=True):
    """Sizes, order and service times of the command's requests of one direction, or of both.

    A slow request took more than 100 ms and more than 20 times the median: `slow_share` is theirs of
    all service time.
    """

    median_bytes: float | None
    steps: int
    jumps: int
    median_service_ns: float | None
    mean_service_ns: float | None
    p99_service_ns: float | None
    slow_share: float | None
    slow_count: int


#: A request that took far longer than the others, or that the device still had in the end; `middle` is the median of their `service`.
SLOW = "service > 1e8 AND service > 20 * middle"

_SHAPE = """
WITH {values}, m AS ({middles}
), late AS (
  SELECT coalesce(sum({ns}), 0) AS ns, {number} AS requests FROM r, m WHERE {slow}
), open AS (
  SELECT coalesce(sum(service), 0) AS ns, count(*) AS requests
  FROM (SELECT end_ns - sent_ns AS service FROM unanswered_requests WHERE dev = {dev} AND {way}), m WHERE {slow}
), j AS (
  SELECT coalesce(sum(steps), 0) AS steps, coalesce(sum(jumps), 0) AS jumps FROM jump_totals
  WHERE dev = {dev} AND {way}
)
SELECT m.median_bytes, j.steps, j.jumps, m.middle AS median_service_ns, m.mean_ns AS mean_service_ns,
  m.most_ns AS p99_service_ns, (late.ns + open.ns) / nullif(m.all_ns + open.ns, 0) AS slow_share,
  late.requests + open.requests AS slow_count
FROM m, late, open, j
"""

#: Requests of a recording whose times fit the memory without a thought, with what else a query keeps.
FEW_REQUESTS = 8_000_000

_EACH = """r AS {kept} (
  SELECT bytes, complete_ns - sent_ns AS service FROM command_data_requests WHERE dev = {dev} AND {way}
)"""

_OF_FEW = """
  SELECT median(bytes) AS median_bytes, quantile_cont(service, [0.5, 0.99]) AS points,
    points[1] AS middle, points[2] AS most_ns, avg(service) AS mean_ns, sum(service) AS all_ns
  FROM r"""

# The same of any number of requests, which are read more than once and not kept.
_OF_MANY = f"""
  SELECT max(CASE WHEN what = 'bytes' THEN p50_n END) AS median_bytes,
    max(CASE WHEN what = 'service' THEN p50_n END) AS middle,
    max(CASE WHEN what = 'service' THEN p99_n END) AS most_ns,
    max(t.mean_ns) AS mean_ns, max(t.all_ns) AS all_ns
  FROM ({
    percentiles_sql(
        ("what",),
        ("p50_n", "p99_n"),
        "SELECT 'bytes' AS what, bytes AS value FROM r UNION ALL "
        "SELECT 'service', service FROM r WHERE service IS NOT NULL",
    )
}) AS p, (SELECT avg(service) AS mean_ns, sum(service) AS all_ns FROM r) AS t"""

# What the recorder counted: how many have each value.
_COUNTED = """r AS (
  SELECT service_ns AS service, sum(requests) AS requests FROM service_times
  WHERE dev = {dev} AND {way} AND service_ns IS NOT NULL GROUP BY service_ns
), sizes AS (
  SELECT bytes, sum(requests) AS requests FROM request_sizes WHERE dev = {dev} AND {way} GROUP BY bytes
), placed AS (
  SELECT 'service' AS what, service AS value, sum(requests) OVER (ORDER BY service) AS upto,
    sum(requests) OVER () - 1 AS last FROM r
  UNION ALL
  SELECT 'bytes', bytes, sum(requests) OVER (ORDER BY bytes), sum(requests) OVER () - 1 FROM sizes
), points AS (
  -- On the line between two values, as quantile_cont has it.
  SELECT p.what, q.point, min(CASE WHEN p.upto > floor(p.last * q.point) THEN p.value END) AS low,
    min(CASE WHEN p.upto > ceil(p.last * q.point) THEN p.value END) AS high,
    max(p.last * q.point - floor(p.last * q.point)) AS part
  FROM placed AS p, (SELECT unnest([CAST(0.5 AS DOUBLE), CAST(0.99 AS DOUBLE)]) AS point) AS q
  GROUP BY p.what, q.point
)"""

_OF_COUNTED = """
  SELECT max(CASE WHEN what = 'bytes' AND point = 0.5 THEN low + (high - low) * part END) AS median_bytes,
    max(CASE WHEN what = 'service' AND point = 0.5 THEN low + (high - low) * part END) AS middle,
    max(CASE WHEN what = 'service' AND point = 0.99 THEN low + (high - low) * part END) AS most_ns,
    max(t.mean_ns) AS mean_ns, max(t.all_ns) AS all_ns
  FROM points, (
    SELECT sum(service * requests) AS all_ns, sum(service * requests) / sum(requests) AS mean_ns FROM r
  ) AS t"""


class _Load(Struct, frozen=True):
    area_ns: int
    busy_ns: int
    own_area_ns: int
    own_busy_ns: int
    others_busy_ns: int
    ours_busy_ns: int


def measure(relations: Relations, direction: str | None, pasted: bool) -> Requests:
    """From block_requests; of the `direction` that the command waits for, None for both."""
    if not relations.has("block_requests"):
        return Requests(known="block_requests" in relations.facts.ran and not pasted)
    waited = _WAITED if relations.has("waits") else "0"
    found = relations.read(_Totals, _TOTALS.format(waited=waited))
    if not found:
        return Requests(known=True)
    totals = found[0]
    dev, way = totals.dev, of(direction)
    shape = _shape(relations, dev, way)
    load = _load(relations, dev, direction)
    flushes = flushed(relations)
    elapsed_ns = relations.facts.elapsed_ns
    all_ns = totals.all_time_ns
    return Requests(
        known=True,
        dev=dev,
        device=totals.device,
        direction=direction,
        count=totals.count,
        bytes=float(totals.read_bytes + totals.write_bytes),
        reads=totals.reads,
        writes=totals.writes,
        read_bytes=float(totals.read_bytes),
        write_bytes=float(totals.write_bytes),
        time_ns=float(totals.time_ns),
        median_bytes=shape.median_bytes,
        jump_share=shape.jumps / shape.steps if shape.steps >= STEPS_MIN else None,
        median_service_ns=shape.median_service_ns,
        mean_service_ns=shape.mean_service_ns,
        p99_service_ns=shape.p99_service_ns,
        slow_share=shape.slow_share,
        slow_count=shape.slow_count,
        busy_share=_over(load.busy_ns, elapsed_ns),
        own_busy_share=_over(load.own_busy_ns, elapsed_ns),
        ours_busy_share=_over(load.ours_busy_ns, elapsed_ns),
        depth=_over(load.area_ns, load.busy_ns),
        own_depth=_over(load.own_area_ns, load.own_busy_ns),
        errors=totals.errors,
        unseen=totals.unseen,
        flushes=sum(one.count for one in flushes),
        flush_ns=sum(one.time_ns for one in flushes),
        flush_wall_ns=flushing_ns(relations, flushes),
        flushed=flushes,
        others_share=_over(totals.others_time_ns, all_ns),
        # What both unions hold beyond the union of all is where they overlap.
        others_beside_share=_over(
            load.ours_busy_ns + load.others_busy_ns - load.busy_ns, load.ours_busy_ns
        ),
        others_bytes=float(totals.others_bytes),
        others_name=_others(relations, dev) if totals.others_time_ns else None,
        dirtied_by=most_loading(relations, "dirty pages", dev)
        if relations.has("dirtied_by_others")
        else None,
        owners=owners(relations, dev, totals.time_ns),
        other_file_bytes=_unsynced_bytes(relations, dev),
        max_request_bytes=totals.max_request_bytes,
        rotational=totals.rotational,
    )


def _shape(relations: Relations, dev: int, way: str) -> _Shape:
    if relations.has("size_sums") and relations.has("service_sums"):
        return relations.one(_Shape, counted_shape_sql(dev, way))
    few = relations.size("block_requests") <= FEW_REQUESTS
    return relations.one(_Shape, shape_sql(dev, way, few=few))


def shape_sql(dev: int, way: str, *, few: bool) -> str:
    """The statement for the shape of the command's requests on a device: of `few`, their values are kept."""
    middles, kept = (_OF_FEW, "") if few else (_OF_MANY, "NOT MATERIALIZED")
    values = _EACH.format(dev=dev, way=way, kept=kept)
    parts = {"values": values, "middles": middles, "ns": "service", "number": "count(*)"}
    return _SHAPE.format(dev=dev, way=way, slow=SLOW, **parts)


def counted_shape_sql(dev: int, way: str) -> str:
    """The same by how many requests have each length and time, which the recorder counted."""
    number = "coalesce(sum(requests), 0)"
    parts = {"middles": _OF_COUNTED, "ns": "service * requests", "number": number}
    values = _COUNTED.format(dev=dev, way=way)
    return _SHAPE.format(dev=dev, way=way, slow=SLOW, values=values, **parts)


def of(direction: str | None) -> str:
    """The condition for the requests of a direction, of both for None."""
    return "true" if direction is None else f"op = '{direction}'"


def _over(part: float, whole: float) -> float | None:
    """A part of a whole; None if there is no whole."""
    return part / whole if whole else None


def _load(relations: Relations, dev: int, direction: str | None) -> _Load:
    own = "command" if direction is None else f"command_{direction}"
    found = relations.read(
        _Load,
        f"""SELECT area_ns, busy_ns, {own}_area_ns AS own_area_ns, {own}_busy_ns AS own_busy_ns,
        others_busy_ns, ours_busy_ns FROM flight_sums WHERE dev = {dev}""",
    )
    return found[0] if found else _Load(0, 0, 0, 0, 0, 0)


class _Path(Struct, frozen=True):
    path: str | None


def _others(relations: Relations, dev: int) -> str | None:
    """Who else used the device most (the relation competing_load), with the file that it used most; where no process is known, the file."""
    culprit = most_loading(relations, "requests", dev)
    whose = ""
    if culprit is not None:
        whose = f"""AND q.tgid IN (
          SELECT g.tgid FROM process_groups AS g
          WHERE g.group_key = (SELECT group_key FROM process_groups WHERE tgid = {culprit.tgid})
          UNION ALL SELECT {culprit.tgid})"""
    found = relations.read(
        _Path,
        f"""
        SELECT f.path FROM (
          SELECT q.owner_dev, q.owner_ino FROM other_sums AS q WHERE q.dev = {dev} {whose}
          GROUP BY q.owner_dev, q.owner_ino
          ORDER BY sum(q.all_time_ns) DESC NULLS LAST, q.owner_dev, q.owner_ino LIMIT 1) AS b
        LEFT JOIN named_files AS f ON f.dev = b.owner_dev AND f.ino = b.owner_ino LIMIT 1
        """,
    )
    path = found[0].path if found else None
    return path if culprit is None else culprit.who(path)


class _Bytes(Struct, frozen=True):
    bytes: int


def _unsynced_bytes(relations: Relations, dev: int) -> float | None:
    """Bytes of data written to the device for files that the command never synced itself.

    This is what a journal commit may carry along with a small fsync.
    """
    if not relations.has("syscalls"):
        return None
    found = relations.one(
        _Bytes,
        f"""
        SELECT coalesce(sum(r.bytes), 0) AS bytes FROM request_totals AS r
        WHERE r.dev = {dev} AND r.op = 'write' AND r.owner_kind = 'data' AND NOT EXISTS (
          SELECT 1 FROM calls_by_file AS s
          WHERE s.name IN {classes.quoted(classes.SYNC_CALLS)}
            AND s.dev = r.owner_dev AND s.ino = r.owner_ino)
        """,
    )
    return float(found.bytes)
