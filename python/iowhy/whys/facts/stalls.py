"""How the command's requests follow each other over the run: stalls of the device, runs of writes."""

from iowhy.relations import Relations
from iowhy.whys.facts.requests import SLOW, Requests, of


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
