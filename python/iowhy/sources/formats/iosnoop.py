"""perf-tools' `iosnoop` (ftrace): one line per completed block request; -s and -t add when it began and ended, -Q the queue.

Columns: iosnoop(8): [STARTs] [ENDs] COMM PID TYPE DEV BLOCK BYTES LATms. TYPE are the kernel's letters (R, W, F, D; S sync,
M metadata, A readahead); a flush's BLOCK is -1 as unsigned.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.names import dev_number

NAME = "iosnoop"
COMMAS_PART = True
HINT = r"^\s*(?:STARTs\s+)?(?:ENDs\s+)?COMM\s+PID\s+TYPE\s+DEV\s+BLOCK\s+BYTES\s+LATms|^Tracing block I/O\.? ?(?:\.\.)?"
SURE = 0.96
BEGINS = "Tracing"
NEAR = (r"^(?=.*LATms)(?=.*BLOCK)", 3)

_ROW = re.compile(
    r"\s*(?P<times>(?:\d{1,10}\.\d{1,9}\s+){0,2})(?P<comm>\S.*?)\s+(?P<pid>\d{1,9})\s+(?P<type>[A-Z]{1,8})\s+"
    r"(?P<major>\d{1,5}),(?P<minor>\d{1,7})\s+(?P<block>\d{1,20})\s+(?P<bytes>\d{1,15})\s+(?P<ms>\d{1,9}\.\d{1,6})\s*"
)
_OPERATIONS = {"R": "read", "W": "write", "F": "flush", "D": "discard"}
_FLAGS = {"S": "sync", "M": "metadata", "A": "readahead"}


def read(block: Block) -> Parsed:
    """With a time, into block_requests; without, their sums for each disk and kind into measurements."""
    parsed = Parsed(NAME, units="seconds, milliseconds, bytes", host={"os": "Linux"})
    starts = ends = False
    sums: dict[tuple[str, str], list[float]] = {}
    for at, line in parsed.lines(block):
        text = line.strip()
        if "LATms" in text and "BLOCK" in text:
            starts, ends = "STARTs" in text, "ENDs" in text
        elif row := _ROW.fullmatch(line):
            _row(parsed, row, starts, ends, sums, block)
        elif not text.startswith(("Tracing block I/O", "Ending tracing", "^C")):
            parsed.reject(at, line)
    for (disk, kind), (count, moved, took, longest) in sums.items():
        parsed.measure(f"{disk} {kind}", "requests", count)
        parsed.measure(f"{disk} {kind}", "bytes", moved)
        parsed.measure(f"{disk} {kind}", "wait_mean_ns", took / count)
        parsed.measure(f"{disk} {kind}", "wait_max_ns", longest)
    if sums:
        parsed.note(
            "iosnoop without -s or -t prints no times: how much of the time a disk is busy is not in it"
        )
        parsed.missing.append("iosnoop -ts")
    return parsed


def _row(
    parsed: Parsed,
    row: re.Match[str],
    starts: bool,
    ends: bool,
    sums: dict[tuple[str, str], list[float]],
    block: Block,
) -> None:
    letters, size = row["type"], int(row["bytes"])
    latency = round(float(row["ms"]) * 1e6)
    kind = _OPERATIONS.get(letters[0], "other")
    flush = letters[0] == "F" and size == 0
    if letters[0] == "F" and size:
        kind = _OPERATIONS.get(letters.lstrip("F")[:1], "other")
    name = f"{row['major']}:{row['minor']}"
    dev = block.names.disk(name, dev_number(int(row["major"]), int(row["minor"])))
    pid, times = int(row["pid"]), [round(float(word) * 1e9) for word in row["times"].split()]
    block.names.thread(pid, pid, row["comm"])
    if not times or not (starts or ends):
        of = sums.setdefault((name, kind), [0.0] * 4)
        for index, value in enumerate((1, size, latency)):
            of[index] += value
        of[3] = max(of[3], latency)
        return
    issue = times[0] if starts else times[0] - latency
    complete = times[-1] if ends and len(times) > 1 - (not starts) else issue + latency
    sector = None if flush or int(row["block"]) >= 2**62 else int(row["block"])
    flags = [name for letter, name in _FLAGS.items() if letter in letters[1:]]
    op = "flush" if flush else kind
    parsed.request(dev, (issue, issue, complete), sector, size, op, flags, pid)
