"""Relations whose rows are no table's: facts of the recording, and lists that SQL joins with."""

from collections.abc import Callable, Sequence

from iowhy.recordings.sql_text import text_literal
from iowhy.relations.cpu_limits import LEFT_OVER, SATURATED, SERIAL_CORES, SHORTAGE
from iowhy.relations.facts import SENSORS, RecordedFacts
from iowhy.tables import budget_classes as classes
from iowhy.tables import calls, reason_words, reasons

#: Columns of `recording` that say what of a recording is there: the tables that have rows then, and their meaning.
TOLD: dict[str, tuple[tuple[str, ...], str]] = {
    "has_calls": (("syscalls",), "single calls were kept"),
    "has_waits": (("waits",), "single waits were kept"),
    "has_bytes": (("process_io",), "the bytes that processes moved were read"),
    "has_divided_waits": (
        ("interval_waits", "wait_sums"),
        "the recorder divided waits among intervals of threads",
    ),
    "tells_durable": (
        ("call_sums", "sync_sums"),
        "the recorder's sums of calls say which writes were durable",
    ),
}

Row = tuple[object, ...]


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
    }
    columns = [
        f"CAST({'NULL' if value is None else value} AS BIGINT) AS {name}"
        for name, value in numbers.items()
    ]
    truths = {name: facts.has(*needed) for name, (needed, _) in TOLD.items()}
    truths |= {f"ran_{name}": name in facts.ran for name in SENSORS}
    columns += [f"{'true' if truth else 'false'} AS {name}" for name, truth in truths.items()]
    return "SELECT " + ", ".join(columns)


def cpu_limits() -> list[Row]:
    """From what use of the CPUs on it counts as what (cpu_limits.py)."""
    return [(SERIAL_CORES, SATURATED, SHORTAGE, LEFT_OVER)]


def call_kinds() -> list[Row]:
    """What each system call is for (tables/calls.toml)."""
    return [
        (c.name, c.kind, c.direction, c.moves_data, c.reaps, c.effect == "open", c.closes)
        for c in calls().values()
        if c.kind is not None or c.closes
    ]


def wait_kinds() -> list[Row]:
    """What each reason of a wait counts as (tables/reasons.toml)."""
    return [(r.name, r.budget_class, r.part, r.opening, r.outside) for r in reasons().values()]


def wait_words() -> list[Row]:
    """Parts of words in other tools' reasons (tables/classes.toml)."""
    return [
        (place, word, words.budget_class)
        for place, words in enumerate(reason_words(), 1)
        for word in words.any_of
    ]


def budget_classes() -> list[Row]:
    """The classes of the time budget (tables/classes.toml)."""
    return [(place, c.key, c.name) for place, c in enumerate(classes().values(), 1)]


def phases(facts: RecordedFacts) -> str:
    """The phases of the elapsed time, from 1 (change_points.py)."""
    start_ns = facts.start_ns
    found: list[Row] = [
        (number, start_ns + begin, start_ns + end, cause)
        for number, (begin, end, cause) in enumerate(facts.phases, 1)
    ]
    return _values([one for one, *_ in COLUMNS["phases"][1]], found or [(0, 0, 0, "")]) + (
        "" if found else " WHERE false"
    )


def memory_sizes(facts: RecordedFacts) -> str:
    """What is in memory, by its size (memory_sizes.py)."""
    rows: list[Row] = list(facts.memory_sizes)
    return _values([one for one, *_ in COLUMNS["memory_sizes"][1]], rows or [(0, 0.0, 0, 0)]) + (
        "" if rows else " WHERE false"
    )


def _values(columns: Sequence[str], rows: Sequence[Row]) -> str:
    """Rows of text, whole numbers, truth values and NULL as a SELECT."""
    names = ", ".join(columns)
    given = ", ".join(f"({', '.join(map(_literal, row))})" for row in rows)
    # A column that is NULL in its first rows has no type of its own.
    typed = ", ".join(
        f"CAST({name} AS VARCHAR) AS {name}"
        if any(isinstance(row[at], str) for row in rows) or all(row[at] is None for row in rows)
        else name
        for at, name in enumerate(columns)
    )
    return f"SELECT {typed} FROM (VALUES {given}) AS v({names})"


