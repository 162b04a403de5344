"""bcc's (and libbpf-tools', bpftrace's) `biosnoop`: one line per completed block request.

Columns: biosnoop(8). TIME(s), COMM, PID, DISK, T (R or W, or flags), SECTOR, BYTES, LAT(ms); with -Q also
QUE(ms), with -P PATTERN. The time is that of the completion, from the first one on.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Claim, Parsed
from iowhy.sources.numbers import number

NAME = "biosnoop"
#: A row without its title, as grep leaves it.
_BARE = r"\d+\.\d+\s+\S.*\s\d+\s+[a-z]\w*-?\d*\s+[RWFDN][A-Z]*\s+\d+\s+\d+\s+[\d.]+"
HINT = r"^TIME\S*\s+COMM\s+(TID|PID)\s+DISK|^\s*" + _BARE + r"\s*$"

_ROW = re.compile(_BARE)
_TITLES = ["TIME", "COMM", "PID", "DISK", "T", "SECTOR", "BYTES", "LAT"]
#: Without one of these, no request can be read.
_NEEDED = {"TIME", "COMM", "DISK", "BYTES", "LAT"}
_OPERATIONS = {"R": "read", "W": "write", "F": "flush", "D": "discard"}


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The line of titles; two rows of its shape, when that was filtered away."""
    if lines[at].startswith("TIME"):
        return Claim(0.97, again=True) if "DISK" in lines[at] and "LAT" in lines[at] else None
    if _ROW.fullmatch(lines[at].strip()) is None:
        return None
    below = lines[at + 1 : at + 2]
    return Claim(0.6, again=True) if below and _ROW.fullmatch(below[0].strip()) else None


def read(block: Block) -> Parsed:
    """Into block_requests."""
    parsed = Parsed(NAME, units="seconds, milliseconds, bytes")
    titles: list[str] = []
    unit = 1e9
    if block.lines and _ROW.fullmatch(block.lines[0].strip()):
        titles = _TITLES
        parsed.note("biosnoop's title is missing: its usual columns are assumed")
    for n, line in parsed.lines(block):
        words = line.split()
        if words[0].startswith("TIME"):
            titles = [re.sub(r"\(.*\)", "", word) for word in words]
            if _NEEDED - set(titles):
                titles = []  # of no use, and what stands under it no more
                parsed.reject(n, line)
                continue
            unit = 1e6 if "(ms)" in words[0] else 1e9
        elif not titles or not _row(parsed, titles, words, unit, block):
            parsed.reject(n, line)
    if parsed.tables:
        parsed.note(
            "biosnoop shows a request's completion and duration: issued is completed minus that"
        )
    return parsed


def _row(
    parsed: Parsed, titles: Sequence[str], words: Sequence[str], unit: float, block: Block
) -> bool:
    """Whether it is a request."""
    # A name may have spaces: what is too much belongs to it. Disk and operation of a request
    # that has none (a flush) are left empty by old versions.
    extra = len(words) - len(titles)
    if extra < 0:
        return False
    at = titles.index("COMM")
    cells = [*words[:at], " ".join(words[at : at + extra + 1]), *words[at + extra + 1 :]]
    cell = dict(zip(titles, cells, strict=True))
    done, tid = number(cell["TIME"]), number(cell.get("PID", cell.get("TID", "")))
    latency, sector = number(cell["LAT"]), number(cell.get("SECTOR", ""))
    size = number(cell.get("BYTES", ""))
    if done is None or tid is None or latency is None or size is None:
        return False
    letters = cell.get("T", "")
    queued = number(cell.get("QUE", "")) or 0.0
    complete = round(done * unit)
    issue = complete - round(latency * 1e6)
    flush = letters.startswith("F") and size == 0
    block.names.thread(int(tid), int(tid), cell["COMM"])
    op = "flush" if flush else _OPERATIONS.get(letters.lstrip("F")[:1], "other")
    times = issue - round(queued * 1e6), issue, complete
    place = None if flush or sector is None else int(sector)
    flags = ["sync"] if "S" in letters[1:] else []
    parsed.request(block.names.disk(cell["DISK"]), times, place, int(size), op, flags, int(tid))
    return True
