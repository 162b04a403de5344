"""System calls: how many, how long, how much of it on a CPU, how they walk through the files."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iowhy.whys import classes

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts


@dataclass(frozen=True)
class Group:
    """Calls taken together; times in nanoseconds, None where the source does not tell them."""

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
        """Share of their time on a CPU or ready for one."""
        if not self.total_ns or self.cpu_ns is None:
            return None
        return (self.cpu_ns + (self.runnable_ns or 0.0)) / self.total_ns


@dataclass(frozen=True)
class Walk:
    """How calls of one direction walk through their files.

    `jump_share` is of the pairs of calls of one thread in one file; None when most calls are alone
    in their file, so that there is no order to speak of.
    """

    median_bytes: float | None = None
    jump_share: float | None = None
    pairs: int = 0


@dataclass(frozen=True)
class Calls:
    """`known` is false when no source recorded single calls; `by_name` then may hold totals.

    `syncs` are the calls that make data durable: fsync and the like, or, where these hardly wait,
    the writes of files opened with O_SYNC or O_DSYNC (`by_write`).
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


#: Calls of at most this many bytes: there the call costs more than the copy.
TINY_BYTES = 1024
#: Pairs of calls below which their order is chance, and the least share of calls in pairs.
PAIRS_MIN = 16
PAIRED = 0.4

_NAMED = """
CREATE TEMP TABLE IF NOT EXISTS why_calls AS
SELECT c.*, coalesce(f.kind, 'file') AS kind FROM (
  SELECT name, dev, ino, coalesce(bytes <= {tiny} AND ret > 0, false) AS tiny,
    count(*) AS calls, sum(dur_ns)::DOUBLE AS total_ns,
    sum(cpu_ns)::DOUBLE AS cpu_ns, sum(runnable_ns)::DOUBLE AS runnable_ns,
    sum(blocked_ns)::DOUBLE AS blocked_ns, sum(sleeping_ns)::DOUBLE AS sleeping_ns,
    sum(bytes)::DOUBLE AS bytes, sum(CASE WHEN ret > 0 THEN ret END)::DOUBLE AS done_bytes,
    sum(CASE WHEN ret < 0 THEN 1 ELSE 0 END) AS errors
  FROM syscalls GROUP BY ALL) AS c
LEFT JOIN why_files AS f ON f.dev = c.dev AND f.ino = c.ino
"""

_SUMS = """
sum(calls), sum(total_ns), sum(cpu_ns), sum(runnable_ns), sum(blocked_ns), sum(sleeping_ns),
sum(bytes), sum(done_bytes), count(DISTINCT (dev, ino)), sum(errors)
"""

#: What lies in a filesystem or on a device: a read from a pipe or a socket is no disk I/O.
_STORED = "kind IN ('file', 'directory', 'device', 'unknown')"

_STREAMS = """
NOT EXISTS (SELECT 1 FROM why_files AS f WHERE f.dev = syscalls.dev AND f.ino = syscalls.ino
  AND f.kind IN ('pipe', 'socket', 'anonymous'))
"""


def measure(facts: "Facts") -> Calls:
    """From syscalls; else, for pasted totals, from syscall_totals."""
    if facts.has("syscalls"):
        return _single(facts)
    if facts.has("syscall_totals"):
        return _totals(facts)
    return Calls(known=False)


def prepare(facts: "Facts") -> None:
    """Make the table why_calls: the calls summed by name and file."""
    facts.run_sql(_NAMED.format(tiny=TINY_BYTES))


def _single(facts: "Facts") -> Calls:
    prepare(facts)
    by_name = {
        str(row[0]): _group(row[1:])
        for row in facts.rows(f"SELECT name, {_SUMS} FROM why_calls GROUP BY name")
    }
    reads = classes.quoted(classes.DATA_READS)
    writes = classes.quoted(classes.DATA_WRITES)
    syncs = classes.quoted(classes.SYNC_CALLS)

    def stored(names: str, more: str = "true") -> Group:
        where = f"name IN {names} AND {_STORED} AND {more}"
        return _group(facts.rows(f"SELECT {_SUMS} FROM why_calls WHERE {where}")[0])

    synced = stored(syncs)
    sync_names = syncs
    by_write = _synchronous_writes(facts)
    if by_write:
        synced, sync_names = stored(writes), writes
    ranked = [
        (g.total_ns, name)
        for name, g in by_name.items()
        if name in (classes.DATA_WRITES if by_write else classes.SYNC_CALLS)
    ]
    walks = _walks(facts, reads, writes)
    moved = classes.quoted(classes.DATA_READS | classes.DATA_WRITES)
    return Calls(
        known=True,
        by_name=by_name,
        idle_by_name=_idle(facts),
        reads=stored(reads),
        writes=stored(writes),
        syncs=synced,
        tiny=stored(moved, "tiny"),
        reading=walks.get("r", Walk()),
        writing=walks.get("w", Walk()),
        sync_name=max(ranked)[1] if ranked else None,
        sync_median_bytes=_sync_bytes(facts) if "msync" in by_name else None,
        sync_wall_ns=_sync_wall(facts, sync_names) if synced.calls else None,
        by_write=by_write,
    )


