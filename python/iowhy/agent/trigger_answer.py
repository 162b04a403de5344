"""The verdict of a trigger's recording: first what triggered, then why those who suffered it were slow, judged alone.

Run as a program (`python -m iowhy.agent.trigger_answer EVENT RECORDING`) it prints the object of `iowhy why --json`, whose answer begins with that.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from iowhy import units
from iowhy.agent.conditions import Scope
from iowhy.agent.triggers import Event
from iowhy.recordings import Recording, open_recording
from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.whys.phases import PhaseDone

#: Processes that are judged, those that were slow for the longest.
MOST = 100


class Slow(Struct, frozen=True):
    """What the event is about, of one process on one device: times above the limit, and all of them."""

    tgid: int
    comm: str | None
    container: str | None
    place: str | None
    count: int
    above: int
    total_ns: int
    longest_ns: int
    #: Its own time was recorded, so that it can be judged.
    judged: bool


class Answer(Struct, frozen=True):
    """What the recording says of an event: a sentence, whose time it was, and where."""

    text: str
    pids: tuple[int, ...] = ()


#: The times of each kind: tgid, dur_ns, dev (of the filesystem or disk), name, ts_ns.
_TIMES = {
    "call": "SELECT tgid, dur_ns, dev, name, ts_ns FROM main.syscalls",
    "sync": "SELECT t.tgid, s.dur_ns, s.dev, CASE WHEN s.name LIKE '%data%' OR s.by_write THEN 'fdatasync' ELSE 'fsync' END AS name, "
    "s.ts_ns FROM sync_calls s JOIN (SELECT tid, max(tgid) AS tgid FROM main.threads GROUP BY tid) t ON t.tid = s.tid",
    "io_wait": "SELECT tgid, dur_ns, dev, syscall AS name, ts_ns FROM main.waits WHERE io",
    "request": "SELECT tgid, complete_ns - queue_ns AS dur_ns, dev, op AS name, queue_ns AS ts_ns FROM main.block_requests "
    "WHERE complete_ns IS NOT NULL",
    "machine": "SELECT tgid, dur_ns, dev, syscall AS name, ts_ns FROM main.waits WHERE io",
}
_SQL = """
WITH times AS ({times}), disks AS (
    SELECT dev, max(name) AS name FROM main.devices GROUP BY dev
), places AS (
    SELECT f.dev, max(f.mount) AS mount, max(d.name) AS disk
    FROM main.filesystems f LEFT JOIN disks d ON d.dev = f.disk_dev
    GROUP BY f.dev
    UNION ALL
    SELECT dev, NULL, name FROM disks WHERE dev NOT IN (SELECT dev FROM main.filesystems)
), groups AS (
    SELECT x.tgid, max(c.name) AS name, max(c.id) AS id, max(c.cgroup) AS cgroup
    FROM (
        SELECT tgid, container FROM main.threads UNION ALL SELECT tgid, container FROM main.neighbours
    ) x
    JOIN main.containers c ON c.id = x.container
    GROUP BY x.tgid
)
SELECT t.tgid, max(n.comm) AS comm, max(coalesce(g.name, g.id)) AS container, coalesce(p.mount, p.disk) AS place,
    count(*) AS count, count(*) FILTER (WHERE t.dur_ns > {limit}) AS above, CAST(sum(t.dur_ns) AS BIGINT) AS total_ns,
    max(t.dur_ns) AS longest_ns, t.tgid IN (SELECT tgid FROM main.threads) AS judged
