"""More about one thing of a moment: a process by its threads, calls and waits; a file; a device; a service."""

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from iowhy.recordings.sql_text import text_literal
from iowhy.relations import Relations
from iowhy.reports import engine
from iowhy.reports.engine import Row
from iowhy.reports.report import find
from iowhy.watching.moment import MOST_ROWS, Moment


class Detail(Struct, frozen=True):
    """A table of a detail: its title, its rows."""

    title: str
    rows: Sequence[Row]


def of_process(moment: Moment, tgid: int) -> list[Detail]:
    """Its threads, what they wait for, its calls and its files, in the stretch of the moment."""
    narrowed = replace(moment.narrowed, pids=(tgid,))
    names = ("threads", "waits", "syscalls", "files")
    with (
        moment.of.recording.damage_named(),
        Relations(moment.of.recording, narrowed=narrowed) as relations,
    ):
        found = engine.rows_all(relations, names, MOST_ROWS)
    return [Detail(find(name).title, rows) for name, rows in zip(names, found, strict=True)]


def of_thread(moment: Moment, tgid: int, tid: int) -> list[Detail]:
    """What a thread waited for, longest first, and its calls."""
    own = f"tgid = {tgid} AND tid = {tid}"
    return _asked(
        moment,
        {
            "Waits": f"""SELECT reason, syscall, count(*) AS waits, sum(dur_ns) AS total_ns, max(dur_ns) AS max_ns
                FROM waits WHERE {own} GROUP BY reason, syscall ORDER BY total_ns DESC, reason""",
            "System calls": f"""SELECT name, count(*) AS calls, sum(dur_ns) AS total_ns, max(dur_ns) AS max_ns,
                sum(blocked_ns) AS blocked_ns FROM file_operations WHERE {own} GROUP BY name ORDER BY total_ns DESC, name""",
        },
    )


def of_file(moment: Moment, dev: int, ino: int) -> list[Detail]:
    """Who calls for it and how, and its requests."""
    return _asked(
        moment,
        {
            "System calls on it": f"""SELECT n.comm, s.tgid, s.name, count(*) AS calls, sum(s.dur_ns) AS total_ns,
                max(s.dur_ns) AS max_ns, sum(s.blocked_ns) AS blocked_ns
                FROM file_operations s LEFT JOIN named_processes n ON n.tgid = s.tgid
                WHERE s.dev = {dev} AND s.ino = {ino}
                GROUP BY n.comm, s.tgid, s.name ORDER BY total_ns DESC, s.tgid, s.name""",
            "Block requests for it": _requests(
                f"q.counted AND q.owner_dev = {dev} AND q.owner_ino = {ino}"
            ),
        },
    )


def of_device(moment: Moment, device: str) -> list[Detail]:
    """Who loads it, and with what."""
    chosen = f"q.dev IN (SELECT dev FROM devices WHERE name = {text_literal(device)})"
    return _asked(moment, {"Who loads it": _requests(chosen)})


def _requests(chosen: str) -> str:
    """By process and operation, those that load most first."""
    return f"""SELECT n.comm, q.tgid, q.op, count(*) AS requests, sum(q.bytes) AS bytes,
        sum(q.complete_ns - q.queue_ns) AS request_ns, max(q.complete_ns - q.queue_ns) AS max_ns
        FROM counted_requests q LEFT JOIN named_processes n ON n.tgid = q.tgid
        WHERE {chosen}
        GROUP BY n.comm, q.tgid, q.op ORDER BY request_ns DESC, q.tgid, q.op"""


def _asked(moment: Moment, queries: dict[str, str]) -> list[Detail]:
    with (
        moment.of.recording.damage_named(),
        Relations(moment.of.recording, narrowed=moment.narrowed) as relations,
    ):
        return [Detail(title, _rows(relations, sql)) for title, sql in queries.items()]


def _rows(relations: Relations, sql: str) -> list[Row]:
    columns, rows = relations.table(f"SELECT * FROM ({sql}) AS r LIMIT {MOST_ROWS}")
    return [dict(zip(columns, row, strict=True)) for row in rows]
