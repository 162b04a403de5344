"""Block requests: size, order, depth and service on the device that the command waits for most.

Requests on a loop device appear again on the disk under it; they count where the filesystem is (see
the relation counted_requests).
"""

from msgspec import Struct
from msgspec.structs import replace

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
    `others_share`: of the time of all requests on the device, that of other processes' requests; of the time that the device works, where
    that is more: a deep queue of the command's own hides who is served before it. `written_back`: the
    kernel's workers made most of these, so that they are what somebody made dirty before; `others_name` is then a file.
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
    written_back: bool = False
    dirtied_by: Culprit | None = None
    owners: tuple[Owner, ...] = ()
    other_file_bytes: float | None = None
    rotational: bool | None = None


_TOTALS = """
WITH t AS (SELECT t.dev, coalesce(any_value(d.name), (t.dev >> 20) || ':' || (t.dev & 1048575)) AS device,
  any_value(d.rotational) AS rotational,
  sum(CASE WHEN own THEN requests ELSE 0 END) AS count,
  sum(CASE WHEN own AND op = 'read' THEN requests ELSE 0 END) AS reads,
  sum(CASE WHEN own AND op = 'write' THEN requests ELSE 0 END) AS writes,
  sum(CASE WHEN own THEN bytes ELSE 0 END) AS bytes,
  sum(CASE WHEN own AND op = 'read' THEN bytes ELSE 0 END) AS read_bytes,
  sum(CASE WHEN own AND op = 'write' THEN bytes ELSE 0 END) AS write_bytes,
  coalesce(sum(CASE WHEN own THEN time_ns END), 0) AS time_ns,
  coalesce(sum(time_ns), 0) AS all_time_ns,
  coalesce(sum(CASE WHEN whose = 'others' THEN time_ns END), 0) / nullif(sum(time_ns), 0) AS others_share,
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
SELECT true AS known, * EXCLUDE (waited_ns, all_time_ns) FROM weighed WHERE count > 0 OR waited_ns > 0
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


def slow(rotational: bool | None) -> str:
    """The condition for a request that took far longer than the others, or that the device still had in the end.

    `middle` is the median of their `service`.
    """
    return f"service > {slow_ns(rotational)} AND service > 20 * middle"


def slow_ns(rotational: bool | None) -> int:
    """What no request takes on a disk that is well: one that turns may have a queue to sort, flash has nothing of the kind."""
    return 50_000_000 if rotational is False else 100_000_000


# Sizes, order and service times of the command's requests of one direction, or of both.
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
SELECT m.median_bytes, CASE WHEN j.steps >= {least} THEN j.jumps / j.steps END AS jump_share,
  m.middle AS median_service_ns, m.mean_ns AS mean_service_ns,
  (late.ns + open.ns) / nullif(m.all_ns + open.ns, 0) AS slow_share,
  late.requests + open.requests AS slow_count
FROM m, late, open, j
"""

#: Requests of a recording whose times fit the memory without a thought, with what else a query keeps.
FEW_REQUESTS = 8_000_000

_EACH = """r AS {kept} (
  SELECT bytes, complete_ns - sent_ns AS service FROM command_data_requests WHERE dev = {dev} AND {way}
)"""

_OF_FEW = """
  SELECT median(bytes) AS median_bytes, median(service) AS middle, avg(service) AS mean_ns, sum(service) AS all_ns
  FROM r"""

# The same of any number of requests, which are read more than once and not kept.
_OF_MANY = f"""
  SELECT max(CASE WHEN what = 'bytes' THEN p50_n END) AS median_bytes,
    max(CASE WHEN what = 'service' THEN p50_n END) AS middle,
    max(t.mean_ns) AS mean_ns, max(t.all_ns) AS all_ns
  FROM ({
    percentiles_sql(
        ("what",),
        ("p50_n",),
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
  SELECT what, min(CASE WHEN upto > floor(last / 2) THEN value END) AS low,
    min(CASE WHEN upto > ceil(last / 2) THEN value END) AS high, max(last / 2 - floor(last / 2)) AS part
  FROM placed GROUP BY what
)"""

