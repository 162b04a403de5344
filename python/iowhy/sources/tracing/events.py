"""Kernel trace events, whoever wrote them down, into the tables of a recording.

`iowhy-logs` takes a trace apart and follows threads, calls and waits (logs/src/trace); what is joined over the whole of
it is done here by SQL: requests, page cache, journal. Each layer has its module.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from iowhy.sources.format import Parsed
from iowhy.sources.names import Names
from iowhy.sources.tracing import block, cache, filesystem
from iowhy.sources.tracing.calls import call_names, shapes
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.threads import Threads, identify, times, waits
from iowhy.sources.tracing.workspace import Workspace, mapped

#: Live recordings' totals and thread times are of one second too.
INTERVAL_NS = 1_000_000_000
ARGUMENTS = 6


def interval(column: str, first: object, last: object) -> str:
    """SQL: ts_ns and interval_ns of the second that `column` is in, from the trace's first time to its last."""
    slot = f"{column} // {INTERVAL_NS} * {INTERVAL_NS}"
    return f"""greatest({slot}, {first}) AS ts_ns,
        greatest(1, least({slot} + {INTERVAL_NS}, {last}) - greatest({slot}, {first})) AS interval_ns"""


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
    summary = split.summary
    if not summary["events"]:
        # Nothing of use: say so instead of taking the text for understood.
        parsed.lines_understood = 0
        return parsed
    machine = _headers(summary.get("headers", []), parsed) or machine
    _others(summary["others"], parsed)
    threads = identify(space, split, names.pids, parsed)
    words = _names(split, machine)
    states = bool(summary["switches_in"] and summary["switches_out"])
    if summary["calls"]:
        _calls(space, split, words, threads, states, parsed)
    if states:
        times(split, threads, parsed)
        waits(split, words, threads, parsed)
    elif summary["switches_out"]:
        parsed.note(
            "only one side of context switches was recorded: record with -a for thread states"
        )
        parsed.missing.append("perf record -a -e 'sched:*'")
    split.load(space, "block_events", "pages", *filesystem.INPUTS)
    block.requests(space, parsed)
    filesystem.fill(space, parsed, ticks=ticks)
    seconds = interval("ts_ns", int(summary["first_ns"]), int(summary["last_ns"]))
    cache.fill(space, parsed, seconds)
    return parsed


def _headers(headers: list[str], parsed: Parsed) -> str | None:
    """What perf script --header says of the machine; its uname -m."""
    machine = None
    for line in headers:
        key, _, value = line.lstrip("# ").partition(" : ")
        fact = {"arch": "machine", "os release": "kernel", "hostname": "name"}.get(key.strip())
        if fact:
            parsed.host[fact] = value.strip()
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


def _names(split: Split, machine: str | None) -> pa.Array:
    """The strings of a trace, with the names of calls for their numbers ("#17")."""
    names = call_names(machine)
    numbered = pc.match_substring_regex(split.strings, r"^#\d{1,9}$")
    strings = split.strings.cast(pa.string())
    found = [
        names.get(int(text[1:]), f"syscall_{text[1:]}")
        for text in strings.filter(numbered).to_pylist()
    ]
    return pc.replace_with_mask(strings, numbered, pa.array(found, pa.string()))


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
    split.load(space, "call_totals")
    space.put("words", pa.table({"string": split.strings, "name": names}))
    cpu = "CASE WHEN count(cpu_ns) = count(*) THEN sum(cpu_ns) END" if states else "NULL"
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval(f"(second * {INTERVAL_NS})", first, last)},
            coalesce(tgid, c.tid) AS tgid, c.tid, w.name, sum(calls) AS calls, sum(errors) AS errors,
            sum(total_ns) AS total_ns, max(max_ns) AS max_ns, {cpu} AS cpu_ns
        FROM call_totals c JOIN words w ON w.string = c.name LEFT JOIN tids USING (tid) GROUP BY ALL""",
    )


def _call_batches(
    split: Split, names: pa.Array, threads: Threads, states: bool
) -> Iterator[pa.RecordBatch]:
    """The calls that live recordings keep one by one, with the arguments that are file, length and offset."""
    known = shapes()
    called = names.to_pylist()
    kept = pa.array([name in known for name in called], pa.bool_())
    # By the string's number: the number of the argument, NULL where the call has none.
    places = {
        key: pa.array([known[name][key] if name in known else None for name in called], pa.int32())
        for key in ("fd", "length", "offset")
    }
    last = int(split.summary["last_ns"])
    for batch in split.batches("calls"):
        rows = batch.filter(kept.take(batch["name"]))
        given = [rows[f"argument_{index}"] for index in range(ARGUMENTS)]

        def argument(
            key: str, rows: pa.RecordBatch = rows, given: list[pa.Array] = given
        ) -> pa.Array:
            return pc.choose(places[key].take(rows["name"]), *given)

        # The upper half of a descriptor's register is not told.
        fd = argument("fd")
        fd = pa.array(
            fd.fill_null(0).to_numpy().astype(np.int32).astype(np.int64),
            mask=pc.is_null(fd).to_numpy(False),
        )
        tids = rows["tid"].cast(pa.int64())
        columns = [
            rows["ts_ns"],
            pc.coalesce(rows["dur_ns"], pc.subtract(last, rows["ts_ns"])),
            *(
                rows[name] if states else pa.nulls(len(rows), pa.int64())
                for name in _CALLS.names[2:6]
            ),
            threads.processes(tids),
            tids,
            names.take(rows["name"]),
            fd,
            argument("length"),
            argument("offset"),
            rows["ret"],
        ]
        yield pa.RecordBatch.from_arrays(columns, schema=_CALLS)
