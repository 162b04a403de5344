"""Kernel trace events, whoever wrote them down, into the tables of a recording.

`iowhy-logs` takes a trace apart and follows threads, calls and waits (logs/src/trace); what is joined over the whole of
it is done here by SQL: requests, page cache, journal. Each layer has its module.
"""

import numpy as np

from iowhy.sources.format import Parsed
from iowhy.sources.names import Names
from iowhy.sources.tracing import block, cache, filesystem
from iowhy.sources.tracing.calls import call_names, shapes_table
from iowhy.sources.tracing.splitter import Split
from iowhy.sources.tracing.threads import identify, times, waits
from iowhy.sources.tracing.workspace import Workspace

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
    """All tables that a trace says; `names.pids` are the processes whose time counts.

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
    split.attach(space)
    identify(space, split, names.pids, parsed)
    _name_calls(space, machine)
    states = bool(summary["switches_in"] and summary["switches_out"])
    if summary["calls"]:
        _calls(space, split, states, parsed)
    if states:
        times(space, split, parsed)
        waits(space, split, parsed)
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
    """Note the events which are known but say nothing here."""
    if others:
        found = sorted(others.items(), key=lambda pair: (-pair[1], pair[0]))
        shown = ", ".join(name for name, _ in found[:5])
        more = ", …" if len(found) > 5 else ""
        parsed.note(f"{sum(others.values()):,} events not used: {shown}{more}")


def _name_calls(space: Workspace, machine: str | None) -> None:
    """`words`: the strings of a trace by number (string, name), with the names of calls for their numbers ("#17"),
    and for the calls that live recordings keep one by one, which arguments are file, length and offset."""
    names = call_names(machine)
    numbered = space.rows(
        "SELECT number, text FROM strings WHERE regexp_full_match(text, '#\\d{1,9}')"
    )
    found = [names.get(int(str(text)[1:]), f"syscall_{str(text)[1:]}") for _, text in numbered]
    space.put("shapes", shapes_table())
    space.run("CREATE TABLE numbered (number BIGINT, name VARCHAR)")
    if numbered:
        numbers = np.array([number for number, _ in numbered], np.int64)
        space.put("numbered", {"number": numbers, "name": np.array(found, object)})
    space.run("""CREATE TABLE words AS
        SELECT w.*, shapes.name IS NOT NULL AS kept, fd_at, length_at, offset_at
        FROM (SELECT number AS string, coalesce(name, text) AS name FROM strings LEFT JOIN numbered USING (number)) w
            LEFT JOIN shapes ON shapes.name = w.name""")


def _argument(at: str) -> str:
    """SQL: the argument whose number is in a column."""
    choices = " ".join(f"WHEN {index} THEN argument_{index}" for index in range(ARGUMENTS))
    return f"CASE {at} {choices} END"


def _calls(space: Workspace, split: Split, states: bool, parsed: Parsed) -> None:
    """syscalls of the I/O calls, syscall_totals of all."""
    first, last = int(split.summary["first_ns"]), int(split.summary["last_ns"])
    parts = ("cpu_ns", "runnable_ns", "blocked_ns", "sleeping_ns")
    told = ", ".join(part if states else f"NULL AS {part}" for part in parts)
    # The upper half of a descriptor's register is not told: the lower one is a signed number of 32 bits.
    parsed.tables["syscalls"] = space.table(
        "syscalls",
        f"""SELECT ts_ns, coalesce(dur_ns, {last} - ts_ns) AS dur_ns, {told}, coalesce(tgid, c.tid) AS tgid, c.tid,
            w.name, xor({_argument("fd_at")} & 4294967295, 2147483648) - 2147483648 AS fd,
            {_argument("length_at")} AS bytes, {_argument("offset_at")} AS "offset", ret
        FROM {split.sql("calls")} c LEFT JOIN tids t ON t.tid = c.tid LEFT JOIN words w ON w.string = c.name
        WHERE w.kept""",
        in_order=True,
    )
    cpu = "CASE WHEN count(cpu_ns) = count(*) THEN sum(cpu_ns) END" if states else "NULL"
    parsed.tables["syscall_totals"] = space.table(
        "syscall_totals",
        f"""SELECT {interval(f"(second * {INTERVAL_NS})", first, last)},
            coalesce(tgid, c.tid) AS tgid, c.tid, w.name, sum(calls) AS calls, sum(errors) AS errors,
            sum(total_ns) AS total_ns, max(max_ns) AS max_ns, {cpu} AS cpu_ns
        FROM {split.sql("call_totals")} c JOIN words w ON w.string = c.name LEFT JOIN tids USING (tid) GROUP BY ALL""",
    )
