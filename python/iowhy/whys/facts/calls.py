"""System calls: how many, how long, how much of it on a CPU, how they walk through the files."""

from collections.abc import Iterable

from msgspec import Struct, field

from iowhy.relations import Relations
from iowhy.relations.rows import Row
from iowhy.whys import classes
from iowhy.whys.facts.sampling import sampled


class Group(Struct, frozen=True):
    """Calls taken together; times in nanoseconds, None where the source does not have them.

    Operations of io_uring and libaio are calls, too; of them no CPU time is known. `files` are counted of syncs alone.
    """

    calls: int = 0
    total_ns: float = 0.0
    cpu_ns: float | None = None
    runnable_ns: float | None = None
    blocked_ns: float | None = None
    sleeping_ns: float | None = None
    bytes: float | None = None
    done_bytes: float | None = None
    files: int | None = None
    errors: int = 0

    @property
    def mean_ns(self) -> float | None:
        """Mean duration."""
        return self.total_ns / self.calls if self.calls else None

    @property
    def mean_cpu_ns(self) -> float | None:
        """Mean time on a CPU."""
        return self.cpu_ns / self.calls if self.calls and self.cpu_ns is not None else None

    @property
    def blocked_share(self) -> float | None:
        """Share of their time in uninterruptible sleep: waiting for the device or for a lock."""
        if not self.total_ns or self.blocked_ns is None:
            return None
        return self.blocked_ns / self.total_ns

    @property
    def cpu_share(self) -> float | None:
        """Share of their time on a CPU or ready for one; None where either is not known."""
        if not self.total_ns or self.cpu_ns is None or self.runnable_ns is None:
            return None
        return (self.cpu_ns + self.runnable_ns) / self.total_ns


class Walk(Struct, frozen=True):
    """How calls of one direction walk through their files.

    `jump_share` is of the pairs of calls of one thread in one file; None when most calls are alone
    in their file, so that there is no order to speak of. Files without a place on storage do not count: a device of
    random numbers is read at 0 every time.
    """

    median_bytes: float | None = None
    jump_share: float | None = None
    pairs: int = 0


class Calls(Struct, frozen=True):
    """`known` is false when no source recorded single calls; `by_name` then may hold totals.

    `syncs` are the calls that make data durable: fsync and the like, and the writes that waited for
    it (the relation sync_calls); `by_write` when most of the waiting for sync is in writes.
    `sync_wall_ns`: time in which at least one thread was inside such a call; `sync_name` the one with most time, and `sync_writes` how
    many of them are writes. `report` has the rows.
    """

    known: bool
    by_name: dict[str, Group] = field(default_factory=dict)
    idle_by_name: dict[str, float] = field(default_factory=dict)
    reads: Group = field(default_factory=Group)
    writes: Group = field(default_factory=Group)
    syncs: Group = field(default_factory=Group)
    tiny: Group = field(default_factory=Group)
    reading: Walk = field(default_factory=Walk)
    writing: Walk = field(default_factory=Walk)
    sync_name: str | None = None
    sync_median_bytes: float | None = None
    sync_wall_ns: float | None = None
    by_write: bool = False
    sync_writes: int = 0
    report: str = "syscalls"

    @property
    def syncs_by_ring(self) -> bool:
        """Whether the call with most time of the syncs is an operation of io_uring or libaio, whose names are two words."""
        return " " in (self.sync_name or "")


#: What counts as tiny in the relation calls_by_file: there the call costs more than the copy.
TINY_BYTES = 1024
#: Pairs of calls below which their order is chance, and the least share of calls in pairs.
PAIRS_MIN = 16
PAIRED = 0.4


_SUMS = """
coalesce(sum(calls), 0) AS calls, coalesce(sum(total_ns), 0) AS total_ns, sum(cpu_ns) AS cpu_ns,
sum(runnable_ns) AS runnable_ns, sum(blocked_ns) AS blocked_ns, sum(sleeping_ns) AS sleeping_ns,
sum(asked_bytes) AS bytes, sum(done_bytes) AS done_bytes, coalesce(sum(errors), 0) AS errors
"""

_PARTS = [
    "calls",
    "total_ns",
    "cpu_ns",
    "runnable_ns",
    "blocked_ns",
    "sleeping_ns",
    "asked_bytes",
    "done_bytes",
    "errors",
]

