"""macOS `fs_usage`: calls and disk requests with their times, -w (wide) and narrow; -f filesys, diskio, pathname.

Manual: fs_usage(1). A line ends with the time that it took, W where the thread had to wait, and the program, with its thread's
number when wide. The time in front is that of the end. B is in bytes, D a block of the device.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.formats._sysstat import Day
from iowhy.sources.numbers import NS_PER_S

NAME = "fs-usage"
TOOL = "fs_usage"
HINT = (
    r"^\d\d:\d\d:\d\d(?:\.\d{3,6})?\s+[A-Za-z_]\w*(?:\[\w+\])?\s(?:.*\s)?\d{1,6}\.\d{6}(?: W)?\s+\S"
)

_LINE = re.compile(
    r"(?P<clock>\d\d:\d\d:\d\d)(?P<part>\.\d{3,6})?\s+(?P<name>[A-Za-z_]\w*)(?:\[\w+\])?(?P<rest>\s.*?)?\s"
    r"(?P<took>\d{1,6}\.\d{6})(?P<waited> W)?\s+(?P<comm>\S.*?)\s*"
)
#: Requests of the disk, by how their names begin (fs_usage's source names the flags behind); Chunk: of Core Storage, to the
#: disk below.
_DISK = re.compile(r"(Rd|Wr)(?:Data|Meta|PgIn|PgOut|Chunk)\w*|(PgIn|PgOut)\w*")
#: The errno of a call that failed stands behind its descriptor, or first.
_FAILED = re.compile(r"\s*(?:F=\d{1,9}\s*)?\[\s*\d{1,3}\]")
_BYTES = re.compile(r"\bB=0x([0-9a-f]{1,12})\b")
_DEVICE = re.compile(r"/dev/(disk\d{1,4})(?:s\d+)*\b")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """Two lines of its shape, one after the other, or the only line."""
    near = [line for line in lines[at : at + 2] if line.strip()]
    return Claim(0.8, again=True) if all(_LINE.fullmatch(line.strip()) for line in near) else None


def read(block: Block) -> Parsed:
    """Requests into block_requests, calls summed up into syscall_totals."""
    parsed = Parsed(TOOL, units="seconds, bytes", host={"os": "macOS"})
    day = Day(None)
    totals: dict[tuple[int, str], list[int]] = {}
    last = 0
    first: int | None = None
    for at, line in parsed.lines(block):
        found = _LINE.fullmatch(line.strip())
        timed = None if found is None else day.split(found["clock"])
        if found is None or timed is None:
            parsed.reject(at, line)
            continue
        end = timed[0] + round(float(f"0{found['part'] or ''}") * NS_PER_S)
        took = round(float(found["took"]) * NS_PER_S)
        first = end - took if first is None else min(first, end - took)
        last = max(last, end)
        _event(parsed, found, end, took, totals, block)
    _emit(parsed, totals, first or 0, last)
    return parsed


def _event(
    parsed: Parsed,
    found: re.Match[str],
    end: int,
    took: int,
    totals: dict[tuple[int, str], list[int]],
    block: Block,
) -> None:
    comm, _, thread = found["comm"].rpartition(".")
    comm, tid = (comm, int(thread[:9])) if comm and thread.isdigit() else (found["comm"], 0)
    block.names.thread(tid, tid, comm)
    rest = found["rest"] or ""
    disk, size = _DEVICE.search(rest), _BYTES.search(rest)
    kind = _DISK.fullmatch(found["name"])
    if kind is None or disk is None or size is None:
        # What makes a Mac's disk empty its cache is no fsync, but this fcntl.
        name = "fsync" if "FULLFSYNC" in rest else found["name"]
        sums = totals.setdefault((tid, name), [0, 0, 0, 0, 0])
        sums[0] += 1
        sums[1] += took
        sums[2] = max(sums[2], took)
        sums[3] += 0 if found["waited"] else took
        sums[4] += _FAILED.match(rest) is not None
        return
    letters = kind[1] or kind[2]
    op = "read" if letters in {"Rd", "PgIn"} else "write"
    kind_of = "metadata" if "Meta" in found["name"] else "data"
    flags = [kind_of] if kind_of == "metadata" else []
    dev, moved = block.names.disk(disk[1]), int(size[1], 16)
    # Blocks of the device, whose size is not printed: no sector can be told.
    parsed.request(dev, (end - took, end - took, end), None, moved, op, flags, tid, kind_of)


def _emit(parsed: Parsed, totals: dict[tuple[int, str], list[int]], first: int, last: int) -> None:
    for (tid, name), (calls, took, longest, computed, errors) in totals.items():
        if name == "THROTTLED":
            parsed.measure("all", "throttled_ns", float(took))
            parsed.note(f"macOS held background I/O back {calls:,} times (THROTTLED)")
            continue
        parsed.add(
            "syscall_totals",
            {
                "ts_ns": first, "interval_ns": max(1, last - first), "tgid": tid, "tid": tid, "name": name,
                "calls": calls, "errors": errors, "total_ns": took, "max_ns": longest, "cpu_ns": computed,
            },
        )  # fmt: skip
    if parsed.lines_understood:
        parsed.note("fs_usage lists calls and requests, not the time between them")
        parsed.missing.append("iostat -w 1 -c 10")
