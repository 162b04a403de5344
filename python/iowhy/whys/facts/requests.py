"""Block requests: size, order, depth and service on the device that the command uses most.

Requests on a loop device appear again on the disk under it; the command's own device is the one on
top, the one whose requests name the command or its files.
"""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iowhy.whys import classes

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


@dataclass(frozen=True)
class Owner:
    """The data requests of one file."""

    dev: int
    ino: int
    path: str | None
    count: int
    bytes: float
    time_ns: float
    time_share: float
    median_bytes: float | None
    jump_share: float | None


@dataclass(frozen=True)
class Requests:
    """`known` is false when no requests were recorded; times are from queue to completion.

    Shares are 0..1. `jump_share`: requests that do not begin where the one before ended.
    `others_share`: of the time of all requests on the device, that of other processes' requests.
    `others_beside_share`: of the time with a request of the command (or of a kernel thread) in
    flight, that with one of another process in flight too.
    `busy_share`: of the elapsed time, with at least one request in flight; `depth`: the mean number
    in flight while there is one.
    """

    known: bool
    dev: int | None = None
    device: str | None = None
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
    depth: float | None = None
    own_depth: float | None = None
    errors: int = 0
    flushes: int = 0
    flush_ns: float = 0.0
    flush_wall_ns: float | None = None
    journal_requests: int = 0
    journal_bytes: float = 0.0
    others_share: float | None = None
    others_beside_share: float | None = None
    others_bytes: float = 0.0
    others_name: str | None = None
    unowned_share: float | None = None
    owners: tuple[Owner, ...] = ()
    other_file_bytes: float | None = None
    max_request_bytes: int | None = None
    rotational: bool | None = None
    named: dict[int, str] = field(default_factory=dict)


#: Share of the waiting for storage from which reads, or writes, are what is looked at.
MOSTLY = 0.75

_GROUPED = """
CREATE TEMP TABLE IF NOT EXISTS why_requests AS
SELECT dev, op, owner_kind, in_scope, owner_dev, owner_ino, count(*) AS n,
  sum(bytes)::DOUBLE AS bytes, sum(complete_ns - queue_ns)::DOUBLE AS time_ns,
  sum(CASE WHEN error <> 0 THEN 1 ELSE 0 END) AS errors
FROM block_requests GROUP BY dev, op, owner_kind, in_scope, owner_dev, owner_ino
"""

#: A request is the command's data: reads and writes that name it or its files. What kernel threads
#: submit for everybody (journal, metadata, flush) has in_scope NULL.
_OWN = "in_scope AND op IN ('read', 'write') AND coalesce(owner_kind, 'unknown') <> 'flush'"

#: A request that took far longer than the others; `middle` is the median of their `service`.
_SLOW = "service > 1e8 AND service > 20 * middle"

#: A flush that somebody asks for is a request without data, which the block layer turns into a
#: flush of its own (op flush): counted once, by the latter where they are seen.
_FLUSHES = """
WITH f AS (
  SELECT queue_ns, complete_ns, op FROM block_requests
  WHERE dev = {dev} AND coalesce(in_scope, true)
    AND (op = 'flush' OR (bytes = 0 AND list_contains(flags, 'preflush')))
), k AS (
  SELECT * FROM f WHERE op = 'flush' OR NOT EXISTS (SELECT 1 FROM f WHERE op = 'flush')
), w AS (
  SELECT *, max(complete_ns) OVER (
    ORDER BY queue_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM k)
SELECT count(*) AS n, sum(complete_ns - queue_ns) AS ns,
  sum(greatest(0, complete_ns - greatest(queue_ns, coalesce(before, queue_ns)))) AS wall
FROM w
"""


