"""Kernel trace events as text, whoever printed them, into the tables of a recording.

`iowhy-logs` takes the text apart and follows threads, calls and waits (logs/src/events.rs, threads.rs); what is
joined over the whole of a trace is done here by SQL: requests, page cache, journal. Each layer has its module.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from iowhy.sources.format import Parsed
from iowhy.sources.names import Names
from iowhy.sources.target import process_tree
from iowhy.sources.tracing import block, cache, filesystem, stacks
from iowhy.sources.tracing.calls import call_names, shapes
from iowhy.sources.tracing.splitter import UNKNOWN, Split
from iowhy.sources.tracing.workspace import Workspace, mapped

#: From this many processes on, a note says how to choose one.
MANY = 4
#: Live recordings' totals and thread times are of one second too.
INTERVAL_NS = 1_000_000_000


def interval(column: str, first: object, last: object) -> str:
    """SQL: ts_ns and interval_ns of the second that `column` is in, from the trace's first time to its last."""
    slot = f"{column} // {INTERVAL_NS} * {INTERVAL_NS}"
    return f"""greatest({slot}, {first}) AS ts_ns,
        greatest(1, least({slot} + {INTERVAL_NS}, {last}) - greatest({slot}, {first})) AS interval_ns"""


@dataclass(frozen=True)
class Threads:
    """All threads of a trace: their numbers in order, the process of each, and who is in scope.

    Traces are of a whole machine as a rule. In scope are the threads that made system calls, where those are
    traced, else all but the kernel's own.
    """

    tids: Any
    tgids: Any
    scope: Any

    def of(self, tids: Any) -> Any:
        """The process of each thread; one that is not known is its own."""
        if not len(self.tids):
            return tids
        at = np.minimum(np.searchsorted(self.tids, tids), len(self.tids) - 1)
        return np.where(self.tids[at] == tids, self.tgids[at], tids)


def finish(
    space: Workspace,
    split: Split,
    parsed: Parsed,
    names: Names,
    *,
    machine: str | None = None,
    ticks: bool = False,
) -> Parsed:
    """All tables that a trace tells; `names.pids` are the processes whose time counts.

    `machine` (uname -m) gives system calls their names, unless the trace says it. `ticks`: the printer leaves
    jiffies_to_msecs() away, so durations of jbd2 are ticks.
    """
    told = split.summary
    with split:
        if not told["events"]:
            # Nothing of use: say so instead of taking the text for understood.
            parsed.lines_understood = 0
            return parsed
        machine = _headers(told["headers"], parsed) or machine
        _others(told["others"], parsed)
        threads = _threads(space, told["threads"], bool(told["calls"]), names.pids, parsed)
        words = _names(split, machine)
        states = told["switches_in"] and told["switches_out"]
        if told["calls"]:
            _calls(space, split, words, threads, states, parsed)
        if states:
            _times(split, threads, bool(told["calls"]), parsed)
            _waits(split, words, threads, parsed)
        elif told["switches_out"]:
            parsed.note(
                "only one side of context switches was recorded: record with -a for thread states"
            )
            parsed.missing.append("perf record -a -e 'sched:*'")
    block.requests(space, parsed)
    first, last = int(told["first_ns"]), int(told["last_ns"])
    filesystem.fill(space, parsed, ticks=ticks)
    cache.fill(space, parsed, interval("ts_ns", first, last))
    return parsed


def _headers(headers: list[str], parsed: Parsed) -> str | None:
    """What perf script --header says of the machine; its uname -m."""
    machine = None
    for line in headers:
        key, _, value = line.lstrip("# ").partition(" : ")
        told = {"arch": "machine", "os release": "kernel", "hostname": "name"}.get(key.strip())
        if told:
            parsed.host[told] = value.strip()
        if key.strip() == "nrcpus online" and value.strip().isdigit():
            parsed.host["cpus"] = int(value)
        if key.strip() == "perf version":
            parsed.version = value.strip()
        if key.strip() == "arch":
            machine = value.strip()
    return machine


