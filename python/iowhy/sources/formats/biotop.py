"""bcc's and libbpf-tools' `biotop`: who moves how much on which disk, with the mean time of a request.

Columns: biotop(8): PID, COMM, D (R or W), MAJ, MIN, DISK, I/O, Kbytes, AVGms, of one interval; the 20 largest unless -r
says otherwise.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._screens import HEAD, screens
from iowhy.sources.names import dev_number
from iowhy.sources.numbers import KIB

NAME = "biotop"
HINT = r"^\s*PID\s+COMM\s+D\s+MAJ\s+MIN\s+DISK|" + HEAD
SURE = 0.95
BEGINS = "Tracing"
NEAR = (r"^(?=.*MAJ)(?=.*DISK)", 5)

_ROW = re.compile(
    r"\s*(\d{1,9})\s+(\S.*?)?\s+([RWFDN?])\s+(\d{1,5})\s+(\d{1,7})\s+(\S+)\s+(\d{1,15})\s+(\d{1,15}(?:\.\d+)?)\s+"
    r"(\d{1,9}(?:\.\d+)?)\s*"
)
#: Rows of a screen unless -r says otherwise.
ROWS = 20


def read(block: Block) -> Parsed:
    """Into disk_samples and process_io; devices by their numbers."""
    parsed = Parsed(NAME, units="Kbytes of 1024 bytes, milliseconds", host={"os": "Linux"})
    found, interval = screens(block, parsed, lambda text: text.split()[0] == "PID", _ROW)
    if any(len(screen) >= ROWS for screen in found):
        parsed.partial = f"only the {ROWS} largest rows of each interval"
    for at, screen in enumerate(found):
        _emit(parsed, screen, at * interval, interval, block)
    parsed.missing.append("iostat -x 1 10")
    return parsed


def _emit(
    parsed: Parsed, rows: Sequence[re.Match[str]], start: int, interval: int, block: Block
) -> None:
    """One screen: sums for each disk, and for each process."""
    disks: dict[int, dict[str, float]] = {}
    processes: dict[int, dict[str, float]] = {}
    for row in rows:
        pid, count, moved = int(row[1]), int(row[7]), float(row[8]) * KIB
        kind = {"R": "read", "W": "write"}.get(row[3])
        if kind is None:
            continue
        dev = (
            block.names.disk(row[6], dev_number(int(row[4]), int(row[5])))
            if row[6] != "?"
            else None
        )
        bytes_ = "read_bytes" if kind == "read" else "written_bytes"
        block.names.thread(pid, pid, row[2] or "?")
        own = processes.setdefault(pid, {"read_bytes": 0.0, "written_bytes": 0.0})
        own[bytes_] += moved
        if dev is not None:
            of = disks.setdefault(
                dev,
                {
                    "reads": 0.0, "writes": 0.0, "read_bytes": 0.0, "written_bytes": 0.0, "read_ns": 0.0,
                    "write_ns": 0.0,
                },
            )  # fmt: skip
            of[f"{kind}s"] += count
            of[bytes_] += moved
            of[f"{kind}_ns"] += count * float(row[9]) * 1e6
    for dev, counters in disks.items():
        parsed.intervals.add("disk_samples", {"dev": dev}, start, interval, counters)
    for pid, counters in processes.items():
        parsed.intervals.add("process_io", {"tgid": pid}, start, interval, counters)