def measure(facts: "Facts") -> Requests:
    """From block_requests."""
    if not facts.has("block_requests"):
        ran = facts.recording.ran("block_requests") and not facts.run.pasted
        return Requests(known=ran)
    facts.run_sql(_GROUPED)
    names = {
        int(str(dev)): str(name)
        for dev, name in (
            facts.rows("SELECT dev, name FROM devices") if facts.has("devices") else []
        )
    }
    top = facts.rows(
        """
        SELECT dev, sum(time_ns) AS t FROM why_requests
        WHERE in_scope AND dev NOT IN (
          SELECT below_dev FROM devices WHERE below_dev IS NOT NULL AND dev IN (
            SELECT dev FROM why_requests WHERE in_scope))
        GROUP BY dev ORDER BY t DESC NULLS LAST LIMIT 1
        """
    )
    if not top:
        return Requests(known=True, named=names)
    dev = int(str(top[0][0]))
    sums = facts.numbers(
        f"""
        SELECT sum(CASE WHEN {_OWN} THEN n END) AS n, sum(CASE WHEN {_OWN} THEN bytes END) AS bytes,
          sum(CASE WHEN in_scope AND op = 'read' THEN n END) AS reads,
          sum(CASE WHEN in_scope AND op = 'write' THEN n END) AS writes,
          sum(CASE WHEN in_scope AND op = 'read' THEN bytes END) AS read_bytes,
          sum(CASE WHEN in_scope AND op = 'write' THEN bytes END) AS write_bytes,
          sum(CASE WHEN {_OWN} THEN time_ns END) AS time_ns,
          sum(time_ns) AS all_ns,
          sum(CASE WHEN in_scope = false THEN time_ns END) AS others_ns,
          sum(CASE WHEN in_scope = false THEN bytes END) AS others_bytes,
          sum(errors) AS errors,
          sum(CASE WHEN owner_kind = 'journal' THEN n END) AS journal,
          sum(CASE WHEN owner_kind = 'journal' THEN bytes END) AS journal_bytes,
          sum(CASE WHEN owner_kind = 'unknown' THEN n END) / sum(n) AS unowned,
          sum(CASE WHEN owner_kind = 'data' AND op = 'write' THEN bytes END) AS data_written
        FROM why_requests WHERE dev = {dev}
        """
    )
    way = _way(facts)
    shape = _shape(facts, dev, way)
    busy = _busy(facts, dev, way)
    flush = facts.numbers(_FLUSHES.format(dev=dev))
    all_ns = sums["all_ns"] or 0.0
    limit, rotational = None, None
    if facts.has("devices"):
        found = facts.rows(
            f"SELECT max_request_bytes, rotational FROM devices WHERE dev = {dev} LIMIT 1"
        )
        limit = int(str(found[0][0])) if found and found[0][0] is not None else None
        rotational = bool(found[0][1]) if found and found[0][1] is not None else None
    owners = _owners(facts, dev, sums["time_ns"] or 0.0)
    return Requests(
        known=True,
        dev=dev,
        device=names.get(dev, f"{dev >> 20}:{dev & 0xFFFFF}"),
        count=int(sums["n"] or 0),
        bytes=sums["bytes"] or 0.0,
        reads=int(sums["reads"] or 0),
        writes=int(sums["writes"] or 0),
        read_bytes=sums["read_bytes"] or 0.0,
        write_bytes=sums["write_bytes"] or 0.0,
        time_ns=sums["time_ns"] or 0.0,
        median_bytes=shape["median_bytes"],
        jump_share=shape["jump_share"],
        median_service_ns=shape["median_service"],
        mean_service_ns=shape["mean_service"],
        p99_service_ns=shape["p99_service"],
        slow_share=shape["slow_share"],
        slow_count=int(shape["slow_count"] or 0),
        busy_share=busy["busy"],
        own_busy_share=busy["own_busy"],
        depth=busy["depth"],
        own_depth=busy["own_depth"],
        errors=int(sums["errors"] or 0),
        flushes=int(flush["n"] or 0),
        flush_ns=flush["ns"] or 0.0,
        flush_wall_ns=flush["wall"],
        journal_requests=int(sums["journal"] or 0),
        journal_bytes=sums["journal_bytes"] or 0.0,
        others_beside_share=busy["beside"],
        others_share=(sums["others_ns"] or 0.0) / all_ns if all_ns else None,
        others_bytes=sums["others_bytes"] or 0.0,
        others_name=_others(facts, dev) if sums["others_ns"] else None,
        unowned_share=sums["unowned"],
        owners=owners,
        other_file_bytes=_unsynced_bytes(facts, dev),
        max_request_bytes=limit,
        rotational=rotational,
        named=names,
    )


