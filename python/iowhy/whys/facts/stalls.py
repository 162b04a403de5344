"""How the command's requests follow each other over the run: stalls of the device, runs of writes."""

from msgspec import Struct

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.units import plural
from iowhy.whys.facts.requests import Requests, of, slow, slow_ns
from iowhy.whys.facts.silent import NOTICED_NS

#: Requests in flight, up to which the time of a request is the device's own doing.
SHALLOW = 2.0
#: Of the service time, or of the waiting, the part of slow requests from which the device stalls.
OUTLIERS = 0.3
#: Writes that jump, from which they are called scattered.
SCATTERED = 0.5
#: As in the relation device_silences; without a wait of that length nobody waited for one.
SILENT_NS = 100_000_000
#: Flushes, from which it is known how long one usually takes.
FLUSHES_MIN = 8


#: So many times what a flush usually takes, from which the flush is not what its device is busy with.
LONG_FLUSH = 20


class Silence(Struct, frozen=True):
    """A time in which the device had requests and answered none (the relation device_silences); `at_ns` is since the start."""

    at_ns: int
    lasted_ns: int
    reads: int
    writes: int
    flushes: int

    @property
    def asked(self) -> str:
        """What it had then: `33 reads, 1 flush`."""
        kinds = ((self.reads, "read"), (self.writes, "write"), (self.flushes, "flush"))
        return ", ".join(
            plural(number, kind, "flushes" if kind == "flush" else None)
            for number, kind in kinds
            if number
        )


class Waiter(Struct, frozen=True):
    """Threads of one name, and how long they waited while the device answered nobody."""

    name: str
    waited_ns: float


class Stalls(Struct, frozen=True):
    """`share`: of the waiting for storage, the part in which its device stalls; `requests` that take far longer than others, and the part
    of the time that is (`late`); when it answered nobody at all, and who waited then, both the longest first. Where that is little of the
    waiting, only what somebody notices (`noticed`)."""

    share: float = 0.0
    late: float = 0.0
    requests: int = 0
    silences: tuple[Silence, ...] = ()
    waiters: tuple[Waiter, ...] = ()

    @property
    def noticed(self) -> bool:
        """Whether one lasted so long that whoever waits notices, and somebody did."""
        lasted = max((one.lasted_ns for one in self.silences), default=0)
        waited = max((one.waited_ns for one in self.waiters), default=0.0)
        return lasted >= NOTICED_NS and waited >= NOTICED_NS / 2


def stalled(
    relations: Relations, requests: Requests, reasons: frozenset[str], asleep_ns: float = 0.0
) -> Stalls:
    """`reasons` are those of the waiting; `asleep_ns`: how long threads sleep until requests that they do not wait for in a call are done."""
    late, count = _late(relations, requests, reasons)
    silences = _silences(relations, requests, reasons, asleep_ns)
    waiters, held = _waiters(relations, silences, reasons) if silences else ((), 0.0)
    if silences and asleep_ns >= SILENT_NS:
        waiters, held = _askers(relations, requests, silences, asleep_ns, (waiters, held))
    share = max(late, held)
    if share >= OUTLIERS:
        return Stalls(share, late, count, silences, waiters)
    noticed = Stalls(held, 0.0, 0, silences, waiters)
    return noticed if noticed.noticed else Stalls()


def _silences(
    relations: Relations, requests: Requests, reasons: frozenset[str], asleep_ns: float
) -> tuple[Silence, ...]:
    """When the device answered nobody, without what it may have done for its own cache: that is due to what was written.

    A disk empties its cache in a flush, or when it is full of writes to scattered places; flash that flushes much longer than
    it usually does is not busy with that.
    """
    if requests.dev is None:
        return ()
    longest = None
    if reasons and relations.has("waits"):
        longest = relations.value(
            int, f"SELECT max(max_ns) AS ns FROM wait_sums WHERE reason IN ({_named(reasons)})"
        )
    if max(longest or 0, asleep_ns) < SILENT_NS:
        return ()
    flash = requests.rotational is False
    scattered = requests.writes > requests.reads and (requests.jump_share or 0.0) >= SCATTERED
    return tuple(
        relations.read(
            Silence,
            f"""
            WITH f AS (
              SELECT median(complete_ns - queue_ns) AS middle, count(*) AS number FROM block_requests
              WHERE dev = {requests.dev} AND op = 'flush' AND complete_ns IS NOT NULL
            )
            SELECT s.begin_ns - r.start_ns AS at_ns, s.end_ns - s.begin_ns AS lasted_ns, reads, writes, flushes
            FROM device_silences AS s CROSS JOIN recording AS r CROSS JOIN f
            WHERE s.dev = {requests.dev} AND (
              s.flushes = 0
              OR {flash} AND f.number >= {FLUSHES_MIN} AND s.end_ns - s.begin_ns >= {LONG_FLUSH} * f.middle
            ) AND ({flash} OR s.writes = 0 OR NOT {scattered})
            ORDER BY lasted_ns DESC, at_ns
            """,
        )
    )


