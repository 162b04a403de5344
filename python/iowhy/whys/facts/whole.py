"""Does what a recording holds add up? Each table has a second witness: another one that counts the same.

Rows that went without a trace (neither lost by the recorder's count, nor missed by the manifest's) leave a recording that looks whole, and
another cause's evidence. Asked of the sums and of what is read for the budget anyway; of rows no more than their number.
"""

from collections.abc import Iterator

from msgspec import Struct

from iowhy.recordings import Manifest
from iowhy.relations import Relations
from iowhy.sentences import Sentence, worded
from iowhy.tables import calls, sensors

#: Below this share of what is due, its edges may differ: a counter is read a moment before or after.
SLACK = 0.02
#: Of what only its neighbours count, at other moments: counters of disks, read ten times a second.
COUNTERS_SLACK = 0.1
#: Of the time of requests, which a disk counts from before they are queued.
TIMES_SLACK = 0.25
#: Files of which the recorder asks where they are.
MOST_LAID_OUT = 64
#: Devices that the recorder sums up requests in flight of, at most (store/src/sums/flights.rs).
MOST_FLOWN = 16
#: Of the run's time, what a file, a filesystem or a thread must have for its name to matter: as much as a finding that is listed.
SPENT = 0.05
#: Requests of a file whose pages nobody saw come: below that it is chance.
FEW = 16


class Short(Struct, frozen=True):
    """A table that holds less than another one counts: how much there is, and how much there should be."""

    table: str
    witness: str
    there: float
    due: float

    @property
    def share(self) -> float:
        """What is missing, of what should be there."""
        return 1.0 - self.there / self.due

    @property
    def words(self) -> Sentence:
        """It in words."""
        said = "{table} and {witness} do not add up: {share:share} is missing"
        return worded("not-adding-up", said, table=self.table, witness=self.witness, share=self.share)  # fmt: skip


class _Witness(Struct, frozen=True):
    """`sql` gives what there is and what is due; asked where each of `has` has rows, and each sensor of `ran` ran."""

    table: str
    witness: str
    sql: str
    has: tuple[str, ...] = ()
    ran: tuple[str, ...] = ()
    slack: float = SLACK
    #: It describes what the witness's rows name: what is lost of it counts by what these do not find.
    names: bool = False


#: Readings of /proc and /sys, all taken at the same times.
_READ = ("cpu_samples", "vm_samples", "memory_samples", "disk_samples", "pressure_samples", "cgroup_samples")  # fmt: skip
_AT = "SELECT count(DISTINCT ts_ns) FROM {name}"
#: Of many disks hardly a reading loses all rows: the one with most has a row in each.
_READINGS = {
    "disk_samples": "SELECT coalesce(max(number), 0) FROM (SELECT count(*) AS number FROM {name} GROUP BY dev)"
}
_CALLS = ", ".join(f"'{one.name}'" for one in calls().values() if one.record)
_BLOCKED = "(SELECT sum(total_ns) FROM wait_sums), (SELECT sum(blocked_ns) FROM thread_time)"
_LIVES = """(SELECT sum(interval_ns) FROM thread_time),
  (SELECT sum(coalesce(t.end_ns, r.end_ns) - t.start_ns) FROM threads AS t CROSS JOIN recording AS r)"""
_TOTALS = f"(SELECT sum(calls) FROM syscall_totals WHERE name IN ({_CALLS}))"
_CALLED = "(SELECT sum(calls) FROM call_sums)"
_ENDED = "(SELECT sum(calls) - sum(unfinished) FROM call_sums)"