def _walks(facts: "Facts", reads: str, writes: str) -> dict[str, Walk]:
    kept = facts.slice("syscalls", "ts_ns")
    rows = facts.rows(
        f"""
        WITH c AS (
          SELECT CASE WHEN name IN {reads} THEN 'r' ELSE 'w' END AS way, bytes, "offset",
            lag("offset" + CASE WHEN ret > 0 THEN ret ELSE bytes END) OVER (
              PARTITION BY dev, ino, tid, name IN {reads} ORDER BY ts_ns) AS before
          FROM syscalls
          WHERE (name IN {reads} OR name IN {writes}) AND bytes > 0 AND {kept}
            AND coalesce(ret, 1) > 0 AND {_STREAMS}
        )
        SELECT way, median(bytes), count(before), count(*),
          sum(CASE WHEN "offset" <> before THEN 1 ELSE 0 END) FROM c GROUP BY way
        """
    )
    return {
        str(way): Walk(
            _number(middle),
            None
            if int(str(pairs)) < max(PAIRS_MIN, int(str(number)) * PAIRED)
            else float(str(jumps)) / int(str(pairs)),
            int(str(pairs)),
        )
        for way, middle, pairs, number, jumps in rows
    }


def _synchronous_writes(facts: "Facts") -> bool:
    """Whether most of the waiting for sync is in writes."""
    if facts.run.pasted or not facts.has("thread_time"):
        return False
    budget, sync = facts.budget, {classes.SYNC}
    return budget.calls(classes.DATA_WRITES, sync) > 0.5 * budget.elapsed(classes.SYNC)


def _sync_bytes(facts: "Facts") -> float | None:
    return facts.numbers("SELECT median(bytes) AS m FROM syscalls WHERE name = 'msync'")["m"]


def _sync_wall(facts: "Facts", syncs: str) -> float | None:
    """Time in which at least one thread was inside a sync-like call (union of intervals)."""
    return facts.numbers(
        f"""
        WITH s AS (
          SELECT ts_ns, ts_ns + dur_ns AS until, max(ts_ns + dur_ns) OVER (
            ORDER BY ts_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
          FROM syscalls WHERE name IN {syncs})
        SELECT sum(greatest(0, until - greatest(ts_ns, coalesce(before, ts_ns)))) AS ns FROM s
        """
    )["ns"]


def _idle(facts: "Facts") -> dict[str, float]:
    """Time by call that waits for something else than storage, from the totals of all calls.

    A parent's wait for a child that is in the recording itself says nothing: what the child waits for
    does.
    """
    if not facts.has("syscall_totals"):
        return {}
    return {
        str(name): float(str(total))
        for name, total in facts.rows(
            f"""SELECT name, sum(total_ns) AS t FROM syscall_totals
            WHERE name IN {classes.quoted(classes.IDLE_CALLS)} AND NOT (
              name IN ('wait4', 'waitid', 'waitpid') AND tgid IN (SELECT ppid FROM threads
                WHERE ppid IS NOT NULL AND tgid <> ppid))
            GROUP BY name ORDER BY t DESC LIMIT 5"""
        )
    }


def _totals(facts: "Facts") -> Calls:
    rows = facts.rows(
        """SELECT name, sum(calls), sum(total_ns), sum(cpu_ns), NULL, NULL, NULL, NULL, NULL,
        NULL, sum(errors) FROM syscall_totals GROUP BY name"""
    )
    by_name = {str(row[0]): _group(row[1:]) for row in rows}
    ranked = [(g.total_ns, name) for name, g in by_name.items() if name in classes.SYNC_CALLS]

    def among(names: frozenset[str]) -> Group:
        chosen = [group for name, group in by_name.items() if name in names]
        known = [group.cpu_ns for group in chosen if group.cpu_ns is not None]
        return Group(
            calls=sum(group.calls for group in chosen),
            total_ns=sum(group.total_ns for group in chosen),
            cpu_ns=sum(known) if known else None,
        )

    return Calls(
        known=False,
        by_name=by_name,
        idle_by_name=_idle(facts),
        reads=among(classes.DATA_READS),
        writes=among(classes.DATA_WRITES),
        syncs=among(classes.SYNC_CALLS),
        sync_name=max(ranked)[1] if ranked else None,
    )


def _group(row: tuple[object, ...]) -> Group:
    n = [_number(value) for value in row]
    return Group(
        calls=int(n[0] or 0),
        total_ns=n[1] or 0.0,
        cpu_ns=n[2],
        runnable_ns=n[3],
        blocked_ns=n[4],
        sleeping_ns=n[5],
        bytes=n[6],
        done_bytes=n[7],
        files=None if n[8] is None else int(n[8]),
        errors=int(n[9] or 0),
    )


def _number(value: object) -> float | None:
    return None if value is None else float(str(value))
