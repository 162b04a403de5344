"""Threads of a trace: who they are, which of them count, where their time went and why they waited."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iowhy.data_class import dataclass
from iowhy.sources.format import Parsed
from iowhy.sources.target import process_tree
from iowhy.sources.tracing import block, stacks
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.workspace import Workspace, mapped

#: From this many processes on, a note says how to choose one.
MANY = 4


@dataclass(frozen=True)
class Threads:
    """All threads of a trace: their numbers in order, the process of each, and who is in scope.

    Traces are of a whole machine as a rule. In scope are the threads that made system calls, where those are
    traced, else all but the kernel's own.
    """

    tids: Any
    tgids: Any
    scope: Any

    def processes(self, tids: pa.Array) -> pa.Array:
        """The process of each thread; one that is not known is its own."""
        if not len(self.tids):
            return tids
        numbers = tids.to_numpy()
        at = np.minimum(np.searchsorted(self.tids, numbers), len(self.tids) - 1)
        return pa.array(np.where(self.tids[at] == numbers, self.tgids[at], numbers))

    def scoped(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The rows of threads in scope."""
        return batch.filter(pc.is_in(batch["tid"].cast(pa.int64()), pa.array(self.scope)))


def identify(space: Workspace, split: Split, pids: frozenset[int], parsed: Parsed) -> Threads:
    """The recording's threads, and the work space's `scope` (tid) and `tids` (tid, tgid).

    In scope are `pids` and what they forked, if there are any.
    """
    known = split.texts("threads").read_all().sort_by("tid")
    tids = known["tid"].cast(pa.int64()).to_numpy()
    given = known["tgid"].cast(pa.int64()).to_numpy()
    tgids = np.where(given != 0, given, tids)
    comms = pc.if_else(pc.equal(known["comm"], ""), "?", known["comm"]).cast(pa.string())
    rows = pa.table(
        {
            "tid": tids,
            "tgid": tgids,
            "ppid": known["ppid"].cast(pa.int64()),
            "comm": comms,
            "start_ns": known["start_ns"],
            "end_ns": known["end_ns"],
        }
    )
    if pids:
        mine = np.isin(tids, list(process_tree(rows.to_pylist(), pids)[0]))
    else:
        mine = _in_scope(split, known)
        processes = len(np.unique(tgids[mine]))
        if processes >= MANY:
            parsed.note(
                f"the figures are those of {processes:,} processes in the trace; --pid tells of one: "
                + _busiest(known.filter(pa.array(mine)), tgids[mine])
            )
    space.put("tids", rows.select(["tid", "tgid"]))
    space.put("scope", pa.table({"tid": tids[mine]}))
    parsed.tables["threads"] = rows
    return Threads(tids, tgids, tids[mine])


def _in_scope(split: Split, known: pa.Table) -> Any:
    if split.summary["calls"]:
        return pc.greater(known["calls"], 0).to_numpy()
    kernel = re.compile(block.KERNEL_THREADS)
    return np.array([not kernel.match(comm) for comm in known["comm"].to_pylist()], dtype=bool)


def _busiest(known: pa.Table, tgids: Any) -> str:
    """The processes with the most time, or the most calls, as "name (number)"."""
    sums: Counter[int] = Counter()
    names: dict[int, str] = {}
    columns = (known[name].to_pylist() for name in ("tid", "comm", "active_ns", "calls"))
    for tgid, tid, comm, active_ns, calls in zip(tgids.tolist(), *columns, strict=True):
        sums[tgid] += active_ns or calls
        if tid == tgid or tgid not in names:
            names[tgid] = comm or "?"
    return ", ".join(f"{names[tgid]} ({tgid})" for tgid, _ in sums.most_common(3))


_TIMES = pa.schema(
    [
        (name, pa.int64())
        for name in (
            "ts_ns", "interval_ns", "tgid", "tid", "cpu_user_ns", "cpu_kernel_ns", "runnable_ns",
            "blocked_ns", "sleeping_ns",
        )
    ]
)  # fmt: skip


def times(split: Split, threads: Threads, parsed: Parsed) -> None:
    """thread_time; which part of a CPU's time is the kernel's is told by calls alone."""
    calls = bool(split.summary["calls"])

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in split.batches("thread_times"):
            rows = threads.scoped(batch)
            tids = rows["tid"].cast(pa.int64())
            parts = [rows[name] for name in _TIMES.names[4:]]
            interval = parts[0]
            for part in parts[1:]:
                interval = pc.add(interval, part)
            if not calls:
                parts[:2] = [pa.nulls(len(rows), pa.int64())] * 2
            columns = [rows["ts_ns"], interval, threads.processes(tids), tids, *parts]
            yield pa.RecordBatch.from_arrays(columns, schema=_TIMES)

    parsed.tables["thread_time"] = mapped(batches(), _TIMES)
    if not split.summary["wakes"]:
        parsed.note("without sched_waking or sched_wakeup events, waits include the wait for a CPU")


_WAITS = pa.schema(
    [
        ("ts_ns", pa.int64()), ("dur_ns", pa.int64()), ("tgid", pa.int64()), ("tid", pa.int64()),
        ("reason", pa.string()), ("io", pa.bool_()), ("stack_id", pa.int64()), ("syscall", pa.string()),
    ]
)  # fmt: skip


def waits(split: Split, names: pa.Array, threads: Threads, parsed: Parsed) -> None:
    """Each stretch of state D, to the wake-up. `names` are the strings with calls' numbers replaced.

    Why it waited is told by the switch's kernel stack (perf record -g), or by sched_blocked_reason (Android).
    """
    if not split.summary["reasons"] and not split.summary["stacks"]:
        parsed.note("the trace does not tell which waits are I/O waits, nor their reasons")
        parsed.missing.append("perf record -a -g -e 'sched:sched_switch,sched:sched_waking'")
    by_stack = stacks.Reasons(parsed)

    def batches() -> Iterator[pa.RecordBatch]:
        for batch in split.batches("waits"):
            rows = threads.scoped(batch)
            tids = rows["tid"].cast(pa.int64())
            ids, reasons, io = by_stack.of(rows["stack"], split.strings)
            callers = split.strings.take(rows["caller"]).cast(pa.string())
            columns = [
                rows["ts_ns"],
                rows["dur_ns"],
                threads.processes(tids),
                tids,
                pc.coalesce(reasons, callers, "unknown"),
                pc.coalesce(io, rows["io"], False),
                ids,
                names.take(rows["call"]),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_WAITS)

    parsed.tables["waits"] = mapped(batches(), _WAITS)
