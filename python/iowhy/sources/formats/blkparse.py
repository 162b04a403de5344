"""Text of `blkparse` (and `btrace`): one line per action on a block device.

Layout: blkparse(1), default format "%D %2c %8s %5T.%9t %5p %2a %3d ": device, CPU, sequence, seconds, process,
action, operation, then sector + sectors and the process name, or [error] of a completion.
"""

from pathlib import Path

from iowhy.sources.format import Block, Parsed, Progress
from iowhy.sources.names import Names
from iowhy.sources.tracing import block as requests
from iowhy.sources.tracing import splitter
from iowhy.sources.tracing.block import KERNEL_THREADS
from iowhy.sources.tracing.workspace import Workspace, space_for

NAME = "blkparse"
HINT = r"^\s*\d+,\d+\s+\d+\s+\d+\s+\d+\.\d+\s+\d+\s+[A-Z]"

EVENT = (
    r"^\s*(\d+),(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\.(\d+)\s+(\d+)\s+([A-Za-z]+)\s+([A-Z]+)?\s*"
    r"(?:(\d+)\s+\+\s+(\d+)|(\d+)\s+/\s+(\d+))?(?: \((?:[\da-f ]*)\))?\s*(?:<-.*)?(?:\[(.*)\])?.*?\s*$"
)
SURE = 0.95


def read(block: Block) -> Parsed:
    """Actions in a paste."""
    parsed = _parsed()
    with Workspace(on_disk=False) as space:
        split = splitter.from_lines(NAME, block.lines, block.first_line, block.source, parsed)
        return _finished(space, split, parsed)


def stream(path: Path, names: Names, progress: Progress) -> Parsed:  # noqa: ARG001
    """Actions in a file of any size."""
    parsed = _parsed()
    with space_for(path) as space:
        split = splitter.from_path(NAME, path, parsed, progress)
        return _finished(space, split, parsed)


def _parsed() -> Parsed:
    return Parsed(NAME, units="seconds since the trace began, sectors of 512 bytes")


def _finished(space: Workspace, split: splitter.Split, parsed: Parsed) -> Parsed:
    if not split.summary["actions"]:
        parsed.lines_understood = 0
        return parsed
    split.attach(space)
    split.load(space, "block_events")
    finish(space, parsed)
    return parsed


def finish(space: Workspace, parsed: Parsed) -> None:
    """Requests and threads from `block_events`, for the text and the binary form alike."""
    space.run(f"""CREATE TABLE scope AS SELECT DISTINCT tid FROM block_events
        WHERE kind <> 'complete' AND tid > 0 AND NOT regexp_matches(coalesce(comm, ''), '{KERNEL_THREADS}')""")
    requests.requests(space, parsed)
    parsed.tables["threads"] = space.table(
        "threads",
        """SELECT tid, tid AS tgid, arg_max(comm, n) AS comm, min(ts_ns) AS start_ns FROM block_events
        WHERE kind <> 'complete' AND tid > 0 AND comm <> '' GROUP BY tid""",
    )