#: What lies in a filesystem or on a device: a read from a pipe or a socket is no disk I/O.
_STORED = "file_kind IN ('file', 'directory', 'device', 'unknown')"

_SYNCS = f"""
WITH synced AS MATERIALIZED (SELECT * FROM sync_calls_by_file)
SELECT name, by_write, {_SUMS}, (SELECT count(*) FROM (SELECT DISTINCT dev, ino FROM synced) AS d) AS files
FROM synced GROUP BY GROUPING SETS ((name, by_write), ())
"""


def measure(relations: Relations, by_write: bool) -> Calls:
    """From syscalls; else, for pasted totals, from syscall_totals."""
    if relations.has("syscalls"):
        return _single(relations, by_write)
    if relations.has("syscall_totals"):
        return _totals(relations)
    if relations.has("measurements"):
        return _benchmark(relations)
    return Calls(known=False)


def _single(relations: Relations, by_write: bool) -> Calls:
    reads, writes = classes.quoted(classes.DATA_READS), classes.quoted(classes.DATA_WRITES)
    summed = relations.by(Group, _by_part(reads, writes), 2)
    moving = {part: group for (_, part), group in summed.items()}
    synced = relations.by(Group, _SYNCS, 2)
    heaviest = max(
        (
            (group.total_ns, name)
            for (name, writes), group in synced.items()
            if name is not None and writes is by_write
        ),
        default=None,
    )
    walks = _walks(relations, reads, writes)
    return Calls(
        known=True,
        by_name={name: group for (name, part), group in summed.items() if part is None},
        idle_by_name=_idle(relations),
        reads=moving["read"],
        writes=moving["write"],
        syncs=synced[None, None],
        tiny=moving["tiny"],
        reading=walks.get(("read",), Walk()),
        writing=walks.get(("write",), Walk()),
        sync_name=None if heaviest is None else heaviest[1].removesuffix(" (O_SYNC)"),
        sync_median_bytes=relations.value(
            float, "SELECT median(bytes) FROM syscalls WHERE name = 'msync'"
        ),
        sync_wall_ns=relations.value(float, "SELECT wall_ns FROM sync_sums WHERE calls > 0"),
        by_write=by_write,
        sync_writes=sum(group.calls for (_, writes), group in synced.items() if writes),
    )


def _walks(relations: Relations, reads: str, writes: str) -> dict[Row, Walk]:
    kept = sampled(relations, "syscalls", "ts_ns")
    return relations.by(
        Walk,
        f"""
        WITH c AS (
          SELECT CASE WHEN name IN {reads} THEN 'read' ELSE 'write' END AS direction, bytes, "offset",
            lag("offset" + CASE WHEN ret > 0 THEN ret ELSE bytes END) OVER (
              PARTITION BY dev, ino, tid, name IN {reads} ORDER BY ts_ns) AS before
          FROM file_operations AS o
          WHERE (name IN {reads} OR name IN {writes}) AND bytes > 0 AND {kept}
            AND coalesce(ret, 1) > 0 AND NOT EXISTS (
              SELECT 1 FROM nonstorage_files AS f WHERE f.dev = o.dev AND f.ino = o.ino)
        )
        SELECT direction, median(bytes) AS median_bytes, count(before) AS pairs,
          CASE WHEN count(before) >= greatest({PAIRS_MIN}, count(*) * {PAIRED})
            THEN count(*) FILTER (WHERE "offset" <> before) / count(before) END AS jump_share
        FROM c GROUP BY direction
        """,
    )


def _idle(relations: Relations) -> dict[str, float]:
    """Time by call that waits for something else than storage, from the totals of all calls.

    A parent's wait for a child that is in the recording itself says nothing: what the child waits for
    does.
    """
    if not relations.has("syscall_totals"):
        return {}
    found = relations.rows(
        f"""SELECT name, sum(total_ns)::DOUBLE AS total_ns FROM syscall_totals
        WHERE name IN {classes.quoted(classes.IDLE_CALLS)} AND NOT (
          name IN ('wait4', 'waitid', 'waitpid') AND tgid IN (SELECT ppid FROM threads
            WHERE ppid IS NOT NULL AND tgid <> ppid))
        GROUP BY name ORDER BY total_ns DESC LIMIT 5"""
    )
    return dict(found)


