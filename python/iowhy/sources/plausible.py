"""What a part may not say, whatever its text: negative counts, more than all of the time, numbers beyond any counter.

A row that does is damage. It is left out and counted, and costs no other row, and no other part.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from iowhy.recordings.schema import tables as schema_tables
from iowhy.recordings.stored_rows import StoredRows
from iowhy.sources.format import Parsed
from iowhy.sources.intervals import Columns, Intervals

#: The states of a CPU in one interval pass 100 % by what rounding adds: each of eight by half a percent.
CPU_SHARES_MAX = 1.05
#: And they are the whole of it: less means that columns are missing (of a table that was cut off).
CPU_SHARES_MIN = 0.8
#: A device is busy at most all of the time; readers have taken off what jitter adds.
BUSY_MAX = 1.001
#: Counters are signed 64-bit, and are summed up.
COUNT_MAX = 2**53
#: Facts of a machine: CPUs, and 2**56 bytes of memory, which no address bus has.
HOST_MAX = {"cpus": 65_536, "memory_bytes": 2**56, "page_bytes": 2**30}
#: Shares of one process are of one CPU: no machine has more of them.
CPUS_MAX = 65_536

#: Counts and lengths; times of events may lie before the start of the text.
_NEVER_NEGATIVE = ("_ns", "_bytes", "_pages", "count", "calls")
_TIMES = frozenset({"ts_ns", "queue_ns", "issue_ns", "complete_ns", "start_ns", "end_ns"})


def sift(parsed: Parsed) -> None:
    """Leave out what cannot be, with a note of how much; tables that are left empty go."""
    dropped = _intervals(parsed)
    for name, largest in HOST_MAX.items():
        fact = parsed.host.get(name)
        if isinstance(fact, int) and not 0 < fact <= largest:
            del parsed.host[name]
            dropped += 1
    for table, rows in list(parsed.tables.items()):
        if not isinstance(rows, StoredRows):
            sound = _rows(table, rows)
            dropped += len(rows) - len(sound)
            parsed.tables[table] = sound
        if not len(parsed.tables[table]):
            del parsed.tables[table]
    if dropped:
        parsed.note(
            f"{dropped:,} rows of {parsed.tool} left out: negative, beyond or far below 100 %, or beyond any counter"
        )


def _intervals(parsed: Parsed) -> int:
    groups = parsed.intervals.groups()
    masks = [_sound(group) for group in groups]
    lost = sum(int((~mask).sum()) for mask in masks)
    if lost or any(not len(mask) for mask in masks):
        kept = Intervals()
        for group, mask in zip(groups, masks, strict=True):
            for at in np.flatnonzero(mask):
                kept.append(group.at(int(at)))
        parsed.intervals = kept
    return lost


def _sound(group: Columns) -> Any:
    starts, lengths = np.array(group.starts, np.float64), np.array(group.lengths, np.float64)
    sound = (lengths > 0) & (np.abs(starts) < 2**62) & (lengths < 2**62)
    total = np.zeros(len(starts))
    if any(isinstance(value, int) and abs(value) >= 2**62 for _, value in group.key):
        sound &= False
    for name, column in group.counters.items():
        values = np.array(column)
        sound &= np.isnan(values) | ((values >= 0) & (values <= COUNT_MAX * 1024))
        if name.endswith("_ns"):
            total += np.nan_to_num(values)
    if "busy_ns" in group.counters:
        sound &= ~(np.array(group.counters["busy_ns"]) > BUSY_MAX * lengths)
    if group.table == "cpu_samples":
        sound &= (total <= CPU_SHARES_MAX * lengths) & (
            (total >= CPU_SHARES_MIN * lengths) | (total == 0)
        )
    return sound


def _rows(table: str, rows: Sequence[dict[str, object]]) -> list[dict[str, object]]:
    known = schema_tables().get(table)
    if known is None:
        return []
    kinds = {column.name: column for column in known.columns}
    return [row for row in rows if _row_sound(kinds, row)]


def _row_sound(kinds: Mapping[str, Any], row: Mapping[str, object]) -> bool:
    for name, value in row.items():
        if isinstance(value, bool) or value is None or isinstance(value, str | list):
            continue
        if name not in kinds or not isinstance(value, int | float):
            return False
        if isinstance(value, int) and abs(value) >= 2**62:
            return False
        if isinstance(value, float) and not abs(value) < 2.0**62:  # NaN and infinity too
            return False
        if value < 0 and name not in _TIMES and name.endswith(_NEVER_NEGATIVE):
            return False
    share = str(row.get("metric", "")).endswith("share")
    value = row.get("value")
    return not (share and isinstance(value, int | float) and not 0 <= value <= CPUS_MAX)
