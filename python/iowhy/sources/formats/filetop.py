"""bcc's and libbpf-tools' `filetop`: reads and writes of files by thread, as the programs ask for them.

Columns: filetop(8): TID (-p: PID), COMM, READS, WRITES, R_Kb, W_Kb, T (R regular, S socket, O other), FILE, of one interval;
the 20 largest unless -r says otherwise. What is read from the page cache is in it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Claim, Interval, Parsed
from iowhy.sources.formats._measure import measure
from iowhy.sources.numbers import KIB, NS_PER_S

NAME = "filetop"
TOOL = "filetop"
HINT = r"^\s*[TP]ID\s+COMM\s+READS\s+WRITES\s+R_K[Bb]|^Tracing\.\.\. Output every \d+ secs|^(?:\d\d:\d\d:\d\d )?loadavg: "

_ROW = re.compile(
    r"\s*(\d{1,9})\s+(\S.*?)\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+(\d{1,15})\s+([RSO?])\s+(\S.*?)\s*"
)
_EVERY = re.compile(r"Tracing\.\.\. Output every (\d{1,6}) secs\..*")
_LOADS = re.compile(r"(\d\d:\d\d:\d\d )?loadavg: .*")


def sniff(lines: Sequence[str], at: int) -> Claim | None:
    """The titles; the first line where they follow."""
    titled = any("READS" in line and "WRITES" in line for line in lines[at : at + 5])
    return Claim(0.95, again="Tracing" not in lines[at]) if titled else None


def read(block: Block) -> Parsed:
    """Each thread's calls into process_io, files into measurements: sums over all of the intervals."""
    parsed = Parsed(TOOL, units="Kb of 1024 bytes, asked for by calls")
    interval = interval_of(block.command)
    screens: list[list[re.Match[str]]] = []
    for at, line in enumerate(block.lines, block.first_line):
        text = line.strip()
        if not text:
            continue
        if every := _EVERY.fullmatch(text):
            interval = int(every[1]) * NS_PER_S or None
        elif "READS" in text and "WRITES" in text:
            screens.append([])
        elif screens and (row := _ROW.fullmatch(line)) is not None:
            screens[-1].append(row)
        elif not _LOADS.fullmatch(text) and "etaching" not in text:
            parsed.reject(at, line)
            continue
        parsed.lines_understood += 1
    if interval is None:
        interval = NS_PER_S
        parsed.note("the interval of filetop is not shown: 1 s is assumed") if screens else None
    _emit(parsed, screens, interval, block)
    return parsed


def _emit(
    parsed: Parsed, screens: Sequence[Sequence[re.Match[str]]], interval: int, block: Block
) -> None:
    files: dict[str, list[float]] = {}
    for at, screen in enumerate(screens):
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
            parsed.intervals.append(
                Interval("process_io", {"tgid": tid}, at * interval, interval, counters)
            )
    for file, sums in files.items():
        for metric, value in zip(
            ("read_calls", "write_calls", "read_call_bytes", "write_call_bytes"), sums, strict=True
        ):
            measure(parsed, file, metric, value or None)
    if screens:
        parsed.note(
            "filetop counts what programs ask for, from the page cache too: no time and no disk is in it"
        )
        parsed.missing.append("strace -f -ttt -T -y -p PID")
        parsed.partial = "only the busiest files"
