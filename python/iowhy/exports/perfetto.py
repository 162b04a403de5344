"""A recording as a Perfetto trace: threads with their calls and waits, devices with their requests, and what joins them."""

from collections.abc import Callable, Iterator, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeAlias

import numpy as np

from iowhy.exports.lanes import Lanes
from iowhy.exports.trace import Events, Note, Trace
from iowhy.exports.wire import Numbers
from iowhy.recordings import Recording
from iowhy.reports.batches import TEXT
from iowhy.reports.columns import Batch, filled
from iowhy.reports.engine import column_queries
from iowhy.units import percent
from iowhy.whys.finding import Finding

if TYPE_CHECKING:
    from numpy.typing import NDArray

    TrackOf: TypeAlias = Callable[[Trace, Sequence[object], int], int]

_NAMED = "LEFT JOIN named_files f ON f.dev = e.dev AND f.ino = e.ino"

#: The slices of threads: on which of their tracks ('' is the thread's own), their names, and what stands beside them.
_CALLS = f"""SELECT e.tgid, e.tid, t.comm, '' AS track, e.ts_ns AS begin_ns, e.dur_ns, e.name, f.path,
    e."offset" AS offset_bytes, e.bytes AS asked_bytes, e.ret, e.cpu_ns, e.runnable_ns, e.blocked_ns, e.sleeping_ns
FROM syscalls e LEFT JOIN named_threads t ON t.tgid = e.tgid AND t.tid = e.tid {_NAMED}
ORDER BY e.tgid, e.tid, e.ts_ns, e.dur_ns DESC"""
_WAITS = f"""SELECT e.tgid, e.tid, t.comm, 'waits' AS track, e.ts_ns AS begin_ns, e.dur_ns, e.reason AS name, f.path,
    e.syscall AS in_call
FROM waits e LEFT JOIN named_threads t ON t.tgid = e.tgid AND t.tid = e.tid {_NAMED}
ORDER BY e.tgid, e.tid, e.ts_ns, e.dur_ns DESC"""
_PAUSES = """SELECT e.tgid, e.tid, t.comm, 'paused for dirty pages' AS track, e.ts_ns AS begin_ns, e.pause_ns AS dur_ns,
    'pause' AS name, e.dirty_pages, e.limit_pages
FROM dirty_throttle e LEFT JOIN named_threads t ON t.tgid = e.tgid AND t.tid = e.tid
ORDER BY e.tgid, e.tid, e.ts_ns, e.pause_ns DESC"""
#: From submission to result, on the tracks of the thread that submitted them.
_OPERATIONS = f"""SELECT e.tgid, e.tid, t.comm, 'operations' AS track, e.submit_ns AS begin_ns, e.complete_ns - e.submit_ns AS dur_ns,
    e.op AS name, f.path, e."offset" AS offset_bytes, e.bytes AS asked_bytes, e.ret, e.api, e.ran
FROM async_operations e LEFT JOIN named_threads t ON t.tgid = e.tgid AND t.tid = e.tid {_NAMED}
ORDER BY e.tgid, e.tid, e.submit_ns, dur_ns DESC"""

#: Each request with the call that it is for: that of the thread which submitted it; of what the kernel writes
#: back, the sync call that waits for that file then. The call is one, so a flow never forks.
_REQUESTS = """WITH sent AS (
    SELECT q.*, row_number() OVER () AS number FROM counted_requests q
), calls AS (
    SELECT tgid, tid, ts_ns, ts_ns + dur_ns AS end_ns FROM syscalls
), direct AS (
    SELECT q.number, c.tgid AS call_tgid, c.tid AS call_tid, c.end_ns AS call_end_ns
    FROM sent q ASOF JOIN calls c ON c.tid = q.tid AND c.ts_ns <= q.queue_ns
    WHERE c.end_ns >= q.queue_ns
), synced AS (
    SELECT q.number, t.tgid AS call_tgid, s.tid AS call_tid, s.end_ns AS call_end_ns
    FROM sent q
    ASOF JOIN sync_calls s ON s.dev = q.owner_dev AND s.ino = q.owner_ino AND s.ts_ns <= q.queue_ns
    JOIN (SELECT tid, min(tgid) AS tgid FROM syscalls GROUP BY tid) t ON t.tid = s.tid
    WHERE s.end_ns >= q.queue_ns AND NOT s.asynchronous AND q.number NOT IN (SELECT number FROM direct)
), joined AS (
    SELECT * FROM direct UNION ALL SELECT * FROM synced
)
SELECT e.dev, coalesce(d.name, CAST(e.dev >> 20 AS VARCHAR) || ':' || CAST(e.dev & 1048575 AS VARCHAR)) AS device,
    e.queue_ns AS begin_ns, e.complete_ns - e.queue_ns AS dur_ns, e.op AS name, e.bytes, e.sector, e.whose,
    e.owner_kind AS kind, f.path, e.complete_ns - e.issue_ns AS device_ns, n.comm AS submitted_by, e.error,
    j.call_tgid, j.call_tid, j.call_end_ns, t.comm
FROM sent e
LEFT JOIN joined j ON j.number = e.number
LEFT JOIN named_threads t ON t.tgid = j.call_tgid AND t.tid = j.call_tid
LEFT JOIN named_processes n ON n.tgid = e.tgid
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) d ON d.dev = e.dev
LEFT JOIN named_files f ON f.dev = e.owner_dev AND f.ino = e.owner_ino
ORDER BY e.dev, e.queue_ns, dur_ns DESC"""