_OF_COUNTED = """
  SELECT max(CASE WHEN what = 'bytes' THEN low + (high - low) * part END) AS median_bytes,
    max(CASE WHEN what = 'service' THEN low + (high - low) * part END) AS middle,
    max(t.mean_ns) AS mean_ns, max(t.all_ns) AS all_ns
  FROM points, (
    SELECT sum(service * requests) AS all_ns, sum(service * requests) / sum(requests) AS mean_ns FROM r
  ) AS t"""


# A device works for a request from when it was issued, or the one before was done, until it is done: however many wait behind it.
_WORK = """
WITH done AS (
  SELECT in_scope, complete_ns - greatest(coalesce(issue_ns, queue_ns), lag(complete_ns) OVER (ORDER BY complete_ns, queue_ns)) AS work_ns
  FROM block_requests
  WHERE dev = {dev} AND complete_ns IS NOT NULL AND (op <> 'write' OR bytes > 0)
)
SELECT coalesce(sum(CASE WHEN NOT in_scope THEN work_ns END), 0) / nullif(sum(work_ns), 0)::DOUBLE FROM done
"""


# What both unions hold beyond the union of all is where they overlap.
_LOAD = """
SELECT coalesce(sum(busy_ns), 0) / nullif({elapsed_ns}, 0) AS busy_share,
  coalesce(sum({own}_busy_ns), 0) / nullif({elapsed_ns}, 0) AS own_busy_share,
  coalesce(sum(ours_busy_ns), 0) / nullif({elapsed_ns}, 0) AS ours_busy_share,
  sum(area_ns) / nullif(sum(busy_ns), 0) AS depth, sum({own}_area_ns) / nullif(sum({own}_busy_ns), 0) AS own_depth,
  sum(ours_busy_ns + others_busy_ns - busy_ns) / nullif(sum(ours_busy_ns), 0) AS others_beside_share
FROM flight_sums WHERE dev = {dev}
"""


def measure(relations: Relations, direction: str | None, pasted: bool) -> Requests:
    """From block_requests; of the `direction` that the command waits for, None for both."""
    if not relations.has("block_requests"):
        return Requests(known="block_requests" in relations.facts.ran and not pasted)
    waited = _WAITED if relations.has("waits") else "0"
    totals_sql = _TOTALS.format(waited=waited)
    totals = relations.first(Requests, totals_sql)
    if totals is None or totals.dev is None:
        return Requests(known=True)
    dev, way = totals.dev, of(direction)
    own = "command" if direction is None else f"command_{direction}"
    flushes = flushed(relations)
    work = relations.value(float, _WORK.format(dev=dev)) if totals.others_share else None
    culprit = most_loading(relations, "requests", dev) if totals.others_share else None
    by_others = relations.has("dirtied_by_others")
    dirtier = most_loading(relations, "dirty pages", dev) if by_others else None
    found = relations.one(
        Requests,
        totals_sql,
        _shape_sql(relations, dev, way, slow(totals.rotational)),
        _LOAD.format(dev=dev, own=own, elapsed_ns=relations.facts.elapsed_ns),
        direction=direction,
        flushes=sum(one.count for one in flushes),
        flush_ns=sum(one.time_ns for one in flushes),
        flush_wall_ns=flushing_ns(relations, flushes),
        flushed=flushes,
        others_name=_others(relations, dev, culprit),
        written_back=culprit is not None and culprit.is_kernel and _mostly_write(relations, dev),
        dirtied_by=None if dirtier is None or dirtier.is_kernel else dirtier,
        owners=owners(relations, dev, totals.time_ns),
        other_file_bytes=_unsynced_bytes(relations, dev),
    )
    return (
        found if work is None else replace(found, others_share=max(work, found.others_share or 0.0))
    )


