"""The time budget: every thread-second in exactly one class, and the elapsed time divided likewise.

Thread-seconds dilute: a shell that waits for a compiler, and the compiler's parent, are two idle
threads for one at work. So each interval's elapsed time is divided equally among the threads that
are not idle in it; what no thread uses is idle. A cause is worth its share of that. See
docs/budget.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from iowhy.whys import classes, pasted_budget

if TYPE_CHECKING:
    from iowhy.whys.facts import Facts

#: Most intervals that a run is divided into: more would not change a share and cost time.
INTERVALS_MAX = 1000
#: Threads that want a CPU at once, on average in an interval, up to which the work is serial: one,
#: and a little for what a second one does in passing (a flusher, a parent that reaps).
SERIAL_CORES = 1.15
#: Share of the CPUs in use from which an interval counts as saturated: the rest is lost between
#: wake-ups and to the sampling of 100 ms.
SATURATED = 0.9
#: Of the time that threads want a CPU, the share spent waiting for one that shows a shortage even
#: while some CPU idles (pinned threads, cpusets).
SHORTAGE = 0.15


@dataclass(frozen=True)
class Piece:
    """Time of one class, by the call and reason behind it; `mode` is how CPUs were used then.

    `thread_ns` is None for evidence that counts no threads. `elapsed` is a share (0..1) of the
    elapsed time.
    """

    cls: str
    call: str | None
    reason: str | None
    mode: str | None
    thread_ns: float | None
    elapsed: float


@dataclass(frozen=True)
class Line:
    """One class: thread-seconds, their share, and the share of the elapsed time."""

    cls: str
    thread_s: float | None
    share: float | None
    elapsed_share: float


@dataclass(frozen=True)
class Budget:
    """`pieces` add up to the elapsed time; `known` is false without any evidence of time."""

    known: bool
    pieces: tuple[Piece, ...] = ()
    thread_s: float | None = None
    notes: tuple[str, ...] = ()
    unknowns: tuple[str, ...] = ()
    intervals: int | None = None
    basis: str = "threads"
    _lines: dict[str, Line] = field(default_factory=dict)

    @property
    def lines(self) -> tuple[Line, ...]:
        """The classes in their fixed order; all of them, also those without time."""
        return tuple(self.line(cls) for cls in classes.ALL)

    def line(self, cls: str) -> Line:
        """One class."""
        if cls not in self._lines:
            mine = [piece for piece in self.pieces if piece.cls == cls]
            times = [piece.thread_ns for piece in mine if piece.thread_ns is not None]
            seconds = None if self.thread_s is None else sum(times) / 1e9
            self._lines[cls] = Line(
                cls,
                seconds,
                seconds / self.thread_s if seconds is not None and self.thread_s else None,
                sum(piece.elapsed for piece in mine),
            )
        return self._lines[cls]

    def elapsed(self, *chosen: str) -> float:
        """Share of the elapsed time of some classes."""
        return sum(self.line(cls).elapsed_share for cls in chosen)

    def calls(self, chosen: Iterable[str], of: Iterable[str] = classes.ALL) -> float:
        """Share of the elapsed time in some calls, over some classes."""
        calls, among = frozenset(chosen), frozenset(of)
        return sum(p.elapsed for p in self.pieces if p.call in calls and p.cls in among)

    def modes(self, *chosen: str) -> float:
        """Share of the elapsed time on a CPU in intervals of some modes."""
        return sum(p.elapsed for p in self.pieces if p.cls in classes.CPU and p.mode in chosen)

    def heaviest_calls(self, among: frozenset[str]) -> list[tuple[str, float]]:
        """Calls by their share of the elapsed time within some classes, heaviest first."""
        sums: dict[str, float] = {}
        for piece in self.pieces:
            if piece.cls in among:
                # Only a recorded wait outside any call is a page fault; other sources know no calls.
                fault = "page fault" if piece.reason in classes.KNOWN_REASONS else ""
                name = piece.call or fault
                sums[name] = sums.get(name, 0.0) + piece.elapsed
        return sorted(sums.items(), key=lambda item: -item[1])

    def heaviest_reasons(self, among: frozenset[str]) -> list[tuple[str, float]]:
        """Reasons by their share of the elapsed time within some classes, heaviest first."""
        sums: dict[str, float] = {}
        for piece in self.pieces:
            if piece.cls in among and piece.reason is not None:
                sums[piece.reason] = sums.get(piece.reason, 0.0) + piece.elapsed
        return sorted(sums.items(), key=lambda item: -item[1])


def measure(facts: "Facts") -> Budget:
    """From thread_time, waits and syscalls; from what other tools printed when there is none."""
    if not facts.has("thread_time") or not facts.run.elapsed_ns:
        return _pasted(facts)
    return _threads(facts)


def _pasted(facts: "Facts") -> Budget:
    found = pasted_budget.measure(facts)
    if found is None:
        return Budget(
            known=False,
            unknowns=("where the time went: nothing here tells how threads spent it",),
        )
    total = None
    if found.thread_ns:
        total = sum(found.thread_ns.values()) / 1e9
    return Budget(
        known=True,
        pieces=tuple(
            Piece(key[0], key[1], key[2], key[3], found.thread_ns.get(key), share)
            for key, share in found.elapsed.items()
            if share > 0
        ),
        thread_s=total,
        notes=found.notes,
        unknowns=found.unknowns,
        basis=found.basis,
    )


#: Spreads rows over the intervals that they lie in, each value by the part of its time there.
_SPREAD = """
SELECT b0 AS b, 1.0::DOUBLE AS part, * EXCLUDE (b0, b1) FROM r WHERE b0 = b1
UNION ALL
SELECT b, (CASE WHEN b = b1 THEN until ELSE {start} + (b + 1) * {width} END
  - CASE WHEN b = b0 THEN ts_ns ELSE {start} + b * {width} END)
  / greatest(1, until - ts_ns)::DOUBLE AS part, * EXCLUDE (b0, b1, b)