#: What filesystems do by themselves, by filesystem.
_COMMITS = """SELECT e.dev AS key, 'journal of ' || coalesce(m.mount, CAST(e.dev AS VARCHAR)) AS track,
    e.ts_ns AS begin_ns, e.dur_ns, e.kind AS name, e."transaction" AS transaction_id, e.handles, e.blocks, e.wait_ns,
    e.locked_ns, e.flushing_ns, e.logging_ns
FROM journal_commits e LEFT JOIN (SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev) m ON m.dev = e.dev
ORDER BY key, begin_ns, e.dur_ns DESC"""
_PASSES = f"""SELECT e.dev AS key, 'writeback of ' || coalesce(m.mount, CAST(e.dev AS VARCHAR)) AS track,
    e.ts_ns - coalesce(e.dur_ns, 0) AS begin_ns, e.dur_ns, e.reason AS name, f.path, e.pages_written, e.dirtied_age_ns
FROM writeback e {_NAMED}
LEFT JOIN (SELECT dev, max(mount) AS mount FROM filesystems GROUP BY dev) m ON m.dev = e.dev
ORDER BY key, begin_ns, e.dur_ns DESC"""

_LEVEL = "SELECT '{0}' AS track, 'bytes' AS unit, ts_ns, CAST({1} AS DOUBLE) AS value FROM memory_samples WHERE {1} IS NOT NULL"
_RATE = """SELECT coalesce(d.name, CAST(m.dev AS VARCHAR)) || ' {0}' AS track, '{1}' AS unit,
    r.start_ns + m.slice * r.slice_ns AS ts_ns, CAST({2} AS DOUBLE) AS value
FROM device_slices m CROSS JOIN recording r
LEFT JOIN (SELECT dev, max(name) AS name FROM devices GROUP BY dev) d ON d.dev = m.dev
WHERE m.span_ns > 0 AND {2} IS NOT NULL"""
_COUNTERS = " UNION ALL ".join(
    [
        _RATE.format("queue", "requests", "m.area_ns / m.span_ns"),
        _RATE.format("busy", "%", "100.0 * m.busy_ns / m.span_ns"),
        _RATE.format("read", "bytes/s", "m.read_bytes * 1e9 / m.span_ns"),
        _RATE.format("written", "bytes/s", "m.written_bytes * 1e9 / m.span_ns"),
        _LEVEL.format("memory dirty", "dirty_bytes"),
        _LEVEL.format("memory under writeback", "writeback_bytes"),
        _LEVEL.format("memory cached", "cached_bytes"),
        _LEVEL.format("memory available", "available_bytes"),
        "SELECT 'CPUs busy', '%', before_ns, 100.0 * busy_ns / all_ns FROM cpu_steps WHERE cpu = -1 AND all_ns > 0",
        """SELECT 'pressure ' || resource || ' (' || kind || ')', '%', before_ns, 100.0 * (total_ns - before) / (ts_ns - before_ns)
        FROM (
            SELECT resource, kind, ts_ns, total_ns,
                lag(ts_ns) OVER (PARTITION BY resource, kind ORDER BY ts_ns) AS before_ns,
                lag(total_ns) OVER (PARTITION BY resource, kind ORDER BY ts_ns) AS before
            FROM pressure_samples WHERE scope = 'machine'
        ) AS c WHERE ts_ns > before_ns""",
    ]
)


def write_perfetto(recording: Recording, findings: Sequence[Finding], out: IO[bytes]) -> None:
    """Writes the trace, a batch of rows at a time. Raises Problem for a recording that cannot be read, and OSError."""
    _write(recording, findings, Trace(out))


def write_chrome(recording: Recording, findings: Sequence[Finding], out: IO[bytes]) -> None:
    """The same trace as JSON. Raises as write_perfetto."""
    from iowhy.exports.chrome import ChromeTrace

    _write(recording, findings, ChromeTrace(out))


