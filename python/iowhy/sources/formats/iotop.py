"""`iotop`: disk bytes a second by thread or process, and the share of time that each waits for I/O and swap.

Manual: iotop(8). K/s are KiB. "Total" is what processes ask of the block layer, "Actual" what goes to the disks.
The screens come every second unless -d says otherwise.
"""

import re

from iowhy.sources.clock import interval_of
from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import KIB, NS_PER_S, number

NAME = "iotop"
HINT = (
    r"^\s*(?:\d\d:\d\d:\d\d )?Total DISK READ\s*:|^\s*(?:TIME\s+)?[TP]ID\s+PRIO\s+USER\s+DISK READ"
)

_TOTAL = re.compile(
    r"\s*(?:\d\d:\d\d:\d\d )?(?:Total|Actual|Current) DISK READ\s*:\s*([\d.,]+) ([BKMGT])/s\s*\|\s*"
    r"(?:Total|Actual|Current) DISK WRITE\s*:\s*([\d.,]+) ([BKMGT])/s.*"
)
_ROW = re.compile(
    r"\s*(?:\d\d:\d\d:\d\d\s+)?(\d{1,9})\s+(\S+)\s+(\S+)\s+([\d.,]+) ([BKMGT])(/s)?\s+([\d.,]+) ([BKMGT])(?:/s)?\s+"
    r"(?:(?:([\d.,]+) %|\?unavailable\?)\s+)?(?:(?:([\d.,]+) %|\?unavailable\?)\s+)?(\S.*?)\s*"
)
_UNITS = {letter: KIB**power for power, letter in enumerate("BKMGT")}


def read(block: Block) -> Parsed:
    """Into process_io and measurements."""
    parsed = Parsed(NAME, units="K/s are KiB per second")
    interval = interval_of(block.command) or NS_PER_S
    screen = -1
    for at, line in parsed.lines(block):
        if match := _TOTAL.fullmatch(line):
            kind = "actual" if "Total" not in line else "asked"
            screen += kind == "asked" or screen < 0
            end = (screen + 1) * interval
            parsed.measure("all", f"{kind}_read_bytes_per_s", _bytes(match[1], match[2]), end)
            parsed.measure("all", f"{kind}_written_bytes_per_s", _bytes(match[3], match[4]), end)
        elif re.match(r"\s*(?:TIME\s+)?[TP]ID\s+PRIO", line):
            screen = max(screen, 0)
        elif match := _ROW.fullmatch(line):
            _row(parsed, match, max(screen, 0) * interval, interval, block)
        else:
            parsed.reject(at, line)
    parsed.note("the interval of iotop is not shown: 1 s is assumed") if screen >= 0 else None
    return parsed


def _row(parsed: Parsed, match: re.Match[str], start: int, interval: int, block: Block) -> None:
    tid = int(match[1])
    word = match[11].split()[0]
    comm = word.strip("[]") if word.startswith("[") else word.rsplit("/", 1)[-1]
    block.names.thread(tid, tid, comm)
    read, written = _bytes(match[4], match[5]), _bytes(match[7], match[8])
    if read is None or written is None:
        return
    subject = f"{comm} ({tid})"
    if match[6] is None:  # -a: bytes since iotop began
        parsed.measure(subject, "since_start_read_bytes", read, start + interval)
        parsed.measure(subject, "since_start_written_bytes", written, start + interval)
    else:
        seconds = interval / NS_PER_S
        counters = {"read_bytes": read * seconds, "written_bytes": written * seconds}
        parsed.intervals.add("process_io", {"tgid": tid}, start, interval, counters)
    shares = [number(cell) for cell in (match[9], match[10]) if cell]
    # The last percentage is the wait for I/O; where two are shown, the first is that for swap.
    if shares and shares[-1] is not None:
        parsed.measure(subject, "io_delay_share", shares[-1] / 100, start + interval)


def _bytes(text: str, letter: str) -> float | None:
    value = number(text)
    return None if value is None else value * _UNITS[letter]