#: Requests and their time by disk: as its counters have them, and as rows have them.
_OF_DISKS = """(
  SELECT dev, sum(reads) + sum(writes) + coalesce(sum(flushes), 0) AS requests,
    sum(read_ns) + sum(write_ns) + coalesce(sum(flush_ns), 0) AS time_ns
  FROM disk_steps GROUP BY dev
)"""
_OF_ROWS = """(
  SELECT dev, sum(requests) AS requests, sum(time_ns) AS time_ns
  FROM request_sums WHERE op IN ('read', 'write', 'flush') GROUP BY dev
)"""
#: Of those disks of which any request was seen, or of all where there is none.
_COUNTED = f"""
SELECT sum(least(coalesce(r.requests, 0), d.requests)), sum(d.requests)
FROM {_OF_DISKS} AS d LEFT JOIN {_OF_ROWS} AS r ON r.dev = d.dev
WHERE d.requests > {{few}} AND (r.dev IS NOT NULL OR (SELECT count(*) FROM request_sums) = 0)
"""
#: In time, where any are missing: of few that are lost, one may have taken most of it.
_TIMED = f"""
SELECT sum(least(coalesce(r.time_ns, 0), d.time_ns)), sum(d.time_ns)
FROM {_OF_DISKS} AS d JOIN {_OF_ROWS} AS r ON r.dev = d.dev
HAVING sum(d.time_ns) >= {{spent}} * (SELECT end_ns - start_ns FROM recording)
  AND sum(least(r.requests, d.requests)) < {{whole}} * sum(d.requests)
"""

#: Pages that were read by requests, of files that are not read past the cache, and those that the cache saw come; a page of which a part
#: is written is read, and not seen to come.
_PAGES = """
SELECT sum(least(coalesce(c.pages, 0), r.pages)), sum(r.pages)
FROM (
  SELECT owner_dev AS dev, owner_ino AS ino, (sum(bytes) - sum(direct_bytes)) / {page_bytes} AS pages
  FROM jump_sums WHERE op = 'read' AND owner_ino IS NOT NULL GROUP BY 1, 2
) AS r
LEFT JOIN (
  SELECT dev, ino, sum(coalesce(demand_miss_pages, 0) + coalesce(readahead_pages, 0) + coalesce(dirtied_pages, 0)) AS pages
  FROM page_cache WHERE ino IS NOT NULL GROUP BY dev, ino
) AS c ON c.dev = r.dev AND c.ino = r.ino
WHERE r.pages > {few}
"""

#: Files that the command made dirty and that were written: a pass of writeback went over each.
_PASSES = """
SELECT count(w.ino), count(*)
FROM (
  SELECT DISTINCT owner_dev AS dev, owner_ino AS ino FROM request_sums
  WHERE op = 'write' AND in_scope AND owner_kind = 'data' AND owner_ino IS NOT NULL
) AS f
JOIN (SELECT DISTINCT dev, ino FROM page_cache WHERE dirtied_pages > 0) AS d ON d.dev = f.dev AND d.ino = f.ino
LEFT JOIN (SELECT DISTINCT dev, ino FROM writeback) AS w ON w.dev = f.dev AND w.ino = f.ino
"""

#: Files of which data was moved, that are still there: where they are on the device.
_LAID_OUT = """
SELECT count(e.ino), least(count(*), greatest(count(e.ino), {most} - (SELECT count(DISTINCT (dev, ino)) FROM extents)))
FROM (
  SELECT DISTINCT owner_dev AS dev, owner_ino AS ino FROM request_sums
  WHERE in_scope AND owner_kind = 'data' AND owner_ino IS NOT NULL
) AS r
JOIN files AS f ON f.dev = r.dev AND f.ino = r.ino AND f.kind = 'file' AND NOT f.deleted AND f.size_bytes > 0
LEFT JOIN (SELECT DISTINCT dev, ino FROM extents) AS e ON e.dev = f.dev AND e.ino = f.ino
"""


def _named(table: str, key: str, users: str) -> str:
    """Of the keys that others name, those that a table describes."""
    return f"SELECT count(n.{key}), count(*) FROM (SELECT DISTINCT {key} FROM ({users}) AS u WHERE {key} IS NOT NULL) AS o LEFT JOIN (SELECT DISTINCT {key} FROM {table}) AS n USING ({key})"