FROM times t
LEFT JOIN places p ON p.dev = t.dev
LEFT JOIN groups g ON g.tgid = t.tgid
LEFT JOIN named_processes n ON n.tgid = t.tgid
WHERE {where}
GROUP BY t.tgid, coalesce(p.mount, p.disk)
ORDER BY above DESC, total_ns DESC, t.tgid
LIMIT {most}
"""


def answered(recording: Recording, event: Event) -> Answer:
    """What triggered, as the recording has it."""
    with recording.damage_named(), Relations(recording) as relations:
        start_ns = relations.facts.start_ns
        since_ns = start_ns + max(0, event.before_ns - event.held_ns)
        slow = relations.read(Slow, _select(event, since_ns))
    if not slow:
        where = _of(event.service, event.device)
        return Answer(f"No {_called(event)}{where} in the recording: it was over before that.")
    above = [one for one in slow if one.above] or slow
    pids = dict.fromkeys(one.tgid for one in above if one.judged)
    return Answer(_sentence(event, slow, above[0]), tuple(pids))


def _select(event: Event, since_ns: int) -> str:
    where = [f"t.ts_ns >= {since_ns}"]
    if event.subject.name is not None:
        where.append(f"t.name = {text_literal(event.subject.name)}")
    # A group that is no container's is only known by its path, to the agent alone.
    if event.service is not None and not event.service.startswith("/"):
        names = (text_literal(name) for name in sorted(Scope(event.service).names))
        where.append(f"({' OR '.join(f'{name} IN (g.name, g.id)' for name in names)})")
    if event.device is not None:
        name = text_literal(event.device)
        # What the agent calls by a part of the disk, a recording knows by the disk.
        where.append(f"({name} IN (p.mount, p.disk) OR starts_with({name}, p.disk))")
    return _SQL.format(
        times=_TIMES[event.subject.kind],
        limit=event.limit_ns or 0,
        where=" AND ".join(where),
        most=MOST,
    )


def _sentence(event: Event, slow: Sequence[Slow], worst: Slow) -> str:
    """`postgres (4711) of db had 38 fsync calls on /data: 61 ms each, the longest 80 ms, 36 above 50 ms.`"""
    who = f"{worst.comm or 'a process'} ({worst.tgid})"
    place = "" if worst.place is None else f" on {worst.place}"
    each = units.duration(worst.total_ns / worst.count)
    text = (
        f"{who}{_of(worst.container or event.service, None)} had {worst.count:,} {_called(event)}{place}: "
        f"{each} each, the longest {units.duration(worst.longest_ns)}"
    )
    if event.limit_ns is not None:
        text += f", {worst.above:,} above {units.duration(event.limit_ns)}"
    others = {one.tgid for one in slow} - {worst.tgid}
    return f"{text} (and {len(others)} more processes)." if others else f"{text}."


def _of(service: str | None, device: str | None) -> str:
    """` of db on vda`."""
    of = "" if service is None else f" of {service}"
    return of if device is None else f"{of} on {device}"


def _called(event: Event) -> str:
    kind, name = event.subject.kind, event.subject.name
    if kind == "request":
        return f"{name} requests" if name else "requests"
    return f"{name} calls" if kind in ("call", "sync") else "waits for I/O"


def of_the_moment(phases: Sequence[PhaseDone], event: Event) -> int | None:
    """The phase of what triggered, of a recording that begins before it: of those while the condition held, the one in which most was
    waited; None if the trigger is what the recording begins with."""
    until_s = event.before_ns / 1e9
    since_s = max(0.0, until_s - event.held_ns / 1e9)
    held = [one for one in phases if one.begin_s < until_s and one.end_s > since_s]
    if event.before_ns <= 0 or not held:
        return None
    return max(
        held, key=lambda one: (one.waited_ns or 0) / max(one.end_s - one.begin_s, 1e-9)
    ).number


def document(recording: Recording, event: Event | None) -> dict[str, Any]:
    """The object of `iowhy why --json` of those whom the event is about, with `event`; of the whole machine if there is none."""
    from iowhy.commands.overview import overview, overview_of
    from iowhy.views.verdict_page import as_document

    answer = None if event is None else answered(recording, event)
    pids = () if answer is None else answer.pids
    judged = overview_of(recording, pids) if pids else overview(recording)
    phase = None if event is None else of_the_moment(judged.verdict.phases, event)
    if phase is not None:
        judged = overview_of(recording, pids, phase=phase)
    found = as_document(judged)
    if answer is not None:
        found["event"] = answer.text
        found["answer"] = f"{answer.text} {found['answer']}"
    return found


if __name__ == "__main__":
    os.nice(10)
    given, path = sys.argv[1:]
    print(json.dumps(document(open_recording(Path(path)), Event.read(given))))
