"""bcc's and libbpf-tools' `filetop`: reads and writes of files by thread, as the programs ask for them.

Columns: filetop(8): TID (-p: PID), COMM, READS, WRITES, R_Kb, W_Kb, T (R regular, S socket, O other), FILE, of one interval;
the 20 largest unless -r says otherwise. What is read from the page cache is in it.
"""

import re
from collections.abc import Sequence

from iowhy.sources.format import Block, Parsed
from iowhy.sources.formats._screens import HEAD, screens
from iowhy.sources.numbers import KIB

NAME = "filetop"
HINT = r"^\s*[TP]ID\s+COMM\s+READS\s+WRITES\s+R_K[Bb]|" + HEAD
SURE = 0.95
BEGINS = "Tracing"
NEAR = (r"^(?=.*READS)(?=.*WRITES)", 5)

_ROW = re.compile(
    r"\s*(\d{1,9})\s+(\S.*?)\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+([RSO?])\s+(\S.*?)\s*"
)


def read(block: Block) -> Parsed:
    """Each thread's calls into process_io, files into measurements: sums over all of the intervals."""
    parsed = Parsed(NAME, units="Kb of 1024 bytes, asked for by calls")
    found, interval = screens(
        block, parsed, lambda text: "READS" in text and "WRITES" in text, _ROW
    )
    _emit(parsed, found, interval, block)
    return parsed


def _emit(
    parsed: Parsed, found: Sequence[Sequence[re.Match[str]]], interval: int, block: Block
) -> None:
    files: dict[str, list[float]] = {}
    for at, screen in enumerate(found):
        threads: dict[int, list[float]] = {}
        for row in screen:
            tid = int(row[1])
            block.names.thread(tid, tid, row[2])
            values = [int(row[3]), int(row[4]), int(row[5]) * KIB, int(row[6]) * KIB]
            for sums in (threads.setdefault(tid, [0.0] * 4), files.setdefault(row[8], [0.0] * 4)):
                for index, amount in enumerate(values):
                    sums[index] += amount
        for tid, (reads, writes, read, written) in threads.items():
            counters = {
                "read_calls": reads,
                "write_calls": writes,
                "read_call_bytes": read,
                "write_call_bytes": written,
            }
            parsed.intervals.add("process_io", {"tgid": tid}, at * interval, interval, counters)
    for file, sums in files.items():
        for metric, value in zip(
            ("read_calls", "write_calls", "read_call_bytes", "write_call_bytes"), sums, strict=True
        ):
            parsed.measure(file, metric, value)
    if found:
        parsed.note(
            "filetop counts what programs ask for, from the page cache too: no time and no disk is in it"
        )
        parsed.missing.append("strace -f -ttt -T -y -p {pid}")
        parsed.partial = "only the busiest files"