_REQUESTED = "SELECT dev FROM request_sums WHERE in_scope IS NOT false"
#: Filesystems on which the command spends its time, or has its data.
_USED = """
SELECT c.dev FROM call_sums AS c
JOIN (SELECT DISTINCT dev, ino FROM files WHERE kind IN ('file', 'directory') AND path LIKE '/%') AS f ON f.dev = c.dev AND f.ino = c.ino
GROUP BY c.dev
HAVING sum(c.total_ns) >= {spent} * (SELECT end_ns - start_ns FROM recording)
UNION ALL SELECT owner_dev FROM request_sums WHERE in_scope AND owner_kind = 'data'
"""
#: Time of what no row describes, out of the run's: a file that nobody waited for is not missed.
_UNDESCRIBED = """
SELECT greatest(0, r.ns - coalesce(m.ns, 0)), r.ns
FROM (SELECT end_ns - start_ns AS ns FROM recording) AS r CROSS JOIN ({missing}) AS m
"""
_NO_FILE = """
SELECT sum(c.total_ns) AS ns FROM call_sums AS c
LEFT JOIN (SELECT DISTINCT dev, ino FROM files) AS f ON f.dev = c.dev AND f.ino = c.ino
WHERE c.ino IS NOT NULL AND f.ino IS NULL
"""
_NO_THREAD = """
SELECT sum(t.cpu_user_ns + t.cpu_kernel_ns + t.runnable_ns + t.blocked_ns) AS ns FROM thread_time AS t
LEFT JOIN (SELECT DISTINCT tid FROM threads) AS n ON n.tid = t.tid
WHERE n.tid IS NULL
"""
_MOVED = "op IN ('read', 'write') AND in_scope AND NOT empty"
_FLUSHES = "SELECT (SELECT sum(flushes) FROM flush_sums), (SELECT sum(requests) FROM request_sums WHERE op = 'flush' OR empty)"  # fmt: skip
#: Devices of which flushes were seen to end, by how they are asked for: the time of each is one row.
_FLUSHED = """
SELECT count(f.dev), count(*)
FROM (SELECT DISTINCT dev, asked FROM flush_sums WHERE time_ns > 0) AS s
LEFT JOIN flushing_sums AS f ON f.dev = s.dev AND f.asked = s.asked
"""
_SEQUENCE = """
SELECT sum(there), sum(due)
FROM (
  SELECT count(DISTINCT transaction) AS there, max(transaction) - min(transaction) + 1 AS due
  FROM journal_commits WHERE kind = 'jbd2' AND transaction IS NOT NULL GROUP BY dev
) AS t
"""
#: Disks on which a journal of jbd2 was written: one of the filesystems there committed.
_JOURNALS = """
SELECT count(DISTINCT c.disk_dev), count(DISTINCT f.disk_dev)
FROM filesystems AS f
JOIN (
  SELECT dev FROM request_sums WHERE owner_kind = 'journal' AND in_scope IS NOT false
  GROUP BY dev HAVING sum(requests) > {few}
) AS r ON r.dev = f.disk_dev
LEFT JOIN (
  SELECT disk_dev FROM filesystems WHERE dev IN (SELECT dev FROM journal_commits)
) AS c ON c.disk_dev = f.disk_dev
WHERE f.kind IN ('ext3', 'ext4')
"""
#: Who waited long for a journal of jbd2 waited for a commit: of that time, the waits during which one was under way.
_COMMITTED = """
SELECT coalesce(sum(w.dur_ns) FILTER (c.ts_ns + c.dur_ns >= w.ts_ns), 0), sum(w.dur_ns)
FROM (
  SELECT dev, ts_ns, dur_ns, ts_ns + dur_ns AS end_ns FROM waits
  WHERE reason = 'journal_commit' AND dev IN (SELECT dev FROM filesystems WHERE kind IN ('ext3', 'ext4'))
) AS w
ASOF LEFT JOIN (SELECT dev, ts_ns, dur_ns FROM journal_commits WHERE kind = 'jbd2') AS c ON c.dev = w.dev AND w.end_ns >= c.ts_ns
JOIN recording AS r ON true
HAVING sum(w.dur_ns) >= {spent} * min(r.end_ns - r.start_ns)
"""
#: Waits in calls, and those of them whose process made that call (a ring's worker waits in the one that its maker was in); of a call
#: that began before, there is one. Exits do not return, and are no calls.
_IN_CALLS = """
SELECT coalesce(sum(w.count) FILTER (c.tgid IS NOT NULL), 0), sum(w.count)
FROM wait_sums AS w
LEFT JOIN (
  SELECT tgid, name FROM call_sums UNION SELECT tgid, name FROM syscall_totals
) AS c ON c.tgid = w.tgid AND c.name = w.syscall
WHERE w.syscall IS NOT NULL AND w.syscall NOT IN ('exit', 'exit_group') HAVING sum(w.count) > {few}
"""
#: Devices with a request that was queued while the command ran and whose end was seen.
_FLOWN = """
SELECT (SELECT count(DISTINCT dev) FROM flight_sums), least(count(DISTINCT q.dev), {flown})
FROM block_requests AS q JOIN recording AS r ON q.queue_ns BETWEEN r.start_ns AND r.end_ns
WHERE q.complete_ns IS NOT NULL AND (q.op <> 'write' OR q.bytes > 0)
"""
_SUBMITTED = """
SELECT {async_operations}, sum(done_bytes) FROM call_sums WHERE name IN ('io_uring_enter', 'io_submit')
"""