def _way(facts: "Facts") -> str:
    """The requests that the command waits for: reads or writes, when one of them is most of it.

    What it does without waiting (laying out a file before the work) has another shape and depth.
    """
    reading = facts.budget.elapsed(classes.READ)
    writing = facts.budget.elapsed(classes.WRITE, classes.SYNC, classes.THROTTLED)
    if reading > MOSTLY * (reading + writing):
        return "op = 'read'"
    if writing > MOSTLY * (reading + writing):
        return "op = 'write'"
    return "true"


def _shape(facts: "Facts", dev: int, way: str) -> dict[str, float | None]:
    """Sizes, order and service times of the command's data requests, in the order of issue.

    A slow request took more than 100 ms and more than 20 times the median: `slow_share` is theirs
    of all service time.
    """
    return facts.numbers(
        f"""
        WITH r AS (
          SELECT bytes, sector * 512 AS place, complete_ns - coalesce(issue_ns, queue_ns) AS service,
            lag(sector * 512 + bytes) OVER (ORDER BY coalesce(issue_ns, queue_ns)) AS before
          FROM block_requests
          WHERE dev = {dev} AND {_OWN} AND {way} AND bytes > 0
            AND {facts.slice("block_requests", "queue_ns")}
        ), m AS (SELECT median(service) AS middle FROM r)
        SELECT median(bytes) AS median_bytes,
          CASE WHEN count(before) >= 16 THEN
            sum(CASE WHEN place <> before THEN 1 ELSE 0 END) / count(before) END AS jump_share,
          median(service) AS median_service, avg(service) AS mean_service,
          quantile_cont(service, 0.99) AS p99_service,
          sum(CASE WHEN {_SLOW} THEN service ELSE 0 END)
            / nullif(sum(service), 0) AS slow_share,
          sum(CASE WHEN {_SLOW} THEN 1 ELSE 0 END) AS slow_count
        FROM r, m
        """
    )


def stalls(facts: "Facts") -> tuple[float, int]:
    """Of all service time that of slow requests (as in `slow_share`) in which the device did little else; their number.

    In a deep queue a request can be late because others are taken first, by a disk that sorts them, say: then the
    device completes as many requests as ever meanwhile. Where it completes less than half as many, it stalls.
    """
    dev, middle = facts.requests.dev, facts.requests.median_service_ns
    if dev is None or middle is None:
        return 0.0, 0
    found = facts.numbers(
        f"""
        WITH r AS (
          SELECT coalesce(issue_ns, queue_ns) AS issued, complete_ns AS done,
            bytes > 0 AND {_OWN} AND {_way(facts)} AS own
          FROM block_requests WHERE dev = {dev} AND complete_ns IS NOT NULL
            AND {facts.slice("block_requests", "queue_ns")}
        ), w AS (
          SELECT *, max(done) OVER (
            ORDER BY issued ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM r
        ), rate AS (
          SELECT count(*) / nullif(sum(greatest(0, done - greatest(issued, coalesce(before, issued)))), 0)
            AS per_ns FROM w
        ), c AS (SELECT done AS t, row_number() OVER (ORDER BY done) AS number FROM r
        ), slow AS (
          SELECT issued, done, done - issued AS service, {middle} AS middle FROM r WHERE own AND {_SLOW}
        ), between_them AS (
          SELECT service, last.number - coalesce(first.number, 0) AS completed
          FROM slow ASOF JOIN c AS last ON slow.done >= last.t
          ASOF LEFT JOIN c AS first ON slow.issued >= first.t
        )
        SELECT sum(service) / (SELECT sum(done - issued) FROM r WHERE own) AS share, count(*) AS n
        FROM between_them, rate WHERE completed < service * per_ns / 2
        """
    )
    return found["share"] or 0.0, int(found["n"] or 0)