def _waiters(
    relations: Relations, silences: tuple[Silence, ...], reasons: frozenset[str]
) -> tuple[tuple[Waiter, ...], float]:
    """Who waited then, and of all waiting for these reasons the part."""
    if not reasons or not relations.has("waits"):
        return (), 0.0
    spans = ", ".join(f"({one.at_ns}, {one.at_ns + one.lasted_ns})" for one in silences)
    named = _named(reasons)
    of_all = f"""
        WITH s AS (SELECT r.start_ns + b AS begin_ns, r.start_ns + e AS end_ns
          FROM (VALUES {spans}) AS spans(b, e) CROSS JOIN recording AS r
        ), w AS (SELECT ts_ns, ts_ns + dur_ns AS end_ns, dur_ns, tgid, tid FROM waits WHERE reason IN ({named})
        ), held AS (
          SELECT w.tgid, w.tid, sum(least(w.end_ns, s.end_ns) - greatest(w.ts_ns, s.begin_ns)) AS ns
          FROM w JOIN s ON w.ts_ns < s.end_ns AND w.end_ns > s.begin_ns GROUP BY 1, 2
        )"""
    waiters = relations.read(
        Waiter,
        f"""{of_all} SELECT coalesce(n.comm, 'thread ' || h.tid) AS name, sum(h.ns)::DOUBLE AS waited_ns
        FROM held AS h LEFT JOIN named_threads AS n ON n.tgid = h.tgid AND n.tid = h.tid
        GROUP BY 1 ORDER BY 2 DESC, 1""",
    )
    share = relations.value(
        float, f"{of_all} SELECT (SELECT sum(ns) FROM held) / sum(dur_ns) AS share FROM w"
    )
    return tuple(waiters), min(1.0, share or 0.0)


def _askers(
    relations: Relations,
    requests: Requests,
    silences: tuple[Silence, ...],
    asleep_ns: float,
    waited: tuple[tuple[Waiter, ...], float],
) -> tuple[tuple[Waiter, ...], float]:
    """The same, where threads sleep until their requests are done: those that had some then, unless they are known to wait."""
    spans = ", ".join(f"({one.at_ns}, {one.at_ns + one.lasted_ns})" for one in silences)
    waiters, held = waited
    asking = relations.read(
        Waiter,
        f"""
        WITH s AS (
          SELECT r.start_ns + b AS begin_ns, r.start_ns + e AS end_ns FROM (VALUES {spans}) AS spans(b, e) CROSS JOIN recording AS r
        ), q AS (
          SELECT q.tgid, q.tid, s.begin_ns, max(least(q.complete_ns, s.end_ns) - greatest(q.queue_ns, s.begin_ns)) AS ns
          FROM block_requests AS q JOIN s ON q.queue_ns < s.end_ns AND q.complete_ns > s.begin_ns
          WHERE q.dev = {requests.dev} AND q.in_scope GROUP BY 1, 2, 3
        )
        SELECT coalesce(n.comm, 'thread ' || q.tid) AS name, sum(q.ns)::DOUBLE AS waited_ns
        FROM q LEFT JOIN named_threads AS n ON n.tgid = q.tgid AND n.tid = q.tid GROUP BY 1 ORDER BY 2 DESC, 1""",
    )
    known = {one.name for one in waiters}
    more = [one for one in asking if one.name not in known]
    if not more:
        return waiters, held
    slept = min(asleep_ns, max(one.waited_ns for one in more))
    waits = sum(one.waited_ns for one in waiters) / held if held else 0.0
    found = sorted((*waiters, *more), key=lambda one: (-one.waited_ns, one.name))
    return tuple(found), (held * waits + slept) / (waits + asleep_ns)


def _late(relations: Relations, requests: Requests, reasons: frozenset[str]) -> tuple[float, int]:
    """Of the waiting for storage the part of requests that take far longer than the others, and their number; 0 where that is little."""
    beside = _beside_flushes(requests)
    late, count = (requests.slow_share or 0.0) * beside, requests.slow_count
    if late >= OUTLIERS and requests.depth is not None and requests.depth <= SHALLOW:
        return late, count
    # A disk that empties its write cache to scattered places answers nobody while it does: that is due to
    # such writes, not to the disk.
    if not count or (
        requests.writes > requests.reads and (requests.jump_share or 0.0) >= SCATTERED
    ):
        return 0.0, 0
    late, count = stalls(relations, requests)
    late = max(late * beside, waited_for(relations, requests, reasons)) if count else 0.0
    return (late, count) if late >= OUTLIERS else (0.0, 0)


def _beside_flushes(requests: Requests) -> float:
    """Of the device's time for the command, that of reads and writes: a late request does not take the time of flushes."""
    moving = (requests.mean_service_ns or 0.0) * requests.count
    return moving / (moving + (requests.flush_wall_ns or 0.0)) if moving else 1.0


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
          FROM r WHERE own AND {slow(requests.rotational)}
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
    named = _named(reasons)
    share = relations.value(
        float,
        f"""
        WITH r AS (
          SELECT sent_ns, complete_ns, complete_ns - sent_ns AS service, {requests.median_service_ns} AS middle
          FROM command_requests WHERE dev = {requests.dev} AND {of(requests.direction)}
        ), slow AS (SELECT * FROM r WHERE {slow(requests.rotational)}
        ), w AS (SELECT ts_ns, ts_ns + dur_ns AS end_ns, dur_ns FROM waits WHERE reason IN ({named})
        ), held AS (
          SELECT w.ts_ns, max(least(w.end_ns, s.complete_ns) - greatest(w.ts_ns, s.sent_ns)) AS ns
          FROM w JOIN slow AS s ON s.sent_ns < w.end_ns AND s.complete_ns > w.ts_ns
          WHERE w.dur_ns > {slow_ns(requests.rotational)} GROUP BY w.ts_ns
        )
        SELECT (SELECT sum(ns) FROM held) / sum(dur_ns) AS share FROM w
        """,
    )
    return share or 0.0


def _named(reasons: frozenset[str]) -> str:
    """For SQL's IN."""
    return ", ".join(text_literal(one) for one in sorted(reasons)) or "NULL"


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
