"""How the command's requests follow each other over the run: stalls of the device, runs of writes."""

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys.facts.requests import SLOW, Requests, of

#: Requests in flight, up to which the time of a request is the device's own doing.
SHALLOW = 2.0
#: Of the service time, or of the waiting, the part of slow requests from which the device stalls.
OUTLIERS = 0.3
#: Writes that jump, from which they are called scattered.
SCATTERED = 0.5


def stalled(relations: Relations, requests: Requests, reasons: frozenset[str]) -> tuple[float, int]:
    """Of the waiting for storage the part in which the device stalls, and for how many requests; 0 where that is little.

    `reasons` are those of the waiting.
    """
    late, count = requests.slow_share or 0.0, requests.slow_count
    if late >= OUTLIERS and requests.depth is not None and requests.depth <= SHALLOW:
        return late, count
    # A disk that empties its write cache to scattered places answers nobody while it does: that is due to
    # such writes, not to the disk.
    if not count or (
        requests.writes > requests.reads and (requests.jump_share or 0.0) >= SCATTERED
    ):
        return 0.0, 0
    late, count = stalls(relations, requests)
    late = max(late, waited_for(relations, requests, reasons)) if count else 0.0
    return (late, count) if late >= OUTLIERS else (0.0, 0)


def stalls(relations: Relations, requests: Requests) -> tuple[float, int]:
    """Of all service time that of slow requests (as in `slow_share`) in which the device did little else; their number.

    In a deep queue a request can be late because others are taken first, by a disk that sorts them, say: then the
    device completes as many requests as ever. Where it completes less than half as many, it stalls.
    """
    if requests.dev is None or requests.median_service_ns is None:
        return 0.0, 0
    ((share, count),) = relations.rows(
        f"""
        WITH r AS (
          SELECT sent_ns AS issued, complete_ns AS done,
            counted AND whose = 'command' AND op IN ('read', 'write') AND bytes > 0
              AND {of(requests.direction)} AS own, true AS answered
          FROM counted_requests WHERE dev = {requests.dev} AND complete_ns IS NOT NULL
          UNION ALL
          SELECT sent_ns, end_ns, {of(requests.direction)}, false FROM unanswered_requests WHERE dev = {requests.dev}
        ), w AS (
          SELECT *, max(done) OVER (
            ORDER BY issued ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM r
        ), rate AS (
          SELECT count(*) / nullif(sum(greatest(0, done - greatest(issued, coalesce(before, issued)))), 0)
            AS per_ns FROM w WHERE answered
        ), c AS (SELECT done AS t, row_number() OVER (ORDER BY done) AS number FROM r WHERE answered
        ), slow AS (
          SELECT issued, done, done - issued AS service, {requests.median_service_ns} AS middle
          FROM r WHERE own AND {SLOW}
        ), between_them AS (
          SELECT service, last.number - coalesce(first.number, 0) AS completed
          FROM slow ASOF JOIN c AS last ON slow.done >= last.t
          ASOF LEFT JOIN c AS first ON slow.issued >= first.t
        )
        SELECT coalesce(sum(service) / (SELECT sum(done - issued) FROM r WHERE own), 0), count(*)
        FROM between_them, rate WHERE completed < service * per_ns / 2
        """
    )
    return share, count


def waited_for(relations: Relations, requests: Requests, reasons: frozenset[str]) -> float:
    """Of the time of the waits for these reasons, what passed while a slow request was under way that began and ended with them,
    about: many others may have been read ahead at the same time, so that of all service time it is little.
    """
    if requests.dev is None or not requests.median_service_ns or not relations.has("waits"):
        return 0.0
    named = ", ".join(text_literal(one) for one in sorted(reasons)) or "NULL"
    share = relations.value(
        float,
        f"""
        WITH r AS (
          SELECT sent_ns, complete_ns, complete_ns - sent_ns AS service, {requests.median_service_ns} AS middle
          FROM command_requests WHERE dev = {requests.dev} AND {of(requests.direction)}
        ), slow AS (SELECT * FROM r WHERE {SLOW}
        ), w AS (SELECT ts_ns, ts_ns + dur_ns AS end_ns, dur_ns FROM waits WHERE reason IN ({named})
        ), held AS (
          SELECT w.ts_ns, max(least(w.end_ns, s.complete_ns) - greatest(w.ts_ns, s.sent_ns)) AS ns
          FROM w JOIN slow AS s ON s.sent_ns < w.end_ns AND s.complete_ns > w.ts_ns
          WHERE w.dur_ns > 1e8 GROUP BY w.ts_ns
        )
        SELECT (SELECT sum(ns) FROM held) / sum(dur_ns) AS share FROM w
        """,
    )
    return share or 0.0


def written_in_runs_of(relations: Relations, requests: Requests) -> float | None:
    """Half of the bytes that the command writes go in runs of at least so many bytes.

    A run is requests, in the order of issue, that each begin where the one before ended.
    """
    if requests.dev is None:
        return None
    return relations.value(
        float,
        f"""
        WITH j AS (
          SELECT bytes, sum(CASE WHEN jump_bytes = 0 THEN 0 ELSE 1 END) OVER (
            ORDER BY sent_ns, sector ROWS UNBOUNDED PRECEDING) AS run
          FROM command_requests WHERE dev = {requests.dev} AND op = 'write'
        ), u AS (SELECT sum(bytes) AS bytes FROM j GROUP BY run
        ), c AS (
          SELECT bytes, sum(bytes) OVER (ORDER BY bytes DESC ROWS UNBOUNDED PRECEDING) AS above,
            sum(bytes) OVER () AS total FROM u)
        SELECT max(bytes) AS bytes FROM c WHERE 2 * above >= total
        """,
    )
