"""`dd`: the lines that it ends with, GNU's and BSD's.

GNU: "1073741824 bytes (1.1 GB, 1.0 GiB) copied, 2.5 s, 430 MB/s"; BSD and macOS: "1073741824 bytes transferred in
2.5 secs (429496729 bytes/sec)". The seconds include what dd itself waits for, a sync only with conv=fsync.
"""

import re

from iowhy.sources.format import Block, Parsed
from iowhy.sources.numbers import number

NAME = "dd"
HINT = r"^\d+\+\d+ records in|^\d+ bytes (?:\(.*\) copied, |transferred in )"

#: What makes the rate that of the device: written around the page cache, or through it before dd ends.
_DIRECT = re.compile(r"(?:oflag|iflag)=\S*direct|-?\bconv=\S*f(?:data)?sync|oflag=\S*d?sync")

_RECORDS = re.compile(r"(\d{1,18})\+(\d{1,18}) records (in|out)")
_RESULT = re.compile(
    r"(\d{1,18}) bytes (?:\([^)]*\) copied, ([\d.,e+-]+) s(?:ec\w*)?,|transferred in ([\d.,]+) secs).*"
)
NEAR = (rf"^{_RECORDS.pattern}|^{_RESULT.pattern}$", 1)


def read(block: Block) -> Parsed:
    """Into measurements: bytes, seconds and bytes per second of each run."""
    parsed = Parsed(NAME, units="bytes, seconds")
    runs = 0
    counted = any(_RECORDS.fullmatch(line.strip()) for line in block.lines)
    blocks: int | None = None
    for at, line in parsed.lines(block):
        text = line.strip()
        if match := _RECORDS.fullmatch(text):
            if match[3] == "out":
                blocks = int(match[1])
        elif match := _RESULT.fullmatch(text):
            seconds = _seconds(match[2] or match[3])
            if not seconds:
                parsed.reject(at, line)
                continue
            if counted and blocks is None:
                continue
            runs += 1
            size = float(match[1])
            subject = "dd" if runs == 1 else f"dd #{runs}"
            parsed.measure(subject, "bytes_per_s", size / seconds)
            parsed.measure(subject, "elapsed_s", seconds)
            if blocks:
                parsed.measure(subject, "block_bytes", size / blocks)
            blocks = None
        else:
            parsed.reject(at, line)
    if runs and _DIRECT.search(" ".join(block.command or ())):
        parsed.measure("dd", "direct", 1.0)
        parsed.missing.append("iostat -x 1 10")
    elif runs:
        parsed.note(
            "dd's rate is of the page cache unless it syncs (conv=fsync) or goes around it (direct)"
        )
        parsed.missing.append("sudo iowhy run -- CMD")
    return parsed


def _seconds(text: str) -> float | None:
    if "e" in text:
        try:
            return float(text)
        except ValueError:
            return None
    return number(text)