def written_in_runs_of(facts: "Facts") -> float | None:
    """Half of the bytes that the command writes go in runs of at least so many bytes.

    A run is requests, in the order of issue, that each begin where the one before ended.
    """
    if facts.requests.dev is None:
        return None
    return facts.numbers(
        f"""
        WITH r AS (
          SELECT bytes, sector * 512 AS place, coalesce(issue_ns, queue_ns) AS issued,
            lag(sector * 512 + bytes) OVER (ORDER BY coalesce(issue_ns, queue_ns)) AS before
          FROM block_requests
          WHERE dev = {facts.requests.dev} AND {_OWN} AND op = 'write' AND bytes > 0
            AND {facts.slice("block_requests", "queue_ns")}
        ), j AS (
          SELECT bytes, sum(CASE WHEN place = before THEN 0 ELSE 1 END) OVER (
            ORDER BY issued ROWS UNBOUNDED PRECEDING) AS run FROM r
        ), u AS (SELECT sum(bytes) AS bytes FROM j GROUP BY run
        ), c AS (
          SELECT bytes, sum(bytes) OVER (ORDER BY bytes DESC ROWS UNBOUNDED PRECEDING) AS above,
            sum(bytes) OVER () AS total FROM u)
        SELECT max(bytes) AS run FROM c WHERE 2 * above >= total
        """
    )["run"]


def _busy(facts: "Facts", dev: int, way: str) -> dict[str, float | None]:
    """Time with a request in flight (union of intervals), over the time that was looked at."""
    elapsed = facts.run.elapsed_ns
    kept = facts.slice("block_requests", "queue_ns")
    looked = elapsed or 0
    if kept != "true" and elapsed:
        share = facts.numbers(
            f"SELECT avg(CASE WHEN {kept} THEN 1.0 ELSE 0.0 END) AS s FROM block_requests"
        )["s"]
        looked = round(elapsed * (share or 1.0))
    rows = facts.rows(
        f"""
        WITH r AS (
          SELECT queue_ns, complete_ns, in_scope AND {way} AS own,
            coalesce(NOT in_scope, false) AS other FROM block_requests
          WHERE dev = {dev} AND complete_ns IS NOT NULL AND {kept}
        ), w AS (
          SELECT *, max(complete_ns) OVER (
              ORDER BY queue_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before,
            max(CASE WHEN own THEN complete_ns END) OVER (
              ORDER BY queue_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS own_before,
            max(complete_ns) OVER (
              PARTITION BY other ORDER BY queue_ns
              ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS like_before
          FROM r)
        SELECT
          sum(greatest(0, complete_ns - greatest(queue_ns, coalesce(before, queue_ns)))),
          sum(complete_ns - queue_ns),
          sum(CASE WHEN own THEN
            greatest(0, complete_ns - greatest(queue_ns, coalesce(own_before, queue_ns))) END),
          sum(CASE WHEN own THEN complete_ns - queue_ns END),
          sum(CASE WHEN other THEN
            greatest(0, complete_ns - greatest(queue_ns, coalesce(like_before, queue_ns))) END),
          sum(CASE WHEN NOT other THEN
            greatest(0, complete_ns - greatest(queue_ns, coalesce(like_before, queue_ns))) END)
        FROM w
        """
    )[0]
    wall, total, own_wall, own_total, others_wall, ours_wall = (
        float(str(v)) if v is not None else 0.0 for v in rows
    )
    return {
        "busy": min(1.0, wall / looked) if looked else None,
        "own_busy": min(1.0, own_wall / looked) if looked else None,
        "depth": total / wall if wall else None,
        "own_depth": own_total / own_wall if own_wall else None,
        # What both unions hold beyond the union of all is where they overlap.
        "beside": (ours_wall + others_wall - wall) / ours_wall if ours_wall else None,
    }