def _shape_sql(relations: Relations, dev: int, way: str, late: str) -> str:
    if relations.has("size_sums") and relations.has("service_sums"):
        return counted_shape_sql(dev, way, late)
    return shape_sql(dev, way, late, few=relations.size("block_requests") <= FEW_REQUESTS)


def shape_sql(dev: int, way: str, late: str, *, few: bool) -> str:
    """The statement for the shape of the command's requests on a device: of `few`, their values are kept."""
    middles, kept = (_OF_FEW, "") if few else (_OF_MANY, "NOT MATERIALIZED")
    values = _EACH.format(dev=dev, way=way, kept=kept)
    parts = {"values": values, "middles": middles, "ns": "service", "number": "count(*)"}
    return _SHAPE.format(dev=dev, way=way, slow=late, least=STEPS_MIN, **parts)


def counted_shape_sql(dev: int, way: str, late: str) -> str:
    """The same by how many requests have each length and time, which the recorder counted."""
    number = "coalesce(sum(requests), 0)"
    parts = {"middles": _OF_COUNTED, "ns": "service * requests", "number": number}
    values = _COUNTED.format(dev=dev, way=way)
    return _SHAPE.format(dev=dev, way=way, slow=late, least=STEPS_MIN, values=values, **parts)


def of(direction: str | None) -> str:
    """The condition for the requests of a direction, of both for None."""
    return "true" if direction is None else f"op = '{direction}'"


def _mostly_write(relations: Relations, dev: int) -> bool:
    """Whether others' requests on the device are writes, by most of their time."""
    writes = "sum(CASE WHEN op = 'write' THEN time_ns ELSE 0 END)"
    return bool(
        relations.value(
            bool,
            f"""SELECT coalesce(2 * {writes} > sum(time_ns), false) FROM request_totals
            WHERE dev = {dev} AND whose = 'others'""",
        )
    )


def _others(relations: Relations, dev: int, culprit: Culprit | None) -> str | None:
    """Who else used the device most, with the file that it used most; where no process is known, or only the kernel's workers, the file."""
    whose = ""
    if culprit is not None:
        whose = f"""AND q.tgid IN (
          SELECT g.tgid FROM process_groups AS g
          WHERE g.group_key = (SELECT group_key FROM process_groups WHERE tgid = {culprit.tgid})
          UNION ALL SELECT {culprit.tgid})"""
    path = relations.value(
        str,
        f"""
        SELECT f.path FROM (
          SELECT q.owner_dev, q.owner_ino FROM other_sums AS q WHERE q.dev = {dev} {whose}
          GROUP BY q.owner_dev, q.owner_ino
          ORDER BY sum(q.all_time_ns) DESC NULLS LAST, q.owner_dev, q.owner_ino LIMIT 1) AS b
        LEFT JOIN named_files AS f ON f.dev = b.owner_dev AND f.ino = b.owner_ino LIMIT 1
        """,
    )
    return path if culprit is None or culprit.is_kernel else culprit.who(path)


def _unsynced_bytes(relations: Relations, dev: int) -> float | None:
    """Bytes of data written to the device for files that the command never synced itself.

    This is what a journal commit may carry along with a small fsync.
    """
    if not relations.has("syscalls"):
        return None
    return relations.value(
        float,
        f"""
        SELECT coalesce(sum(r.bytes), 0) AS bytes FROM request_totals AS r
        WHERE r.dev = {dev} AND r.op = 'write' AND r.owner_kind = 'data' AND NOT EXISTS (
          SELECT 1 FROM calls_by_file AS s
          WHERE s.name IN {classes.quoted(classes.SYNC_CALLS)}
            AND s.dev = r.owner_dev AND s.ino = r.owner_ino)
        """,
    )


def read_again(relations: Relations) -> float:
    """Of the command's reads, the share from places that it had read: past the page cache nothing else counts them."""
    share = relations.value(
        float,
        "SELECT 1 - count(DISTINCT (dev, sector)) / nullif(count(*), 0) FROM command_data_requests WHERE op = 'read'",
    )
    return share or 0.0
