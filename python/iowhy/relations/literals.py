"""Relations whose rows are no table's: facts of the recording, and lists that SQL joins with."""

from collections.abc import Callable

from iowhy.relations.calls import KINDS, WAITS
from iowhy.relations.facts import SENSORS, RecordedFacts


def recording(facts: RecordedFacts) -> str:
    """One row of facts."""
    numbers = {
        "start_ns": facts.start_ns,
        "end_ns": facts.end_ns,
        "elapsed_ns": facts.elapsed_ns,
        "cpus": facts.cpus,
        "memory_bytes": facts.memory_bytes,
        "page_bytes": facts.page_bytes,
        "slice_ns": facts.slice_ns,
        "grid_ns": facts.grid_ns,
    }
    columns = [
        f"CAST({'NULL' if value is None else value} AS BIGINT) AS {name}"
        for name, value in numbers.items()
    ]
    columns += [f"{'true' if name in facts.ran else 'false'} AS ran_{name}" for name in SENSORS]
    return "SELECT " + ", ".join(columns)


def call_kinds(_: RecordedFacts) -> str:
    """What each I/O system call is for (calls.py)."""
    rows = ", ".join(f"('{name}', '{kind}')" for kind, names in KINDS.items() for name in names)
    return f"SELECT name, kind FROM (VALUES {rows}) AS c(name, kind)"


def wait_kinds(_: RecordedFacts) -> str:
    """What each reason of a wait counts as (calls.py)."""
    rows = ", ".join(f"('{reason}', '{kind}', '{part}')" for reason, (kind, part) in WAITS.items())
    return f"SELECT reason, budget, part FROM (VALUES {rows}) AS w(reason, budget, part)"


LITERALS: dict[str, Callable[[RecordedFacts], str]] = {
    "recording": recording,
    "call_kinds": call_kinds,
    "wait_kinds": wait_kinds,
}
"""By name; not filtered."""

COLUMNS: dict[str, tuple[str, tuple[tuple[str, str, str], ...]]] = {
    "recording": (
        "One row: the recording itself",
        (
            ("start_ns", "start of the command: the origin of all columns in seconds", "ns"),
            ("end_ns", "end of the command, or of the part chosen by --until", "ns"),
            ("elapsed_ns", "length of the chosen part", "ns"),
            ("cpus", "CPUs of the machine", "count"),
            ("memory_bytes", "memory of the machine", "bytes"),
            ("page_bytes", "size of a page", "bytes"),
            ("slice_ns", "a round length for reports over time", "ns"),
            ("grid_ns", "length of the budget's cells", "ns"),
            *((f"ran_{name}", f"whether the sensor {name} ran", "bool") for name in SENSORS),
        ),
    ),
    "call_kinds": (
        "One I/O system call by its name",
        (
            ("name", "system call", "text"),
            ("kind", "read, write, copy, sync, lookup, change or collect", "text"),
        ),
    ),
    "wait_kinds": (
        "One reason of the recorder's for a wait",
        (
            ("reason", "reason", "text"),
            ("budget", "its class in the time budget", "text"),
            ("part", "its part in the time of a sync call", "text"),
        ),
    ),
}