def _write(recording: Recording, findings: Sequence[Finding], trace: Trace) -> None:
    trace.begin(recording.manifest.clock.monotonic_ns, recording.manifest.clock.wall_ns)
    _findings(trace, recording, findings)
    with column_queries(recording) as ask:
        _write_rows(trace, ask)
    trace.close()


def _write_rows(trace: Trace, ask: Callable[[str], Iterator[Batch]]) -> None:
    for row in ask(
        "SELECT tgid, comm FROM named_threads WHERE tgid = tid ORDER BY tgid",
    ):
        for tgid, comm in zip(row["tgid"].tolist(), row["comm"].tolist(), strict=True):
            trace.process(tgid, comm or "")
    for sql in (_CALLS, _WAITS, _PAUSES, _OPERATIONS):
        _threads(trace, ask(sql))
    _requests(trace, ask(_REQUESTS))
    for sql in (_COMMITS, _PASSES):
        _filesystems(trace, ask(sql))
    for batch in ask(f"SELECT * FROM ({_COUNTERS}) AS c ORDER BY track, ts_ns"):
        tracks = _per_row(
            [
                trace.counter(*told)
                for told in zip(batch["track"].tolist(), batch["unit"].tolist(), strict=True)
            ]
        )
        trace.write_counter(tracks, _times(batch["ts_ns"]), batch["value"])


def _threads(trace: Trace, batches: Iterator[Batch]) -> None:
    """Slices on a thread's own track, or on one below it; where they overlap, as operations do, in lanes."""
    _slices(trace, batches, "tid", ("tgid", "tid", "comm", "track"), _thread_track)


def _thread_track(trace: Trace, told: Sequence[object], lane: int) -> int:
    tgid, tid, comm, name = told
    assert isinstance(tgid, int) and isinstance(tid, int)
    own = trace.thread(tgid, tid, str(comm or ""))
    if not name and not lane:
        return own
    return trace.track(("thread", tgid, tid, name, lane), str(name or "calls"), own)


def _requests(trace: Trace, batches: Iterator[Batch]) -> None:
    """Requests in the lanes of their device; each with the moment of its call in which it was made, and was done."""
    lanes = Lanes()
    flows = 0
    beside = (
        "dev",
        "device",
        "begin_ns",
        "dur_ns",
        "name",
        "call_tgid",
        "call_tid",
        "call_end_ns",
        "comm",
    )
    for batch in batches:
        done = batch.known("dur_ns")
        unseen = batch.filter(~done)
        if len(unseen):
            tracks = _tracks(unseen, ("dev", "device"), None, trace, _device_track)
            at, _ = _span(unseen)
            name = np.full(
                len(at), trace.name("a request whose completion was not seen"), np.uint64
            )
            trace.write(Events(tracks, at, name, notes=_notes(trace, unseen, beside)))
        batch = batch.filter(done)
        begins, ends = _span(batch)
        lane = lanes.assign(_signed(batch["dev"]), begins.view(np.int64), ends.view(np.int64))
        tracks = _tracks(batch, ("dev", "device"), lane, trace, _device_track)
        called = batch.known("call_tid")
        flow = np.where(called, np.arange(flows + 1, flows + 1 + len(begins)), 0).astype(np.uint64)
        flows += len(begins)
        back = called & (ends.view(np.int64) <= _signed(batch["call_end_ns"]))
        on, off = np.where(back, flow, np.uint64(0)), np.where(back, np.uint64(0), flow)
        names, notes = trace.names(batch["name"]), _notes(trace, batch, beside)
        _moments(trace, batch, called, "submit", begins, flow, ends_there=False)
        trace.write(Events(tracks, begins, names, ends, notes, on, off))
        _moments(trace, batch, back, "complete", ends, flow, ends_there=True)


def _moments(
    trace: Trace,
    batch: Batch,
    chosen: "NDArray[np.bool_]",
    name: str,
    at: Numbers,
    flow: Numbers,
    *,
    ends_there: bool,
) -> None:
    """The ends of flows on the thread that made the call."""
    part = batch.filter(chosen)
    if not len(part):
        return
    tracks = _tracks(part, ("call_tgid", "call_tid", "comm"), None, trace, _call_track)
    names = np.full(len(part), trace.name(name), np.uint64)
    own = flow[chosen]
    events = (
        Events(tracks, at[chosen], names, ending=own)
        if ends_there
        else Events(tracks, at[chosen], names, flows=own)
    )
    trace.write(events)


def _call_track(trace: Trace, told: Sequence[object], _: int) -> int:
    return _thread_track(trace, (*told, ""), 0)