_WITNESSES = (
    _Witness("syscalls", "syscall_totals", f"SELECT {{syscalls}}, {_TOTALS}", ("syscall_totals",), ("syscalls",)),
    _Witness("syscall_totals", "syscalls", f"SELECT coalesce({_TOTALS}, 0), {_ENDED}", ("syscalls",)),
    _Witness("syscalls", "waits", _IN_CALLS, ("waits",), ("syscalls", "waits"), SPENT),
    _Witness("syscalls", "call_sums", f"SELECT {{syscalls}}, {_CALLED}", ("call_sums",)),
    _Witness("call_sums", "syscalls", f"SELECT {_CALLED}, {{syscalls}}", ("call_sums",)),
    _Witness("waits", "wait_sums", "SELECT {waits}, (SELECT sum(count) FROM wait_sums)", ("wait_sums",)),
    _Witness("waits", "thread_time", f"SELECT coalesce({_BLOCKED.replace(', ', ', 0), ', 1)}", ("thread_time",), ("waits",)),
    _Witness("thread_time", "waits", "SELECT (SELECT sum(blocked_ns) FROM thread_time), (SELECT sum(total_ns) FROM wait_sums)", ("thread_time", "waits")),
    _Witness("interval_waits", "wait_sums", "SELECT (SELECT sum(waited_ns) FROM interval_waits), (SELECT sum(total_ns) FROM wait_sums)", ("interval_waits", "wait_sums")),
    _Witness("thread_time", "threads", f"SELECT {_LIVES}", ("threads",), ("thread_time",)),
    # Whoever calls has a thread.
    _Witness("thread_time", "syscalls", "SELECT least(1, (SELECT count(*) FROM thread_time)), least(1, {syscalls})", ("syscalls",), ("thread_time",), 0.0),
    _Witness("threads", "thread_time", _UNDESCRIBED.format(missing=_NO_THREAD), (), ("thread_time",), SPENT, names=True),
    _Witness("block_requests", "request_sums", "SELECT {block_requests}, (SELECT sum(requests) FROM request_sums)", ("request_sums",)),
    _Witness("request_sums", "block_requests", "SELECT (SELECT sum(requests) FROM request_sums), {block_requests}", ("request_sums",)),
    _Witness("block_requests", "disk_samples", _COUNTED, ("disk_samples",), ("block_requests",), COUNTERS_SLACK),
    _Witness("block_requests", "disk_samples", _TIMED, ("disk_samples",), ("block_requests",), TIMES_SLACK),
    _Witness("flight_sums", "block_requests", _FLOWN, ("flight_sums", "block_requests"), (), 0.0),
    _Witness("flush_sums", "request_sums", _FLUSHES, ("flush_sums",)),
    _Witness("flushing_sums", "flush_sums", _FLUSHED, ("flush_sums",), (), 0.0),
    _Witness("jump_sums", "request_sums", f"SELECT (SELECT sum(requests) FROM jump_sums), (SELECT sum(requests) FROM request_sums WHERE {_MOVED})", ("jump_sums", "request_sums")),
    _Witness("size_sums", "request_sums", f"SELECT (SELECT sum(requests) FROM size_sums), (SELECT sum(requests) FROM request_sums WHERE {_MOVED})", ("size_sums", "request_sums")),
    _Witness("devices", "block_requests", _named("devices", "dev", _REQUESTED), (), ("block_requests",), 0.0, names=True),
    _Witness("stacks", "waits", _named("stacks", "stack_id", "SELECT stack_id FROM waits"), ("waits",), ("stacks",), 0.0, names=True),
    _Witness("user_stacks", "stack_samples", _named("user_stacks", "user_stack_id", "SELECT user_stack_id FROM stack_samples"), ("stack_samples",), (), 0.0, names=True),
    _Witness("files", "syscalls", _UNDESCRIBED.format(missing=_NO_FILE), (), ("files", "syscalls"), SPENT, names=True),
    _Witness("filesystems", "syscalls", _named("filesystems", "dev", _USED), (), ("syscalls",), 0.0, names=True),
    _Witness("page_cache", "block_requests", _PAGES, ("block_requests",), ("page_cache", "block_requests")),
    _Witness("writeback", "block_requests", _PASSES, ("page_cache",), ("writeback", "block_requests"), 0.0),
    _Witness("extents", "block_requests", _LAID_OUT, ("files",), ("extents", "block_requests"), 0.0),
    _Witness("journal_commits", "journal_commits", _SEQUENCE, ("journal_commits",), (), 0.0),
    _Witness("journal_commits", "block_requests", _JOURNALS, ("filesystems",), ("journal_jbd2", "block_requests"), 0.0),
    _Witness("journal_commits", "waits", _COMMITTED, ("filesystems",), ("journal_jbd2", "waits"), 0.0),
    _Witness("dirty_throttle", "waits", "SELECT {dirty_throttle}, sum(count) FROM wait_sums WHERE reason = 'dirty_throttle'", ("waits",), ("dirty_throttle",)),
    _Witness("async_operations", "syscalls", _SUBMITTED, ("syscalls",), ("async_operations", "syscalls")),
    _Witness("cpu_samples", "cpu_samples", "SELECT sum(n), count(*) * max(n) FROM (SELECT count(*) AS n FROM cpu_steps WHERE cpu >= 0 GROUP BY ts_ns) AS t", ("cpu_samples",)),
)  # fmt: skip