def _owners(facts: "Facts", dev: int, time_ns: float) -> tuple[Owner, ...]:
    """The five files with the most request time."""
    rows = facts.rows(
        f"""
        WITH top AS (
          SELECT owner_dev, owner_ino, sum(n) AS n, sum(bytes) AS bytes, sum(time_ns) AS t
          FROM why_requests
          WHERE dev = {dev} AND in_scope AND owner_ino IS NOT NULL
            AND owner_dev IS NOT NULL AND op IN ('read', 'write')
            AND coalesce(owner_kind, 'data') = 'data'
          GROUP BY owner_dev, owner_ino ORDER BY t DESC NULLS LAST LIMIT 5
        ), r AS (
          SELECT b.owner_dev, b.owner_ino, b.bytes, b.sector * 512 AS place,
            lag(b.sector * 512 + b.bytes) OVER (
              PARTITION BY b.owner_dev, b.owner_ino ORDER BY coalesce(issue_ns, queue_ns)) AS before
          FROM block_requests AS b JOIN top USING (owner_dev, owner_ino)
          WHERE b.dev = {dev} AND b.op IN ('read', 'write') AND b.bytes > 0
            AND {facts.slice("block_requests", "queue_ns")}
        ), s AS (
          SELECT owner_dev, owner_ino, median(bytes) AS m,
            CASE WHEN count(before) >= 16 THEN
              sum(CASE WHEN place <> before THEN 1 ELSE 0 END) / count(before) END AS jumps
          FROM r GROUP BY owner_dev, owner_ino)
        SELECT top.owner_dev, top.owner_ino, f.path, top.n, top.bytes, top.t, s.m, s.jumps
        FROM top LEFT JOIN s USING (owner_dev, owner_ino)
        LEFT JOIN why_files AS f ON f.dev = top.owner_dev AND f.ino = top.owner_ino
        ORDER BY top.t DESC NULLS LAST
        """
    )
    return tuple(
        Owner(
            dev=int(str(row[0])),
            ino=int(str(row[1])),
            path=None if row[2] is None else str(row[2]),
            count=int(str(row[3])),
            bytes=float(str(row[4] or 0)),
            time_ns=float(str(row[5] or 0)),
            time_share=float(str(row[5] or 0)) / time_ns if time_ns else 0.0,
            median_bytes=None if row[6] is None else float(str(row[6])),
            jump_share=None if row[7] is None else float(str(row[7])),
        )
        for row in rows
    )


def _others(facts: "Facts", dev: int) -> str | None:
    """Who else used the device most: the process that submitted, else the file that was written."""
    row = facts.rows(
        f"""
        SELECT coalesce(t.comm, n.comm), f.path, b.tgid FROM (
          SELECT tgid, owner_dev, owner_ino, sum(complete_ns - queue_ns) AS time_ns
          FROM block_requests WHERE dev = {dev} AND in_scope = false
          GROUP BY tgid, owner_dev, owner_ino ORDER BY time_ns DESC NULLS LAST LIMIT 1) AS b
        LEFT JOIN threads AS t ON t.tid = b.tgid
        LEFT JOIN neighbours AS n ON n.tgid = b.tgid
        LEFT JOIN why_files AS f ON f.dev = b.owner_dev AND f.ino = b.owner_ino LIMIT 1
        """
    )
    if not row:
        return None
    comm, path, tgid = row[0]
    if path is not None:
        return f"{path}" if comm is None else f"{comm} (process {tgid}, {path})"
    if comm is not None:
        return f"{comm} (process {tgid})"
    return None if tgid is None else f"process {tgid}"


def _unsynced_bytes(facts: "Facts", dev: int) -> float | None:
    """Bytes of data written to the device for files that the command never synced itself.

    This is what a journal commit may carry along with a small fsync.
    """
    if not facts.has("syscalls"):
        return None
    return facts.numbers(
        f"""
        SELECT coalesce(sum(r.bytes), 0) AS bytes FROM why_requests AS r
        WHERE r.dev = {dev} AND r.op = 'write' AND r.owner_kind = 'data'
          AND NOT EXISTS (
            SELECT 1 FROM (
              SELECT DISTINCT dev, ino FROM syscalls
              WHERE name IN {classes.quoted(classes.SYNC_CALLS)}) AS s
            WHERE s.dev = r.owner_dev AND s.ino = r.owner_ino)
        """
    )["bytes"]