def _device_track(trace: Trace, told: Sequence[object], lane: int) -> int:
    dev, name = told
    above = trace.track(("device", dev), f"device {name}")
    return trace.track(("device", dev, lane), "requests", above)


def _filesystems(trace: Trace, batches: Iterator[Batch]) -> None:
    """Commits and passes."""
    _slices(trace, batches, "key", ("key", "track"), _filesystem_track)


def _slices(
    trace: Trace, batches: Iterator[Batch], key: str, columns: Sequence[str], track: "TrackOf"
) -> None:
    """In the lanes of each key; those of which nobody knows how long they took are instants."""
    lanes = Lanes()
    beside = (*columns, "begin_ns", "dur_ns", "name")
    for batch in batches:
        known = batch.known("dur_ns")
        for part, timed in (
            (batch.filter(known), True),
            (batch.filter(~known), False),
        ):
            if not len(part):
                continue
            begins, ends = _span(part)
            keys = _signed(part[key])
            lane = lanes.assign(keys, begins.view(np.int64), ends.view(np.int64)) if timed else None
            tracks = _tracks(part, columns, lane, trace, track)
            names, notes = trace.names(part["name"]), _notes(trace, part, beside)
            trace.write(Events(tracks, begins, names, ends if timed else None, notes))


def _filesystem_track(trace: Trace, told: Sequence[object], lane: int) -> int:
    key, name = told
    return trace.track(("filesystem", name, key, lane), str(name))


def _findings(trace: Trace, recording: Recording, findings: Sequence[Finding]) -> None:
    """Each over the whole time, on its own track."""
    command = recording.manifest.command
    if command.start_ns is None or command.end_ns is None or not findings:
        return
    above = trace.track("findings", "findings of iowhy")
    tracks = [trace.track(("finding", one.cause), one.cause, above) for one in findings]
    texts = {
        "summary": [one.summary or one.title for one in findings],
        "share": [percent(one.share) for one in findings],
        "confidence": [percent(one.confidence) for one in findings],
        "why": [" → ".join(link.statement for link in one.chain) for one in findings],
        "first_remedy": [one.remedies[0] if one.remedies else None for one in findings],
    }
    notes = [trace.text_note(name, np.array(told, object)) for name, told in texts.items()]
    names = trace.names(
        np.array([f"{one.cause}: {percent(one.share)}" for one in findings], object)
    )
    begins, ends = ([max(at, 0)] * len(findings) for at in (command.start_ns, command.end_ns))
    trace.write(Events(_per_row(tracks), _per_row(begins), names, _per_row(ends), notes))


def _tracks(
    batch: Batch,
    columns: Sequence[str],
    lanes: "NDArray[np.int64] | None",
    trace: Trace,
    track: "TrackOf",
) -> Numbers:
    """The track of each row, which is asked for where another begins; texts among `columns` follow from the numbers."""
    lane = np.zeros(len(batch), np.int64) if lanes is None else lanes
    numbers = [_signed(batch[name]) for name in columns if batch.types[name] != TEXT]
    other = np.ones(len(batch), bool)
    other[1:] = np.any([one[1:] != one[:-1] for one in (*numbers, lane)], axis=0)
    at = np.flatnonzero(other)
    told = zip(*(batch[name][at].tolist() for name in columns), strict=True)
    known: dict[tuple[object, ...], int] = {}
    found = []
    for key in zip(told, lane[at].tolist(), strict=True):
        if key not in known:
            known[key] = track(trace, *key)
        found.append(known[key])
    return np.repeat(_per_row(found), np.diff(at, append=len(batch)))


def _notes(trace: Trace, batch: Batch, beside: Sequence[str]) -> list[Note]:
    """All columns that are not the slice itself."""
    return [
        trace.text_note(name, batch[name]) if kind == TEXT else trace.number_note(name, batch[name])
        for name, kind in batch.types.items()
        if name not in beside
    ]


def _span(batch: Batch) -> tuple[Numbers, Numbers]:
    """Begin and end; what a damaged recording has before the clock's begin is moved there."""
    begins = np.maximum(_signed(batch["begin_ns"]), 0)
    ends = begins + np.maximum(_signed(batch["dur_ns"]), 0)
    return begins.view(np.uint64), np.maximum(ends, begins).view(np.uint64)


def _times(column: Any) -> Numbers:
    return np.maximum(_signed(column), 0).view(np.uint64)


def _signed(column: Any) -> "NDArray[np.int64]":
    return np.asarray(filled(column)).astype(np.int64)


def _per_row(values: Sequence[int]) -> Numbers:
    return np.array(values, np.uint64)