def shorts(manifest: Manifest, relations: Relations) -> tuple[Short, ...]:
    """The tables that hold less than others count; none of what another than the recorder wrote, or not to its end.

    What the recorder itself says is lost, or the manifest counts and is not there, is said already.
    """
    facts = relations.facts
    if manifest.source != "live" or manifest.recorder.version is None or not manifest.complete:
        return ()
    known = {name for name, one in manifest.tables.items() if one.lost}
    known |= {one.table for one in facts.mismatches}
    if manifest.command.mode == "machine":  # nobody asks where its files are
        known.add("extents")
    found: dict[str, Short] = {}
    for one in (*_differing(relations, known), *_unread(relations, known)):
        if one.table not in found or one.share > found[one.table].share:
            found[one.table] = one
    return tuple(found.values())


def _differing(relations: Relations, known: set[str]) -> Iterator[Short]:
    facts = relations.facts
    words = {
        "page_bytes": facts.page_bytes,
        "few": FEW,
        "most": MOST_LAID_OUT,
        "spent": SPENT,
        "flown": MOST_FLOWN,
        "whole": 1.0 - SLACK,
    }
    words |= {one.table: facts.rows.get(one.table, 0) for one in _WITNESSES}
    asked = [
        one
        for one in _WITNESSES
        if facts.has(*one.has)
        and facts.ran.issuperset(one.ran)
        and one.witness not in known
        and (one.names or one.table not in known)
    ]
    # All at once: to plan a query takes longer than to run it.
    each = (f"({one.sql.format(**words).strip()})" for one in asked)
    every = " UNION ALL ".join(
        f"SELECT {at}, * FROM {sql} AS t(there, due)" for at, sql in enumerate(each)
    )
    for at, there, due in relations.rows(every) if asked else ():
        one = asked[int(at)]
        short = Short(one.table, one.witness, float(there or 0), float(due or 0))
        if short.due > 0 and short.share > one.slack:
            yield short


def _unread(relations: Relations, known: set[str]) -> Iterator[Short]:
    """Tables of readings that lack some of the times at which the others were taken."""
    facts = relations.facts
    read = [name for name in _READ if name in facts.ran and name in sensors() and name not in known]
    if len(read) < 2:
        return
    each = ", ".join(f"({_READINGS.get(name, _AT).format(name=name)})" for name in read)
    ((*counts,),) = relations.rows(f"SELECT {each}")
    most = max(zip(counts, read, strict=True))
    for name, count in zip(read, counts, strict=True):
        short = Short(name, most[1], float(count), float(most[0]))
        if short.due > 0 and short.share > SLACK:
            yield short
