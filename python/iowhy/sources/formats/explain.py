"""PostgreSQL's EXPLAIN (ANALYZE, BUFFERS): blocks that were found in memory and read, and how long reading took.

A plan's first line of buffers counts those of all nodes below it. Blocks have 8 KiB.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats import _lines
from iowhy.units import percent, size

NAME = "explain"
TOOL = "EXPLAIN"
HINT = r"\(actual time=[\d.]+\.\.[\d.]+ rows=|^\s*Execution Time: [\d.]+ ms|^\s*Buffers: (?:shared|local|temp) "

_LINES = (
    re.compile(r"Buffers:(?: shared)?(?: hit=(?P<found_blocks8k>\d+))?(?: read=(?P<read_blocks8k>\d+))?(?: dirtied=\d+)?(?: written=\d+)?(?:.*temp(?: read=(?P<temporary_read_blocks8k>\d+))?(?: written=(?P<temporary_written_blocks8k>\d+))?)?"),
    re.compile(r"I/O Timings:(?: shared)?(?: read=(?P<reading_ms>[\d.]+))?(?: write=(?P<writing_ms>[\d.]+))?"),
    re.compile(r"^\W*Execution Time: (?P<execution_ms>[\d.]+) ms"),
)  # fmt: skip
_NODE = re.compile(r"\(actual time=[\d.]+\.\.([\d.]{1,15}) rows=\d+ loops=(\d{1,9})\)")
_PASSED = re.compile(
    r"actual time=|never executed|^\s*[-(+|]|QUERY PLAN|:|\bon\b|^\s*(?:->|Planning)"
)


def read(block: Block) -> Parsed:
    """Into measurements of the plan's first node: bytes found in memory and read, times."""
    every = _lines.read(block, TOOL, _LINES, _PASSED)
    found: dict[str, float] = {}
    rows = _lines.measured(every)
    every.tables.clear()
    for row in rows:
        found.setdefault(str(row["metric"]), float(str(row["value"])))
    top = next((match for line in block.lines if (match := _NODE.search(line))), None)
    # The first node ends with the query; what is printed below a plan is left out.
    if top is not None:
        found.setdefault("execution_ns", float(top[1]) * 1e6 * float(top[2]))
    for metric, value in found.items():
        every.measure("plan", metric, value)
    read_, took = found.get("read_bytes"), found.get("execution_ns")
    if read_ and took:
        reading = found.get("reading_ns")
        share = "" if reading is None else f": {percent(min(1.0, reading / took))} of its time"
        every.note(f"the plan reads {size(read_)} from outside of PostgreSQL's buffers{share}")
        if reading is None:
            every.missing.append("SET track_io_timing = on")
    return every