def _by_part(reads: str, writes: str) -> str:
    """SQL: sums of calls by name, and by what they are part of (read, write, tiny); all calls are read once."""
    sums = ", ".join(f"sum({part}) AS {part}" for part in _PARTS)
    return f"""
        WITH summed AS MATERIALIZED (
            SELECT name, tiny, {_STORED} AS stored, {sums} FROM calls_by_filesystem GROUP BY name, tiny, stored
        ), moving AS (
            SELECT * FROM summed WHERE stored AND (name IN {reads} OR name IN {writes})
        )
        SELECT name AS what, CAST(NULL AS VARCHAR) AS part, {_SUMS} FROM summed GROUP BY name
        UNION ALL
        SELECT NULL, 'read', {_SUMS} FROM moving WHERE name IN {reads}
        UNION ALL
        SELECT NULL, 'write', {_SUMS} FROM moving WHERE name IN {writes}
        UNION ALL
        SELECT NULL, 'tiny', {_SUMS} FROM moving WHERE tiny
        ORDER BY part NULLS FIRST, what
        """


def _totals(relations: Relations) -> Calls:
    found = relations.by(
        Group,
        """SELECT name, sum(calls) AS calls, sum(total_ns) AS total_ns, sum(cpu_ns) AS cpu_ns,
        sum(errors) AS errors FROM syscall_totals GROUP BY name ORDER BY name""",
    )
    by_name = {name: group for (name,), group in found.items()}
    ranked = [(g.total_ns, name) for name, g in by_name.items() if name in classes.SYNC_CALLS]
    return Calls(
        known=False,
        by_name=by_name,
        idle_by_name=_idle(relations),
        reads=_together(by_name, classes.DATA_READS),
        writes=_together(by_name, classes.DATA_WRITES),
        syncs=_together(by_name, classes.SYNC_CALLS),
        sync_name=max(ranked)[1] if ranked else None,
    )


class _Job(Struct, frozen=True):
    calls: int | None
    total_ns: float | None
    writes: int | None
    written_bytes: float | None


def _benchmark(relations: Relations) -> Calls:
    """Syncs and writes of fio's jobs, from its summary: how many, how long, how much."""
    jobs = relations.read(
        _Job,
        """
        WITH j AS (
          SELECT avg(value) FILTER (WHERE metric = 'sync_count') AS syncs,
            avg(value) FILTER (WHERE metric = 'sync_lat_mean_ns') AS sync_ns,
            avg(value) FILTER (WHERE metric = 'write_count') AS writes,
            avg(value) FILTER (WHERE metric = 'write_bytes_per_s')
              * avg(value) FILTER (WHERE metric = 'write_runtime_ns') / 1e9 AS written
          FROM measurements WHERE lower(tool) = 'fio' GROUP BY subject
        )
        SELECT CAST(round(syncs) AS BIGINT) AS calls, syncs * sync_ns AS total_ns,
          CAST(round(writes) AS BIGINT) AS writes, written AS written_bytes
        FROM j WHERE syncs BETWEEN 1 AND 1e15 AND syncs * sync_ns < 1e18 AND coalesce(writes, 0) < 1e15
        """,
    )
    if not jobs:
        return Calls(known=False)
    syncs = Group(
        calls=sum(job.calls or 0 for job in jobs),
        total_ns=sum(job.total_ns or 0.0 for job in jobs),
    )
    written = [job.written_bytes for job in jobs if job.written_bytes is not None]
    writes = Group(
        calls=sum(job.writes or 0 for job in jobs),
        # Of jobs that sync, one whose writing is not known leaves unknown what a sync makes durable.
        done_bytes=sum(written) if len(written) == len(jobs) else None,
    )
    return Calls(
        known=False,
        by_name={"fsync": syncs},
        writes=writes,
        syncs=syncs,
        sync_name="fsync",
        report="measurements",
    )


def _together(by_name: dict[str, Group], names: Iterable[str]) -> Group:
    """Some calls of the totals; their CPU time only where that of each is known."""
    found = [by_name[name] for name in names if name in by_name]
    cpu = [group.cpu_ns for group in found if group.cpu_ns is not None]
    return Group(
        calls=sum(group.calls for group in found),
        total_ns=sum(group.total_ns for group in found),
        cpu_ns=sum(cpu) if cpu and len(cpu) == len(found) else None,
    )