def _others(others: dict[str, int], parsed: Parsed) -> None:
    """Note the events which are known but tell nothing here."""
    if others:
        found = sorted(others.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = ", ".join(name for name, _ in found[:5])
        more = ", …" if len(found) > 5 else ""
        parsed.note(f"{sum(others.values()):,} events not used: {shown}{more}")


def _threads(
    space: Workspace,
    told: dict[str, dict[str, Any]],
    calls: bool,
    pids: frozenset[int],
    parsed: Parsed,
) -> Threads:
    """The recording's threads, and the work space's `scope` (tid) and `tids` (tid, tgid)."""
    known = sorted((int(tid), thread) for tid, thread in told.items())
    tids = np.array([tid for tid, _ in known], dtype=np.int64)
    tgids = np.array([int(thread["tgid"]) or tid for tid, thread in known], dtype=np.int64)
    kernel = re.compile(block.KERNEL_THREADS)
    mine = np.array(
        [
            bool(thread["calls"]) if calls else not kernel.match(thread["comm"])
            for _, thread in known
        ],
        dtype=bool,
    )
    if pids:
        rows = (
            {"tid": tid, "tgid": tgid, "ppid": thread["ppid"]}
            for (tid, thread), tgid in zip(known, tgids.tolist(), strict=True)
        )
        mine = np.isin(tids, list(process_tree(rows, pids)[0]))
    elif len(processes := dict.fromkeys(tgids[mine].tolist())) >= MANY:
        parsed.note(
            f"the figures are those of {len(processes):,} processes in the trace; --pid tells of one: "
            + _busiest(known, tgids, mine)
        )
    space.put("tids", pa.table({"tid": tids, "tgid": tgids}))
    space.put("scope", pa.table({"tid": tids[mine]}))
    starts = [thread["start_ns"] for _, thread in known]
    parsed.tables["threads"] = pa.table(
        {
            "tid": tids,
            "tgid": tgids,
            "ppid": pa.array([thread["ppid"] for _, thread in known], pa.int64()),
            "comm": pa.array([thread["comm"] or "?" for _, thread in known], pa.string()),
            "start_ns": pa.array(starts, pa.int64()),
            "end_ns": pa.array([thread["end_ns"] for _, thread in known], pa.int64()),
        }
    )
    return Threads(tids, tgids, tids[mine])


def _busiest(known: list[tuple[int, dict[str, Any]]], tgids: Any, mine: Any) -> str:
    """The processes with the most time, or the most calls, as "name (number)"."""
    sums: Counter[int] = Counter()
    names: dict[int, str] = {}
    for (tid, thread), tgid, scoped in zip(known, tgids.tolist(), mine.tolist(), strict=True):
        if scoped:
            sums[tgid] += thread["active_ns"] or thread["calls"]
            if tid == tgid or tgid not in names:
                names[tgid] = thread["comm"] or "?"
    return ", ".join(f"{names[tgid]} ({tgid})" for tgid, _ in sums.most_common(3))


def _names(split: Split, machine: str | None) -> pa.Array:
    """The strings of a trace, with the names of calls for their numbers ("#17")."""
    numbers = call_names(machine)
    return pa.array(
        [
            numbers.get(int(text[1:]), f"syscall_{text[1:]}")
            if re.fullmatch(r"#\d{1,9}", text)
            else text
            for text in split.strings
        ],
        pa.string(),
    )


_CALLS = pa.schema(
    [
        (name, pa.string() if name == "name" else pa.int64())
        for name in (
            "ts_ns", "dur_ns", "cpu_ns", "runnable_ns", "blocked_ns", "sleeping_ns", "tgid", "tid", "name",
            "fd", "bytes", "offset", "ret",
        )
    ]
)  # fmt: skip


def _calls(
    space: Workspace, split: Split, names: pa.Array, threads: Threads, states: bool, parsed: Parsed
) -> None:
    """syscalls of the I/O calls, syscall_totals of all."""
    parsed.tables["syscalls"] = mapped(_call_batches(split, names, threads, states), _CALLS)
    first, last = int(split.summary["first_ns"]), int(split.summary["last_ns"])
    space.put("words", pa.table({"told": split.strings, "name": names}))
    cpu = "CASE WHEN count(cpu_ns) = count(*) THEN sum(cpu_ns) END" if states else "NULL"
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval(f"(second * {INTERVAL_NS})", first, last)},
            coalesce(tgid, c.tid) AS tgid, c.tid, w.name, sum(calls) AS calls, sum(errors) AS errors,
            sum(total_ns) AS total_ns, max(max_ns) AS max_ns, {cpu} AS cpu_ns
        FROM totals c JOIN words w ON w.told = c.name LEFT JOIN tids USING (tid) GROUP BY ALL""",
    )


def _call_batches(
    split: Split, names: pa.Array, threads: Threads, states: bool
) -> Iterator[pa.RecordBatch]:
    """The calls that live recordings keep one by one, with the arguments that are file, length and offset."""
    known = shapes()
    told = names.to_pylist()
    # By the string's number: the number of the argument; -1: it has none, -2: no I/O call.
    at = {
        key: np.array([-2 if name not in known else _or(known[name][key]) for name in told])
        for key in ("fd", "length", "offset")
    }
    last = int(split.summary["last_ns"])
    for block_ in split.blocks(b"c"):
        rows = block_[at["fd"][block_["name"]] > -2]
        given = np.stack([rows[f"a{index}"] for index in range(6)], axis=1)

        def argument(
            key: str, rows: Any = rows, given: Any = given
        ) -> tuple[Any, Any]:  # values, unknown
            place = at[key][rows["name"]]
            values = np.take_along_axis(given, np.maximum(place, 0)[:, None], axis=1)[:, 0]
            return values, (place < 0) | (values == UNKNOWN)

        fds, no_fd = argument("fd")
        size, no_size = argument("length")
        offset, no_offset = argument("offset")
        open_end = rows["dur_ns"] == UNKNOWN
        parts = (
            pa.array(np.ascontiguousarray(rows[name]))
            if states
            else pa.nulls(len(rows), pa.int64())
            for name in ("cpu_ns", "runnable_ns", "blocked_ns", "sleeping_ns")
        )
        tids = rows["tid"].astype(np.int64)
        columns = [
            pa.array(np.ascontiguousarray(rows["ts_ns"])),
            pa.array(np.where(open_end, last - rows["ts_ns"], rows["dur_ns"])),
            *parts,
            pa.array(threads.of(tids)),
            pa.array(tids),
            names.take(pa.array(np.ascontiguousarray(rows["name"]))),
            pa.array(fds.astype(np.int32).astype(np.int64), mask=no_fd),
            pa.array(size, mask=no_size),
            pa.array(offset, mask=no_offset),
            pa.array(np.ascontiguousarray(rows["ret"]), mask=rows["ret"] == UNKNOWN),
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_CALLS)


def _or(place: int | None) -> int:
    return -1 if place is None else place


_TIMES = pa.schema(
    [
        (name, pa.int64())
        for name in (
            "ts_ns", "interval_ns", "tgid", "tid", "cpu_user_ns", "cpu_kernel_ns", "runnable_ns",
            "blocked_ns", "sleeping_ns",
        )
    ]
)  # fmt: skip


def _times(split: Split, threads: Threads, calls: bool, parsed: Parsed) -> None:
    """thread_time; which part of a CPU's time is the kernel's is told by calls alone."""

    def batches() -> Iterator[pa.RecordBatch]:
        for block_ in split.blocks(b"t"):
            rows = block_[np.isin(block_["tid"], threads.scope)]
            tids = rows["tid"].astype(np.int64)
            parts = ("user", "kernel", "runnable_ns", "blocked_ns", "sleeping_ns")
            sums = [np.ascontiguousarray(rows[name]) for name in parts]
            unknown = np.full(len(rows), not calls)
            columns = [
                pa.array(np.ascontiguousarray(rows["ts_ns"])),
                pa.array(np.sum(sums, axis=0, dtype=np.int64)),
                pa.array(threads.of(tids)),
                pa.array(tids),
                *(pa.array(values, mask=unknown) for values in sums[:2]),
                *(pa.array(values) for values in sums[2:]),
            ]
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


def _waits(split: Split, names: pa.Array, threads: Threads, parsed: Parsed) -> None:
    """Each stretch of state D, to the wake-up.

    Why it waited is told by the switch's kernel stack (perf record -g), or by sched_blocked_reason (Android).
    """
    if not split.summary["reasons"] and not split.summary["stacks"]:
        parsed.note("the trace does not tell which waits are I/O waits, nor their reasons")
        parsed.missing.append("perf record -a -g -e 'sched:sched_switch,sched:sched_waking'")
    # The reason of a wait by its stack, or by the function that it waited in; both are strings.
    judged = stacks.Judged(parsed)

    def batches() -> Iterator[pa.RecordBatch]:
        for block_ in split.blocks(b"w"):
            rows = block_[np.isin(block_["tid"], threads.scope)]
            for number in np.unique(rows["stack"]):
                judged.add(int(number), split.strings)
            tids = rows["tid"].astype(np.int64)
            ids, whys, ios = judged.of(rows["stack"])
            callers = [split.strings[number] for number in rows["caller"]]
            reasons = [
                why or caller or "unknown" for why, caller in zip(whys, callers, strict=True)
            ]
            io = np.where(rows["stack"] > 0, ios, rows["io"] == 1)
            columns = [
                pa.array(np.ascontiguousarray(rows["ts_ns"])),
                pa.array(np.ascontiguousarray(rows["dur_ns"])),
                pa.array(threads.of(tids)),
                pa.array(tids),
                pa.array(reasons, pa.string()),
                pa.array(io),
                pa.array(ids, mask=ids == 0),
                names.take(pa.array(rows["call"], mask=rows["call"] == 0)),
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=_WAITS)

    parsed.tables["waits"] = mapped(batches(), _WAITS)
