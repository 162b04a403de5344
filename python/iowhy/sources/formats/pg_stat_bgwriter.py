"""PostgreSQL's checkpoints as psql prints them, aligned or expanded (\\x): pg_stat_bgwriter, from 17 on pg_stat_checkpointer.

PostgreSQL's documentation, "The Cumulative Statistics System": counts and milliseconds since stats_reset. A checkpoint is requested as the
log reached max_wal_size, by CHECKPOINT or by a backup; else checkpoint_timeout is over.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _table
from iowhy.sources.numbers import number

NAME = "pg-stat-bgwriter"
TOOL = "pg_stat_bgwriter"
_FIRST = r"^\s*(?:checkpoints_timed|num_timed)\s*\|"
HINT = rf"{_FIRST}|^-\[ RECORD \d"
NEAR = (_FIRST, 2)
SURE = 0.95

#: Column → metric, and what one is in its unit.
_COLUMNS = {
    "checkpoints_timed": ("checkpoints_timed", 1.0),
    "num_timed": ("checkpoints_timed", 1.0),
    "checkpoints_req": ("checkpoints_requested", 1.0),
    "num_requested": ("checkpoints_requested", 1.0),
    "checkpoint_write_time": ("checkpoints_write_ns", 1e6),
    "write_time": ("checkpoints_write_ns", 1e6),
    "checkpoint_sync_time": ("checkpoints_sync_ns", 1e6),
    "sync_time": ("checkpoints_sync_ns", 1e6),
}
_BESIDE = re.compile(r"[-+ ]+|\(\d+ rows?\)|-\[ RECORD \d+ \]-*\+?-*")


def read(block: Block) -> Parsed:
    """Into measurements of PostgreSQL."""
    parsed = Parsed(TOOL, units="counts, ms")
    columns: list[str] = []
    for at, line in parsed.lines(block):
        if _BESIDE.fullmatch(line.strip()):
            continue
        cells = _table.cells(line)
        if len(cells) > 2 and not columns and any(cell in _COLUMNS for cell in cells):
            columns = cells
        elif columns and len(cells) == len(columns):
            if not _take(parsed, dict(zip(columns, cells, strict=True))):
                parsed.reject(at, line)
        elif columns or len(cells) != 2 or not _take(parsed, {cells[0]: cells[1]}):
            parsed.reject(at, line)
    parsed.partial = "counts since the statistics were reset, not of one time"
    return parsed


def _take(parsed: Parsed, row: dict[str, str]) -> bool:
    """Whether all that is counted are numbers."""
    counted = {name: number(text) for name, text in row.items() if name != "stats_reset"}
    if any(value is None for value in counted.values()):
        return False
    for name, value in counted.items():
        if name in _COLUMNS and value is not None:
            metric, unit = _COLUMNS[name]
            parsed.measure("PostgreSQL", metric, value * unit)
    return True
