"""The classes of the time budget and the sets of calls that causes speak of, from iowhy/tables.

Which wait is of which class is decided in SQL (relations/wait_classes.sql).
"""

from collections.abc import Callable

from iowhy.tables import Call, budget_classes, calls, reasons

_CLASSES = budget_classes()

USER = _CLASSES["user"].name
KERNEL = _CLASSES["kernel"].name
RUNNABLE = _CLASSES["runnable"].name
READ = _CLASSES["read"].name
WRITE = _CLASSES["write"].name
SYNC = _CLASSES["sync"].name
THROTTLED = _CLASSES["throttled"].name
LOCK = _CLASSES["lock"].name
MEMORY = _CLASSES["memory"].name
RECORDER = _CLASSES["recorder"].name
IDLE = _CLASSES["idle"].name
UNEXPLAINED = _CLASSES["unexplained"].name

ALL = tuple(entry.name for entry in _CLASSES.values())


def named(keys: str) -> frozenset[str]:
    """Those with these keys in classes.toml."""
    return frozenset(_CLASSES[key].name for key in keys.split())


def _of(*groups: str) -> frozenset[str]:
    return frozenset(entry.name for entry in _CLASSES.values() if entry.group in groups)


#: Waits for storage, whichever way.
STORAGE = _of("storage")
CPU = _of("cpu")
#: Waits that nobody wants: all but for a CPU and for events.
WAITING = _of("storage", "obstacle", "unknown")


def _named(chosen: Callable[[Call], bool]) -> frozenset[str]:
    return frozenset(call.name for call in calls().values() if chosen(call))


SYNC_CALLS = _named(lambda c: c.kind == "sync")
#: Calls that move a file's data, with a length: the others above only touch names.
DATA_READS = _named(lambda c: c.kind == "read" and c.moves_data)
DATA_WRITES = _named(lambda c: c.kind == "write" and c.moves_data)
#: Calls in which a thread waits for time, people, children, peers or user-space locks.
IDLE_CALLS = _named(lambda c: c.kind == "idle")
#: Calls in which a thread waits for operations that were submitted before.
REAPS = _named(lambda c: c.reaps)

#: The recorder's reasons: a wait of one of them outside any call is a page fault.
KNOWN_REASONS = frozenset(reasons())


#: Kinds of on-CPU kernel time (the relations of budget/): of the thread itself, because there was no free memory.
RECLAIM = "freeing memory"
FILE_CALLS = "calls on files"
OTHER_CALLS = "other calls"
#: What is left: also what it takes to enter a call and to leave it.
FAULTS = "page faults, interrupts, call entry"


def quoted(names: frozenset[str]) -> str:
    """A list of names for SQL's IN."""
    return "(" + ", ".join(f"'{name}'" for name in sorted(names)) + ")"