def _literal(value: object) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"CAST({value} AS DOUBLE)"
    return str(value) if isinstance(value, int) else text_literal(str(value))


def literal(name: str, facts: RecordedFacts) -> str:
    """The SQL of such a relation."""
    if name in _OF_FACTS:
        return _OF_FACTS[name](facts)
    return _values([one for one, *_ in COLUMNS[name][1]], _ROWS[name]())


_OF_FACTS: dict[str, Callable[[RecordedFacts], str]] = {
    "recording": recording,
    "phases": phases,
    "memory_sizes": memory_sizes,
}
_ROWS: dict[str, Callable[[], list[Row]]] = {
    one.__name__: one for one in (call_kinds, wait_kinds, wait_words, budget_classes, cpu_limits)
}
#: What a row of each is, and the columns: name, meaning, unit; not filtered.
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
            *((name, f"whether {meaning}", "bool") for name, (_, meaning) in TOLD.items()),
            *((f"ran_{name}", f"whether the sensor {name} ran", "bool") for name in SENSORS),
        ),
    ),
    "phases": (
        "One phase: a stretch of the elapsed time that is even, and unlike those next to it",
        (
            ("phase", "number of the phase, from 1", "number"),
            ("begin_ns", "its begin", "ns"),
            ("end_ns", "its end", "ns"),
            ("cause", "its leading cause, where each was judged", "text"),
        ),
    ),
    "memory_sizes": (
        "What of the pages that calls read is in memory from an earlier call, with so much memory for file data",
        (
            ("memory_bytes", "memory for file data; the last row is all that is read", "bytes"),
            (
                "hit_share",
                "of the pages that calls read, those in memory from an earlier call",
                "share",
            ),
            ("read_bytes", "what the device reads then, ahead of calls too", "bytes"),
            ("again_bytes", "of it, more than with memory for all", "bytes"),
        ),
    ),
    "call_kinds": (
        "One system call of a known kind by its name",
        (
            ("name", "system call", "text"),
            (
                "kind",
                "read, write, copy, sync, lookup, change, collect or idle; or NULL",
                "text",
            ),
            ("direction", "of a copy: whether a wait in it is one to read or to write", "text"),
            ("moves_data", "it moves a file's data and gives the number of bytes", "bool"),
            ("reaps", "interruptible sleep in it waits for asynchronous I/O", "bool"),
            ("opens", "it opens a file by its name", "bool"),
            ("closes", "it closes files", "bool"),
        ),
    ),
    "wait_kinds": (
        "One reason of the recorder's for a wait",
        (
            ("reason", "reason", "text"),
            ("budget", "its class in the time budget, or how the call decides that", "text"),
            ("part", "its part in the time of a sync call", "text"),
            ("opening", "its class in a call that opens a file, where the call decides", "text"),
            ("outside", "its class outside any call, where the call decides", "text"),
        ),
    ),
    "wait_words": (
        "A part of a word in another tool's reason for a wait",
        (
            ("place", "the lowest place decides", "number"),
            ("word", "the letters", "text"),
            ("class", "key of the class of the time budget", "text"),
        ),
    ),
    "budget_classes": (
        "One class of the time budget",
        (
            ("place", "place in the order in which they are shown", "number"),
            ("key", "short name, in other relations", "text"),
            ("class", "name", "text"),
        ),
    ),
    "cpu_limits": (
        "One row: from what use of the CPUs on it counts as what",
        (
            ("serial_cores", "CPUs wanted at once, at most, for serial work", "number"),
            ("saturated_share", "of the CPUs, at least, for all being in use", "share"),
            (
                "shortage_share",
                "of the time on or for a CPU, waiting, for too few of them",
                "share",
            ),
            ("left_share", "of the CPUs, idle, at least, for some being left over", "share"),
        ),
    ),
}
