"""Linux `pidstat` (sysstat): -u (CPU), -d (disk), -w (switches), -r (faults), -t, -h.

Manual: pidstat(1). kB are 1024 bytes; `iodelay` is in clock ticks of 10 ms (USER_HZ).
"""

from collections.abc import Mapping, Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats import _sysstat
from iowhy.sources.numbers import KIB, NS_PER_S

NAME = "pidstat"
_HEAD = rf"(?:#\s+Time|{_sysstat.AVERAGE}|{_sysstat.TIME})\s+(?:UID|USER|PID|TGID)\s.*Command"
HINT = _sysstat.BANNER + "|^" + _HEAD
TICK_NS = 10_000_000


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The banner with pidstat's header below it, or that header alone."""
    words, banner = _sysstat.titles(lines, at)
    found = words[-1:] == ["Command"] and bool({"PID", "TGID"} & set(words))
    return Claim(0.95, again=not banner) if found else None


def read(block: Block) -> Parsed:
    """-u of threads into thread_time, -d into process_io; the rest into measurements."""
    parsed = Parsed(NAME, units="kB of 1024 bytes; iodelay in ticks of 10 ms")
    rows = _sysstat.rows(block, parsed)
    usual = parsed.length_ns(_sysstat.length(rows, block.command), rows)
    process = 0
    for row in rows:
        start = row.start_ns if row.start_ns is not None else row.end_ns - usual
        interval = row.end_ns - start
        cells = dict(zip(row.columns, row.cells, strict=False))
        comm = " ".join(row.cells[len(row.columns) - 1 :])
        ids = [cells.get("TGID", cells.get("PID", "-")), cells.get("TID", "-")]
        if ids[0].isdigit():
            process = int(ids[0])
        thread = int(ids[1]) if ids[1].isdigit() else None
        if not ids[0].isdigit() and thread is None:
            parsed.lines_understood -= 1
            parsed.reject(row.line, block.lines[row.line - block.first_line])
            continue
        comm = comm.removeprefix("|__")
        block.names.thread(thread or process, process, comm)
        _row(parsed, row, start, interval, process, thread, comm)
    return parsed


#: Column → (metric, bytes or 1 of its unit).
_PLAIN = {
    "cswch/s": ("voluntary_switches_per_s", 1),
    "nvcswch/s": ("involuntary_switches_per_s", 1),
    "majflt/s": ("major_faults_per_s", 1),
    "RSS": ("resident_bytes", KIB),
}


def _row(
    parsed: Parsed,
    row: _sysstat.Row,
    start: int,
    interval: int,
    tgid: int,
    tid: int | None,
    comm: str,
) -> None:
    # A process' name may have spaces, so only the columns before the last are by place.
    values = {
        name: value for name, value in row.numbers().items() if name not in {"PID", "TGID", "TID"}
    }
    found = _cpu(parsed, values, start, interval, tgid, tid)
    if tid is None:
        _io(parsed, values, start, interval, tgid)
    if "iodelay" in values:
        found["io_delay_share"] = values["iodelay"] * TICK_NS / interval
    for column, (metric, unit) in _PLAIN.items():
        if column in values:
            found[metric] = values[column] * unit
    parsed.measures(f"{comm} ({tid or tgid})", found, row.end_ns)


def _cpu(
    parsed: Parsed,
    values: Mapping[str, float],
    start: int,
    interval: int,
    tgid: int,
    tid: int | None,
) -> dict[str, float]:
    """A thread's time as a row of thread_time; a process' (of all its threads) as measurements."""
    if "%usr" not in values or "%system" not in values:
        return {}
    shares = {name: values[name] / 100 for name in ("%usr", "%system", "%wait") if name in values}
    if tid is None:
        found = {"cpu_share": shares["%usr"] + shares["%system"]}
        if "%wait" in shares:
            found["runnable_share"] = shares["%wait"]
        return found
    parsed.add(
        "thread_time",
        {
            "ts_ns": start,
            "interval_ns": interval,
            "tgid": tgid,
            "tid": tid,
            "cpu_user_ns": round(shares["%usr"] * interval),
            "cpu_kernel_ns": round(shares["%system"] * interval),
            "runnable_ns": round(shares["%wait"] * interval) if "%wait" in shares else None,
        },
    )
    return {}


def _io(parsed: Parsed, values: Mapping[str, float], start: int, interval: int, tgid: int) -> None:
    """A process' bytes as an interval of process_io."""
    if "kB_rd/s" not in values or "kB_wr/s" not in values:
        return
    names = {
        "read_bytes": "kB_rd/s",
        "written_bytes": "kB_wr/s",
        "cancelled_bytes": "kB_ccwr/s",
    }
    counters = {
        name: values.get(column, 0.0) * KIB * interval / NS_PER_S for name, column in names.items()
    }
    # -1.00: the kernel did not let pidstat read /proc/PID/io.
    if all(value >= 0 for value in counters.values()):
        parsed.intervals.add("process_io", {"tgid": tgid}, start, interval, counters)
