"""What the vmstat of BSD and of AIX have in common: a first line since boot, then one line an interval."""

from collections.abc import Mapping, Sequence

from iowhy.sources.format import Parsed

Row = Mapping[str, float]


def distinct(words: Sequence[str]) -> list[str]:
    """Column names; `sy` means system calls under faults and for system time under cpu."""
    names = list(words)
    if names.count("sy") == 2:
        names[names.index("sy")] = "calls"
    return names


def emit(
    parsed: Parsed,
    row: Row,
    start: int,
    interval: int,
    counters: Mapping[str, float],
    free_bytes: float,
) -> None:
    """One line: CPU shares, processes, free memory, and what is counted in the interval."""
    names = {"user_ns": "us", "system_ns": "sy", "idle_ns": "id", "iowait_ns": "wa"}
    shares = {name: row[column] * interval / 100 for name, column in names.items() if column in row}
    parsed.intervals.add("cpu_samples", {"cpu": -1}, start, interval, shares)
    levels = {"procs_running": int(row["r"]), "procs_blocked": int(row["b"])}
    parsed.intervals.add("vm_samples", {}, start, interval, counters, levels)
    parsed.add("memory_samples", {"ts_ns": start + interval, "free_bytes": round(free_bytes)})