FROM (SELECT *, unnest(range(b0, b1 + 1)) AS b FROM r WHERE b1 > b0)
"""


def _threads(facts: "Facts") -> Budget:
    run = facts.run
    assert run.elapsed_ns is not None
    start, elapsed = run.start_ns, run.elapsed_ns
    # As long as the rows that hold the work (weighted by their length): finer, a wait would meet
    # states that are averages over more than its time. Rows of sleep alone can be of any length.
    usual = facts.numbers(
        """SELECT sum(interval_ns::DOUBLE * interval_ns) / sum(interval_ns) AS mean
        FROM thread_time WHERE coalesce(sleeping_ns, 0) < interval_ns"""
    )
    width = max(1, round(min(usual["mean"] or elapsed, elapsed)), -(-elapsed // INTERVALS_MAX))
    number = max(1, -(-elapsed // width))
    # A last sliver is no interval of its own: it joins the one before.
    if number > 1 and elapsed - (number - 1) * width < width / 4:
        number -= 1
    clip = {"start": start, "width": width}
    spread = _SPREAD.format(**clip)

    def spans(columns: str, table: str, until: str, where: str) -> str:
        return f"""
        r AS (SELECT ts_ns, {until} AS until, {columns},
          greatest(0, least({number - 1}, (ts_ns - {start}) // {width})) AS b0,
          greatest(0, least({number - 1}, ({until} - 1 - {start}) // {width})) AS b1
          FROM {table} WHERE {where})
        """

    states = (
        "interval_ns, coalesce(cpu_user_ns, 0) AS u, coalesce(cpu_kernel_ns, 0) AS k, "
        "coalesce(runnable_ns, 0) AS q, coalesce(blocked_ns, 0) AS d, "
        "coalesce(sleeping_ns, 0) AS z"
    )
    facts.run_sql(
        f"""
        CREATE TEMP TABLE why_time AS
        WITH {spans(states, "thread_time", "ts_ns + interval_ns", "interval_ns > 0")},
        s AS ({spread})
        SELECT b, sum(part * u) AS u, sum(part * k) AS k, sum(part * q) AS q, sum(part * d) AS d,
          sum(part * z) AS z, sum(part * greatest(0, interval_ns - u - k - q - d - z)) AS x
        FROM s GROUP BY b
        """
    )
    _waits(facts, spans, spread)
    _reaping(facts, spans, spread)
    _machine_busy(facts, number, start, width)
    cpus = facts.machine.cpus
    # A quota is no shortage of CPUs: cpu-throttled looks for it by the kernel's own counters.
    mode = _mode_sql(None if cpus is None else float(cpus))
    facts.run_sql(
        f"""
        CREATE TEMP TABLE why_share AS
        WITH w AS (SELECT b, sum(ns) AS ns FROM why_wait GROUP BY b),
        i AS (SELECT b, sum(ns) AS ns FROM why_reap GROUP BY b),
        g AS (
          SELECT sum(d) AS d, sum(z) AS z, coalesce((SELECT sum(ns) FROM w), 0) AS wait_ns,
            coalesce((SELECT sum(ns) FROM i), 0) AS reap_ns FROM why_time
        ), k AS (
          SELECT CASE WHEN wait_ns > 0 THEN least(1.0, d / wait_ns) ELSE 0 END AS ws,
            CASE WHEN reap_ns > 0 THEN least(1.0, z / reap_ns) ELSE 0 END AS zs,
            CASE WHEN d > 0 THEN greatest(0, d - wait_ns) / d ELSE 0 END AS rest,
            CASE WHEN z > 0 THEN greatest(0, z - reap_ns) / z ELSE 0 END AS asleep FROM g
        ), t AS (
          SELECT why_time.*, coalesce(w.ns, 0) * k.ws AS wait_ns, coalesce(i.ns, 0) * k.zs AS reap_ns,
            k.ws, k.zs, why_time.d * k.rest AS rest, why_time.z * k.asleep AS asleep,
            CASE WHEN why_time.b = {number - 1} THEN {elapsed} - why_time.b * {width}
              ELSE {width} END AS len, m.busy
          FROM k, why_time LEFT JOIN w ON w.b = why_time.b LEFT JOIN i ON i.b = why_time.b
          LEFT JOIN why_machine AS m ON m.b = why_time.b
        ), a AS (SELECT *, u + k + q + rest + x + wait_ns + reap_ns AS active FROM t)
        SELECT *, CASE WHEN active > 0 THEN least(len, active) / active ELSE 0 END AS f,
          {mode} AS mode
        FROM a
        """
    )
    rows = facts.rows(
        f"""
        SELECT 'u' AS what, NULL AS reason, NULL AS call, NULL AS io, mode, sum(u), sum(u * f)
        FROM why_share GROUP BY mode
        UNION ALL SELECT 'k', NULL, NULL, NULL, mode, sum(k), sum(k * f) FROM why_share GROUP BY mode
        UNION ALL SELECT 'q', NULL, NULL, NULL, mode, sum(q), sum(q * f) FROM why_share GROUP BY mode
        UNION ALL SELECT 'z', NULL, NULL, NULL, NULL, sum(asleep),
          {elapsed} - sum(least(len, active)) FROM why_share
        UNION ALL SELECT 'x', NULL, NULL, NULL, NULL, sum(x), sum(x * f) FROM why_share
        UNION ALL SELECT 'd', NULL, NULL, NULL, NULL, sum(rest),
          sum(rest * f) FROM why_share
        UNION ALL SELECT 'w', w.reason, w.call, w.io, NULL, sum(w.ns * s.ws), sum(w.ns * s.ws * s.f)
          FROM why_wait AS w JOIN why_share AS s ON s.b = w.b GROUP BY w.reason, w.call, w.io
        UNION ALL SELECT 'i', NULL, i.call, NULL, NULL, sum(i.ns * s.zs), sum(i.ns * s.zs * s.f)
          FROM why_reap AS i JOIN why_share AS s ON s.b = i.b GROUP BY i.call
        """
    )
    return _assemble(facts, rows, elapsed, number)


def _waits(facts: "Facts", spans: "_Spans", spread: str) -> None:
    if facts.has("waits"):
        call = "syscall"
        if facts.has("threads"):
            call = f"""CASE WHEN syscall IS NULL AND tid IN (
              SELECT tid FROM threads WHERE comm LIKE 'iou-wrk-%') THEN '{classes.URING_WORKER}'
              ELSE syscall END"""
        columns = f"dur_ns, reason, {call} AS call, io"
        source = spans(columns, "waits", "ts_ns + dur_ns", "dur_ns > 0")
    elif facts.has("syscalls"):
        # Without the waits' reasons, a call's own blocked time still tells reading from syncing.
        columns = "blocked_ns AS dur_ns, NULL AS reason, name AS call, NULL::BOOLEAN AS io"
        source = spans(columns, "syscalls", "ts_ns + dur_ns", "blocked_ns > 0")
    else:
        facts.run_sql(
            "CREATE TEMP TABLE why_wait (b BIGINT, reason VARCHAR, call VARCHAR, io BOOLEAN, "
            "ns DOUBLE)"
        )
        return
    facts.run_sql(
        f"""
        CREATE TEMP TABLE why_wait AS WITH {source}, s AS ({spread})
        SELECT b, reason, call, io, sum(part * dur_ns) AS ns FROM s GROUP BY b, reason, call, io
        """
    )


def _reaping(facts: "Facts", spans: "_Spans", spread: str) -> None:
    """Interruptible sleep that waits for storage: reaping asynchronous I/O, files behind FUSE."""
    if not facts.has("syscalls"):
        facts.run_sql("CREATE TEMP TABLE why_reap (b BIGINT, call VARCHAR, ns DOUBLE)")
        return
    moved = classes.DATA_READS | classes.DATA_WRITES | classes.SYNC_CALLS
    where = f"""sleeping_ns > 0 AND (name IN {classes.quoted(classes.REAP_CALLS)}
      OR (name IN {classes.quoted(moved)} AND EXISTS (SELECT 1 FROM named_files AS f
        WHERE f.dev = syscalls.dev AND f.ino = syscalls.ino AND f.kind IN ('file', 'directory'))))"""
    source = spans("sleeping_ns, name AS call", "syscalls", "ts_ns + dur_ns", where)
    facts.run_sql(
        f"""
        CREATE TEMP TABLE why_reap AS WITH {source}, s AS ({spread})
        SELECT b, call, sum(part * sleeping_ns) AS ns FROM s GROUP BY b, call
        """
    )


def _machine_busy(facts: "Facts", number: int, start: int, width: int) -> None:
    """How busy all CPUs of the machine were, per interval."""
    if not facts.has("cpu_samples"):
        facts.run_sql("CREATE TEMP TABLE why_machine (b BIGINT, busy DOUBLE)")
        return
    facts.run_sql(
        f"""
        CREATE TEMP TABLE why_machine AS
        WITH c AS (
          SELECT ts_ns, lag(ts_ns) OVER (ORDER BY ts_ns) AS last,
            user_ns + system_ns + coalesce(irq_ns, 0) + coalesce(steal_ns, 0) AS work,
            idle_ns + coalesce(iowait_ns, 0) AS rest
          FROM cpu_samples WHERE cpu = -1
        ), d AS (
          SELECT (ts_ns + last) // 2 AS mid, work - lag(work) OVER (ORDER BY ts_ns) AS work,
            rest - lag(rest) OVER (ORDER BY ts_ns) AS rest FROM c)
        SELECT greatest(0, least({number - 1}, (mid - {start}) // {width})) AS b,
          sum(work) / sum(work + rest) AS busy
        FROM d WHERE work >= 0 AND rest >= 0 GROUP BY 1 HAVING sum(work + rest) > 0
        """
    )


def _mode_sql(capacity: float | None) -> str:
    """How the CPUs are used in an interval: serial, saturated or parallel.

    Work that wants one CPU is serial even where neighbours take them all: what they cost it is the
    time that it is ready and waits, and its own time would be no shorter without them.
    """
    if capacity is None:
        return f"CASE WHEN (u + k + q) / len <= {SERIAL_CORES} THEN 'serial' ELSE 'parallel' END"
    if capacity <= 1.0:
        full = SATURATED * capacity
        return f"CASE WHEN (u + k + q) / len >= {full} THEN 'saturated' ELSE 'serial' END"
    return f"""
    CASE WHEN (u + k + q) / len <= {SERIAL_CORES} THEN 'serial'
      WHEN busy >= {SATURATED} OR (u + k) / len >= {SATURATED * capacity}
        OR q >= {SHORTAGE} * (u + k + q) THEN 'saturated'
      ELSE 'parallel' END
    """


def _assemble(facts: "Facts", rows: list[tuple[object, ...]], elapsed: int, number: int) -> Budget:
    unknowns: list[str] = []
    notes: list[str] = []
    sums: dict[tuple[str, str | None, str | None, str | None], list[float]] = {}

    def add(
        cls: str, call: str | None, reason: str | None, mode: str | None, ns: float, part: float
    ) -> None:
        entry = sums.setdefault((cls, call, reason, mode), [0.0, 0.0])
        entry[0] += max(0.0, ns)
        entry[1] += max(0.0, part) / elapsed

    direct = {"u": classes.USER, "k": classes.KERNEL, "q": classes.RUNNABLE, "z": classes.IDLE}
    for what, reason, call, io, mode, ns, part in rows:
        if ns is None or part is None:
            continue
        time, weight = float(str(ns)), float(str(part))
        named = None if call is None else str(call)
        why = None if reason is None else str(reason)
        if what in direct:
            add(direct[str(what)], None, None, None if mode is None else str(mode), time, weight)
        elif what == "w":
            add(classes.of_wait(why, named, bool(io)), named, why, None, time, weight)
        elif what == "i":
            for cls, portion in _reaped(facts, named):
                add(cls, named, None, None, time * portion, weight * portion)
        elif what == "x" and time > 0:
            add(classes.UNEXPLAINED, None, "no state seen", None, time, weight)
        elif what == "d":
            for cls, why_blocked, portion in _blocked(facts):
                add(cls, None, why_blocked, None, time * portion, weight * portion)
    if not facts.recording.ran("waits") and not facts.has("waits"):
        unknowns.append(
            "what uninterruptible waits were for: only root with BPF sees their reasons "
            "(`sudo iowhy run -- CMD`)"
        )
    nulls = facts.numbers(
        """SELECT avg(CASE WHEN cpu_kernel_ns IS NULL THEN 1.0 ELSE 0.0 END) AS kernel,
        avg(CASE WHEN runnable_ns IS NULL THEN 1.0 ELSE 0.0 END) AS runnable,
        avg(CASE WHEN blocked_ns IS NULL THEN 1.0 ELSE 0.0 END) AS blocked FROM thread_time"""
    )
    for column, words in (
        ("kernel", "user from kernel time: they are counted together as user"),
        ("runnable", "the time that threads waited for a CPU"),
        ("blocked", "the time that threads waited for devices"),
    ):
        if (nulls[column] or 0.0) > 0.5:
            unknowns.append(words)
    pieces = tuple(
        Piece(*key, thread_ns=ns, elapsed=part)
        for key, (ns, part) in sums.items()
        if ns > 0 or part > 0
    )
    return Budget(
        known=True,
        pieces=pieces,
        thread_s=sum(ns for ns, _ in sums.values()) / 1e9,
        notes=tuple(notes),
        unknowns=tuple(unknowns),
        intervals=number,
    )


def _reaped(facts: "Facts", call: str | None) -> list[tuple[str, float]]:
    """What a thread waited for that reaped asynchronous I/O: reads and writes by request time."""
    if call is not None and call not in classes.REAP_CALLS:
        return [(classes.of_wait(None, call), 1.0)]
    moved: dict[str, float | None] = {}
    if facts.has("block_requests"):
        moved = facts.numbers(
            """SELECT sum(CASE WHEN op = 'read' THEN bytes END) AS r,
            sum(CASE WHEN op = 'write' THEN bytes END) AS w FROM block_requests WHERE in_scope"""
        )
    read, written = moved.get("r") or 0.0, moved.get("w") or 0.0
    if read + written <= 0:
        # io_uring carries sockets and timers too: without a request it waited for no disk.
        return [(classes.IDLE, 1.0)]
    share = read / (read + written)
    return [(classes.READ, share), (classes.WRITE, 1 - share)]


def _blocked(facts: "Facts") -> list[tuple[str, str | None, float]]:
    """Blocked time without a recorded wait: by the process's own I/O counters when that is all."""
    if facts.has("waits") or facts.has("syscalls") or not facts.has("process_io"):
        return [(classes.UNEXPLAINED, "uninterruptible wait of unknown reason", 1.0)]
    row = facts.numbers(
        """SELECT sum(r) AS r, sum(w) AS w FROM (
        SELECT tgid, max(read_bytes) AS r, max(written_bytes) AS w FROM process_io GROUP BY tgid)"""
    )
    read, written = row["r"] or 0.0, row["w"] or 0.0
    if read + written <= 0:
        return [(classes.UNEXPLAINED, "uninterruptible wait of unknown reason", 1.0)]
    share = read / (read + written)
    words = "split by the bytes of /proc/PID/io"
    return [(classes.READ, words, share), (classes.WRITE, words, 1 - share)]


if TYPE_CHECKING:
    from collections.abc import Callable

    _Spans = Callable[[str, str, str, str], str]
